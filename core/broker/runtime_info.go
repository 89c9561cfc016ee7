package broker

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// RocketMQ's version that we answer as: 4.9.7.
const (
	rocketVersion     = 407
	rocketVersionName = "V4_9_7"
)

// RuntimeInfo implements transport.BrokerAdmin. The keys are those of RocketMQ 4.9.7; monitoring parses nearly all of
// them as numbers and gives the broker up when one is missing, so those that mean nothing here (thread pool queues, a
// buffer pool) are there with the value that says "nothing waits".
func (h *handler) RuntimeInfo(ctx context.Context, c *transport.Caller) (map[string]string, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	t := table{}
	t.int("bootTimestamp", h.started.UnixMilli())
	t["runtime"] = uptime(h.clock.Now().Sub(h.started))
	t.int("brokerVersion", rocketVersion)
	t["brokerVersionDesc"] = rocketVersionName
	t.int("startAcceptSendRequestTimeStamp", 0)
	h.storeInfo(t)
	h.rateInfo(t)
	for _, pool := range []string{"send", "pull", "query"} {
		t.int(pool+"ThreadPoolQueueSize", 0)
		t.int(pool+"ThreadPoolQueueCapacity", 0)
		t.int(pool+"ThreadPoolQueueHeadWaitTimeMills", 0)
	}
	h.delays.Each(func(level int, next, end message.Offset) {
		if end == 0 {
			return // never used: RocketMQ lists no such level either
		}
		t[fmt.Sprintf("scheduleMessageOffset_%d", level)] = fmt.Sprintf("%d,%d", next, end)
	})
	t.int("EndTransactionQueueSize", 0)
	t.int("EndTransactionThreadPoolQueueCapacity", 0)
	t.int("remainTransientStoreBufferNumbs", math.MaxInt32)
	t.int("heldPulls", int64(h.pulls.Held()))
	return t, nil
}

// table is the answer: all values are text.
type table map[string]string

func (t table) int(key string, v int64)     { t[key] = strconv.FormatInt(v, 10) }
func (t table) float(key string, v float64) { t[key] = strconv.FormatFloat(v, 'f', -1, 64) }

// rates writes three rates, over 10 s, 1 min and 10 min, as RocketMQ does: separated by blanks.
func (t table) rates(key string, r [3]float64) { t[key] = fmt.Sprintf("%v %v %v", r[0], r[1], r[2]) }

func (h *handler) storeInfo(t table) {
	s := h.store.Stats()
	t.int("earliestMessageTimeStamp", orNone(s.EarliestStoreTime))
	t.int("putMessageTimesTotal", s.Messages)
	t.int("putMessageSizeTotal", s.Bytes)
	t.float("putMessageAverageSize", float64(s.Bytes)/float64(max(1, s.Messages)))
	t.int("putMessageFailedTimes", s.Refused)
	t.int("putMessageEntireTimeMax", s.SlowestAppend.Milliseconds())
	t.float("putLatency99", milliseconds(s.LatencyPercentile(0.99)))
	t.float("putLatency999", milliseconds(s.LatencyPercentile(0.999)))
	t["putMessageDistributeTime"] = distribution(s.Latency)
	t.int("getMessageEntireTimeMax", 0)
	t.int("dispatchMaxBuffer", 0)
	t.int("dispatchBehindBytes", s.DispatchBehind)
	t.int("pageCacheLockTimeMills", 0)
	t.int("commitLogMinOffset", int64(h.store.Begin()))
	t.int("commitLogMaxOffset", int64(h.store.End()))
	t["remainHowManyDataToFlush"] = humanBytes(s.FlushBehind)
	used := s.Disk.UsedRatio()
	t.float("commitLogDiskRatio", used)
	t.float("commitLogDiskRatio_"+s.LogDir, used)
	t.float("consumeQueueDiskRatio", used)
	t["commitLogDirCapacity"] = fmt.Sprintf("Total : %s, Free : %s.", humanBytes(int64(s.Disk.Total)), humanBytes(int64(s.Disk.Available)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// orNone is RocketMQ's way to say that there is no such time.
func orNone(ms int64) int64 {
	if ms == 0 {
		return -1
	}
	return ms
}

func (h *handler) rateInfo(t table) {
	c := h.counters
	found, miss := c.GetFound.Rates(), c.GetMiss.Rates()
	t.rates("putTps", c.Put.Rates())
	t.rates("getFoundTps", found)
	t.rates("getMissTps", miss)
	t.rates("getTotalTps", [3]float64{found[0] + miss[0], found[1] + miss[1], found[2] + miss[2]})
	// 4.9.7 writes it with one r, 5.x with two; readers know one or the other.
	t.rates("getTransferedTps", c.GetTransferred.Rates())
	t.rates("getTransferredTps", c.GetTransferred.Rates())
	put, get := c.Totals()
	for _, d := range []struct {
		name string
		m    queue.MessageTotals
	}{{"Put", put}, {"Get", get}} {
		t.int("msg"+d.name+"TotalYesterdayMorning", d.m.YesterdayMorning)
		t.int("msg"+d.name+"TotalTodayMorning", d.m.TodayMorning)
		t.int("msg"+d.name+"TotalTodayNow", d.m.Now)
	}
}

// uptime formats d as RocketMQ does.
func uptime(d time.Duration) string {
	s := int64(d.Seconds())
	return fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]", s/86400, s/3600%24, s/60%60, s%60)
}

// humanBytes formats n as RocketMQ does: a number and a unit with a blank between.
func humanBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n), -1
	for f >= 1024 && i < 5 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[i])
}

// distribution formats how many messages took how long to store, as RocketMQ does.
func distribution(buckets [store.LatencyBuckets]int64) string {
	var out strings.Builder
	for i, name := range store.LatencyNames() {
		fmt.Fprintf(&out, "%s:%d ", name, buckets[i])
	}
	return out.String()
}

// Config implements transport.BrokerAdmin.
func (h *handler) Config(ctx context.Context, c *transport.Caller) (map[string]string, transport.DataVersion, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, transport.DataVersion{}, err
	}
	host, _ := h.storeHost()
	return h.settings.table(host), *h.settings.version.Load(), nil
}

// UpdateConfig implements transport.BrokerAdmin. A change of what the broker allows goes to the name servers at once.
func (h *handler) UpdateConfig(ctx context.Context, c *transport.Caller, values map[string]string) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, wholeBroker); err != nil {
		return err
	}
	if err := h.settings.update(values, h.clock.Now()); err != nil {
		return err
	}
	h.registration.settled(ctx)
	return nil
}

// Clean implements transport.BrokerAdmin.
func (h *handler) Clean(ctx context.Context, c *transport.Caller, job transport.CleanJob) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, wholeBroker); err != nil {
		return err
	}
	switch job {
	case transport.CleanUnusedTopics:
		return h.cleanUnusedTopics()
	case transport.CleanExpiredLog, transport.CleanExpiredQueues: // queues go with their segments
		return h.store.DeleteExpired()
	}
	return nil
}
