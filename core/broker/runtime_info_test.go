package broker

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/message"
)

// parsers read a value of the runtime info as RocketMQ's exporter (BrokerRuntimeStats) does. A key that is missing or
// doesn't parse makes it give the whole broker up.
var parsers = map[string]func(string) error{
	"long":   func(v string) error { _, err := strconv.ParseInt(v, 10, 64); return err },
	"int":    func(v string) error { _, err := strconv.ParseInt(v, 10, 32); return err },
	"double": javaDouble,
	"text":   func(v string) error { return matches(v, `.+`) },
	"rates": func(v string) error {
		parts := strings.Split(v, " ")
		if len(parts) != 3 {
			return fmt.Errorf("%d rates", len(parts))
		}
		for _, p := range parts {
			if err := javaDouble(p); err != nil {
				return err
			}
		}
		return nil
	},
	"distribution": func(v string) error {
		if !strings.HasPrefix(v, "[<=0ms]:") {
			return fmt.Errorf("begins with %.10q", v)
		}
		for part := range strings.SplitSeq(strings.TrimRight(v, " "), " ") {
			if err := matches(part, `\[[^\]]+\]:\d+`); err != nil {
				return err
			}
		}
		return nil
	},
	"bytes": func(v string) error { return matches(v, `\d+(\.\d)? ([KMGTPE]i)?B`) },
	"capacity": func(v string) error {
		return matches(v, `Total : \d+(\.\d)? ([KMGTPE]i)?B, Free : \d+(\.\d)? ([KMGTPE]i)?B\.`)
	},
	"uptime": func(v string) error { return matches(v, `\[ \d+ days, \d+ hours, \d+ minutes, \d+ seconds \]`) },
}

func matches(v, pattern string) error {
	if !regexp.MustCompile("^" + pattern + "$").MatchString(v) {
		return fmt.Errorf("doesn't look like %s", pattern)
	}
	return nil
}

// javaDouble accepts what both Double.parseDouble and our formatting know.
func javaDouble(v string) error { return matches(v, `-?\d+(\.\d+)?([eE][-+]?\d+)?`) }

// runtimeKeys are the keys that the exporter parses, and how. The list is that of its 2025 version and must not shrink.
var runtimeKeys = map[string]string{
	"msgPutTotalTodayNow": "long", "msgGetTotalTodayNow": "long", "msgPutTotalTodayMorning": "long", "msgGetTotalTodayMorning": "long",
	"msgPutTotalYesterdayMorning": "long", "msgGetTotalYesterdayMorning": "long", "putMessageDistributeTime": "distribution",
	"putTps": "rates", "getMissTps": "rates", "getTransferedTps": "rates", "getTransferredTps": "rates", "getTotalTps": "rates",
	"getFoundTps": "rates", "commitLogDirCapacity": "capacity", "sendThreadPoolQueueHeadWaitTimeMills": "long",
	"queryThreadPoolQueueHeadWaitTimeMills": "long", "pullThreadPoolQueueHeadWaitTimeMills": "long", "remainHowManyDataToFlush": "bytes",
	"queryThreadPoolQueueSize": "long", "pullThreadPoolQueueSize": "long", "sendThreadPoolQueueSize": "long",
	"queryThreadPoolQueueCapacity": "long", "pullThreadPoolQueueCapacity": "long", "sendThreadPoolQueueCapacity": "long",
	"bootTimestamp": "long", "commitLogMinOffset": "long", "commitLogMaxOffset": "long", "runtime": "uptime", "dispatchMaxBuffer": "long",
	"brokerVersion": "int", "brokerVersionDesc": "text", "consumeQueueDiskRatio": "double", "commitLogDiskRatio": "double",
	"pageCacheLockTimeMills": "long", "getMessageEntireTimeMax": "long", "putMessageEntireTimeMax": "long", "putMessageTimesTotal": "long",
	"putMessageAverageSize": "double", "putMessageSizeTotal": "long", "startAcceptSendRequestTimeStamp": "long",
	"earliestMessageTimeStamp": "long", "remainTransientStoreBufferNumbs": "long", "dispatchBehindBytes": "long",
	// What brokerStatus prints besides.
	"putMessageFailedTimes": "long", "EndTransactionQueueSize": "long", "EndTransactionThreadPoolQueueCapacity": "long",
}

// TestRuntimeInfoParses looks at a broker without a message, then at one with some after a minute.
func TestRuntimeInfoParses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newWorld().start(t)
		defer n.stop()
		began := time.Now()
		check := func(when string) map[string]string {
			t.Helper()
			info, err := n.h.Broker.RuntimeInfo(t.Context(), caller(newSession("10.0.0.1:1")))
			if err != nil {
				t.Fatal(err)
			}
			for key, kind := range runtimeKeys {
				v, ok := info[key]
				if !ok {
					t.Errorf("%s: %s is missing", when, key)
					continue
				}
				if err := parsers[kind](v); err != nil {
					t.Errorf("%s: %s is %q: %v", when, key, v, err)
				}
			}
			return info
		}
		info := check("empty")
		for key, want := range map[string]string{
			"earliestMessageTimeStamp": "-1", "putMessageTimesTotal": "0", "putMessageAverageSize": "0", "commitLogMaxOffset": "0",
			"brokerVersion": "407", "brokerVersionDesc": "V4_9_7", "bootTimestamp": strconv.FormatInt(began.UnixMilli(), 10),
			"runtime": "[ 0 days, 0 hours, 0 minutes, 0 seconds ]",
		} {
			if info[key] != want {
				t.Errorf("empty: %s is %q, want %q", key, info[key], want)
			}
		}
		if v, ok := info["scheduleMessageOffset_1"]; ok {
			t.Errorf("empty: scheduleMessageOffset_1 is %q, want none before the level's first message", v)
		}
		var first message.Position
		for i := range 60 {
			if p := n.mustSend("T", "body "+strconv.Itoa(i)); i == 0 {
				first = p
			}
			time.Sleep(time.Second)
		}
		n.pull("g", "T", 0, 0).Records.Release()
		info = check("with messages")
		for key, want := range map[string]string{
			"earliestMessageTimeStamp": strconv.FormatInt(n.record(first).StoreTimestamp(), 10), "putMessageTimesTotal": "60",
			"msgPutTotalTodayNow": "60", "commitLogMinOffset": "0", "commitLogMaxOffset": strconv.FormatInt(int64(n.b.handler.store.End()), 10),
			"dispatchBehindBytes": "0", "runtime": "[ 0 days, 0 hours, 1 minutes, 0 seconds ]",
			"putMessageSizeTotal": strconv.FormatInt(int64(n.b.handler.store.End()), 10),
		} {
			if info[key] != want {
				t.Errorf("with messages: %s is %q, want %q", key, info[key], want)
			}
		}
		if got := info["msgGetTotalTodayNow"]; got != "32" {
			t.Errorf("msgGetTotalTodayNow is %q", got)
		}
		tps := strings.Split(info["putTps"], " ")
		for i, v := range tps {
			if f, err := strconv.ParseFloat(v, 64); err != nil || i < 2 && (f < 0.8 || f > 1.2) {
				t.Errorf("putTps %v with a message a second", tps)
			}
		}
	})
}

func TestHumanBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 1 << 30: "1.0 GiB", 1 << 40: "1.0 TiB",
		1<<63 - 1: "8.0 EiB",
	} {
		if got := humanBytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestUptime(t *testing.T) {
	if got := uptime(49*time.Hour + 3*time.Minute + 4*time.Second + 999*time.Millisecond); got != "[ 2 days, 1 hours, 3 minutes, 4 seconds ]" {
		t.Error(got)
	}
}
