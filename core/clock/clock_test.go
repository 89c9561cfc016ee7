package clock_test

import (
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
)

func TestManualFiresInOrderOfTime(t *testing.T) {
	c := clock.NewManual(time.UnixMilli(1000))
	late, soon := c.NewTimer(30*time.Millisecond), c.NewTimer(10*time.Millisecond)
	stopped := c.NewTimer(20 * time.Millisecond)
	if !stopped.Stop() {
		t.Fatal("a pending timer says that it could not be stopped")
	}
	c.Advance(25 * time.Millisecond)
	if got := (<-soon.C()).UnixMilli(); got != 1010 {
		t.Errorf("the timer of 10 ms fired at %d; want 1010", got)
	}
	select {
	case at := <-late.C():
		t.Errorf("the timer of 30 ms fired at %v", at)
	case at := <-stopped.C():
		t.Errorf("the stopped timer fired at %v", at)
	default:
	}
	if got := c.Now().UnixMilli(); got != 1025 {
		t.Errorf("now is %d; want 1025", got)
	}
	c.Advance(5 * time.Millisecond)
	<-late.C()
}

func TestManualTimerOfNoDurationFiresAtOnce(t *testing.T) {
	c := clock.NewManual(time.UnixMilli(0))
	<-c.NewTimer(0).C()
	timer := c.NewTimer(time.Hour)
	timer.Reset(-1)
	<-timer.C()
}

func TestManualBlockUntil(t *testing.T) {
	c := clock.NewManual(time.UnixMilli(0))
	done := make(chan struct{})
	go func() {
		<-c.NewTimer(time.Second).C()
		close(done)
	}()
	c.BlockUntil(1)
	c.Advance(time.Second)
	<-done
}
