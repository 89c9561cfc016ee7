package queue

import (
	"testing"
	"time"
)

// A program that was measured wrong once, because the thread had to wait, isn't locked out.
func TestBudgetForgetsOutliers(t *testing.T) {
	now := testStart
	b := budget{share: 0.25}
	b.refill(now)
	p := &liveProgram{}
	p.measured(64, time.Second) // the very first measurement is the wrong one: 16 ms a message
	refused := 0
	for range 200 {
		ns, ok := b.reserve(p, 1024, now)
		if ok {
			p.measured(1024, 10*time.Microsecond)
			b.spent(ns, 10*time.Microsecond)
		} else {
			refused++
		}
		now = now.Add(time.Second)
		b.refill(now)
	}
	if refused == 0 || refused > 180 {
		t.Errorf("refused %d times of 200", refused)
	}
	if ns, ok := b.reserve(p, 1024, now); !ok || ns > float64(time.Millisecond) {
		t.Errorf("at last: %v, reserved %v", ok, time.Duration(ns))
	}

	good := &liveProgram{}
	for range 100 {
		good.measured(64, 640*time.Nanosecond)
	}
	good.measured(64, 10*time.Millisecond)
	if good.cost > 15 {
		t.Errorf("one outlier has made 10 ns a message %.0f ns", good.cost)
	}
}
