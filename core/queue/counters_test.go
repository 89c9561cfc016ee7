package queue

import (
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
)

func TestCounterWindows(t *testing.T) {
	m := clock.NewManual(testStart)
	c := NewCounters(DefaultConfig(), m)
	second := func(n int) {
		for range n {
			m.Advance(time.Second)
			c.Sample()
		}
	}
	c.Add(TopicPutNums, "T", "", 10)
	c.Add(TopicPutNums, "T", "", 20)
	second(30)
	got, err := c.Items("TOPIC_PUT_NUMS", "T")
	if err != nil || got.Minute.Sum != 30 || got.Minute.TPS != 1 || got.Minute.AvgPt != 15 || got.Hour != got.Minute || got.Day != got.Minute {
		t.Errorf("after half a minute: %v %+v", err, got)
	}
	second(60)
	if got, _ = c.Items("TOPIC_PUT_NUMS", "T"); got.Minute.Sum != 0 || got.Hour.Sum != 30 {
		t.Errorf("after a minute and a half: %+v", got)
	}
	second(2 * 3600)
	if got, _ = c.Items("TOPIC_PUT_NUMS", "T"); got.Hour.Sum != 0 || got.Day.Sum != 30 {
		t.Errorf("after two hours: %+v", got)
	}
	c.Add(GroupGetNums, "T", "g", 60)
	second(10)
	if tps := c.GroupTPS("T", "g"); tps != 6 {
		t.Errorf("group: %v/s", tps)
	}
	if _, err := c.Items("GROUP_GET_NUMS", "T@other"); code(err) != message.SystemError {
		t.Errorf("never counted: %v", err)
	}
	if _, err := c.Items("NO_SUCH", "T"); code(err) != message.SystemError {
		t.Errorf("no such counter: %v", err)
	}
}

// TestCountersAreBounded shows that a key too many is dropped, and that a key which was idle for a day makes room.
func TestCountersAreBounded(t *testing.T) {
	m := clock.NewManual(testStart)
	cfg := DefaultConfig()
	cfg.CountersMax = 2
	c := NewCounters(cfg, m)
	for _, topic := range []string{"A", "B", "C", "C"} {
		c.Add(TopicPutNums, topic, "", 1)
	}
	if n := c.Dropped.Load(); n != 2 {
		t.Errorf("%d dropped", n)
	}
	for range 25 * 3600 {
		m.Advance(time.Second)
		c.Sample()
	}
	c.Add(TopicPutNums, "C", "", 5)
	if got, err := c.Items("TOPIC_PUT_NUMS", "C"); err != nil || got.Minute.Sum != 5 {
		t.Errorf("%v %+v", err, got)
	}
	if _, err := c.Items("TOPIC_PUT_NUMS", "A"); err == nil {
		t.Error("an idle counter stayed")
	}
}

func TestMeterRates(t *testing.T) {
	m := clock.NewManual(testStart)
	c := NewCounters(DefaultConfig(), m)
	for i := range 700 {
		if i >= 690 {
			c.Put.Add(100)
		}
		c.Put.Add(1)
		m.Advance(time.Second)
		c.Sample()
	}
	got := c.Put.Rates()
	if want := [3]float64{101, (60 + 1000) / 60.0, (600 + 1000) / 600.0}; got != want {
		t.Errorf("rates %v, want %v", got, want)
	}
	if c.Put.Total() != 1700 {
		t.Errorf("total %d", c.Put.Total())
	}
	if got := c.GetMiss.Rates(); got != [3]float64{} {
		t.Errorf("idle: %v", got)
	}
}

func TestTotalsAtMidnight(t *testing.T) {
	m := clock.NewManual(time.Date(2024, 5, 1, 23, 59, 0, 0, time.Local))
	c := NewCounters(DefaultConfig(), m)
	c.Put.Add(10)
	c.Sample()
	m.Advance(time.Minute)
	c.Sample()
	c.Put.Add(5)
	if put, _ := c.Totals(); put != (MessageTotals{0, 10, 15}) {
		t.Errorf("after one midnight: %+v", put)
	}
	m.Advance(24 * time.Hour)
	c.Sample()
	if put, get := c.Totals(); put != (MessageTotals{10, 15, 15}) || get != (MessageTotals{}) {
		t.Errorf("after two: %+v", put)
	}
}

func TestHammerCounters(t *testing.T) {
	m := clock.NewManual(testStart)
	c := NewCounters(DefaultConfig(), m)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				c.Stored("cluster", "T", 1, 100)
				c.found("cluster", "T", "g", 1, 100)
			}
		})
	}
	for range 100 {
		m.Advance(time.Second)
		c.Sample()
		_, _ = c.Items("TOPIC_PUT_NUMS", "T")
		c.Put.Rates()
	}
	wg.Wait()
	got, err := c.Items("TOPIC_PUT_SIZE", "T")
	if err != nil || got.Day.Sum != 4*5000*100 || c.GetTransferred.Total() != 20_000 {
		t.Errorf("%v %+v", err, got)
	}
}
