package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// sendTimed sends a message that waits for d, and returns its handle.
func (n *node) sendTimed(topic, body string, d time.Duration) string {
	n.t.Helper()
	m := newSend(topic, body)
	m.Properties = props("TIMER_DELAY_MS", fmt.Sprint(d.Milliseconds()), "UNIQ_KEY", "key-of-"+body)
	got := &n.send(newSession("10.0.0.2:50000"), m).Sends[0]
	if got.Code != message.Success {
		n.t.Fatalf("%s: %v %s", body, got.Code, got.Remark)
	}
	return got.RecallHandle
}

// TestTimersOutliveTheirSegments: before a segment is deleted, what waits in it is stored again, with what recalls it; through a kill as well. Everything
// comes once, at its time.
func TestTimersOutliveTheirSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.sec.Store.SegmentSize = 256 << 10
		w.sec.Store.ReservedTime, w.sec.Store.DeleteAt = time.Hour, []int{23}
		n := w.start(t)
		began := time.Now()
		var gone []string
		for i := range 600 {
			n.sendTimed("T", fmt.Sprintf("message %03d", i), 10*time.Hour+time.Duration(i/100)*time.Minute)
			gone = append(gone, n.sendTimed("T", fmt.Sprintf("recalled %03d", i), 10*time.Hour))
		}
		n.sendTimed("T", "soon", time.Minute)
		for _, handle := range gone {
			if _, err := n.h.Recaller.Recall(t.Context(), caller(newSession("10.0.0.2:50000")), transport.Recall{Topic: "T", Handle: handle}); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 3 {
			for range 600 {
				n.mustSend("Fill", strings.Repeat("x", 1000))
			}
			time.Sleep(2 * time.Hour)
			before := n.b.handler.store.Begin()
			for range 3 {
				if err := n.h.Broker.Clean(t.Context(), caller(newSession("10.0.0.1:1")), transport.CleanExpiredLog); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			if after := n.b.handler.store.Begin(); after <= before {
				t.Fatalf("round %d: no segment was deleted: the log begins at %d", round, after)
			}
			if round == 1 {
				n = n.restart()
			}
		}
		figures := &n.b.handler.timers.Figures
		if figures.Rolled.Load() == 0 {
			t.Error("nothing was stored again")
		}
		time.Sleep(11*time.Hour - time.Since(began))
		got := map[string]int{}
		at, end, _ := n.b.handler.store.Bounds(message.QueueKey{Topic: "T"})
		for at < end {
			p := n.pull("reader", "T", 0, at)
			at = p.NextBeginOffset
			eachRecord(t, &p.Records, func(rec message.Record) {
				body := string(rec.Body())
				got[body]++
				var i int
				if _, err := fmt.Sscanf(body, "message %d", &i); err == nil {
					due := began.Add(10*time.Hour + time.Duration(i/100)*time.Minute)
					if late := time.UnixMilli(rec.StoreTimestamp()).Sub(due); late < 0 || late > 100*time.Millisecond {
						t.Errorf("%s is late by %v", body, late)
					}
				}
			})
			p.Records.Release()
		}
		for body, times := range got {
			if times != 1 || strings.HasPrefix(body, "recalled") {
				t.Errorf("%s came %d times", body, times)
			}
		}
		if len(got) != 600 { // "soon" has gone with its segment
			t.Errorf("%d messages came", len(got))
		}
		if figures.Lost.Load() != 0 || figures.Recalled.Load() != 600 || n.b.handler.timers.Pending() != 0 {
			t.Errorf("lost %d, recalled %d, pending %d", figures.Lost.Load(), figures.Recalled.Load(), n.b.handler.timers.Pending())
		}
		n.stop()
	})
}

// TestTimersAfterAKill: what waits when the power goes comes once afterwards, at its time.
func TestTimersAfterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.sec.Store.Flush = "sync"
		n := w.start(t)
		began := time.Now()
		for i := range 100 {
			n.sendTimed("T", fmt.Sprintf("%02d", i), time.Duration(i+1)*100*time.Millisecond)
		}
		time.Sleep(5*time.Second + time.Millisecond)
		w.fs = w.fs.(*vfs.Mem).KillClone()
		n.stop() // of the old disk
		w.cfg.Sections = nil
		n = w.start(t)
		time.Sleep(6 * time.Second)
		var got []string
		for at := message.Offset(0); ; {
			p := n.pull("reader", "T", 0, at)
			if at = p.NextBeginOffset; p.Code != message.Success {
				break
			}
			eachRecord(t, &p.Records, func(rec message.Record) {
				var i int
				_, _ = fmt.Sscan(string(rec.Body()), &i)
				if due := began.Add(time.Duration(i+1) * 100 * time.Millisecond); rec.StoreTimestamp() < due.UnixMilli() {
					t.Errorf("%s came early", rec.Body())
				}
				got = append(got, string(rec.Body()))
			})
			p.Records.Release()
		}
		twice := len(got)
		slices.Sort(got)
		got = slices.Compact(got)
		if twice -= len(got); len(got) != 100 || twice > 11 { // one save interval, and what was due at its end
			t.Errorf("%d messages came, %d twice", len(got), twice)
		}
		n.stop()
	})
}

// TestTimersOff: without timers the properties mean nothing, as in RocketMQ 4.
func TestTimersOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.sec.Schedule.Timers = false
		n := w.start(t)
		defer n.stop()
		if handle := n.sendTimed("T", "now", time.Hour); handle != "" {
			t.Errorf("handle %s", handle)
		}
		p := n.pull("reader", "T", 0, 0)
		if p.Code != message.Success || p.Records.Count != 1 {
			t.Errorf("%v, %d messages", p.Code, p.Records.Count)
		}
		p.Records.Release()
		handle := message.RecallHandle{Topic: "T", Broker: "broker-a", Time: time.Now().Add(time.Hour).UnixMilli(), Key: "k"}
		_, err := n.h.Recaller.Recall(t.Context(), caller(newSession("10.0.0.2:50000")), transport.Recall{Topic: "T", Handle: handle.String()})
		if err == nil || err.(*message.Error).Code != message.NoPermission {
			t.Error(err)
		}
	})
}
