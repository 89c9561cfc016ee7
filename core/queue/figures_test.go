package queue

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// figuresOf returns the figures of group g and topic T0.
func figuresOf(t *testing.T, p *Pulls) (f transport.FilterFigures) {
	t.Helper()
	n := 0
	p.EachFigures(func(x *transport.Filter) {
		if x.Topic == "T0" && x.Group == "g" {
			f = x.FilterFigures
			n++
		}
	})
	if n != 1 {
		t.Fatalf("figures of T0 and g came %d times", n)
	}
	f.Time = 0
	return f
}

// TestFigures compares the figures with what the messages are: every second one has the tag that the filter wants, every
// fifth is unknown, every seventh raises.
func TestFigures(t *testing.T) {
	const n, expr = 1600, "every=3 unknown=5 raise=7 tag=A"
	w := newCoverWorld(t)
	w.put(n, 1, "A", "B")
	var tagged, unknown, raised int64
	for i := range n {
		if i%2 != 0 {
			continue
		}
		tagged++
		switch v := i + 1; {
		case v%7 == 0:
			raised++
		case v%5 == 0:
			unknown++
		}
	}
	compiler := w.compiler
	pullAll := func() (matched int64) { return int64(len(w.pull(expr, 0))) }

	set := w.pulls.set
	set.Verdicts = nil
	w.pulls = NewPulls(set)
	matched := pullAll()
	got := figuresOf(t, w.pulls)
	if matched < 100 || got.JudgedPulling != tagged || compiler.judged.Load() <= tagged {
		t.Errorf("%d matched, %+v, %d judged", matched, got, compiler.judged.Load())
	}
	want := transport.FilterFigures{Scanned: n, Matched: matched, ByIndex: n - tagged, JudgedPulling: tagged, Unknown: unknown, Raised: raised}
	if got != want {
		t.Errorf("without cover %+v\nwant %+v", got, want)
	}

	set.Verdicts = w.covers
	w.pulls = NewPulls(set)
	pullAll()
	got = figuresOf(t, w.pulls)
	if got.ByCover == 0 || got.ByCover >= n-matched || got.ByIndex+got.ByCover > n-matched { // runs are judged beyond what a pull takes
		t.Errorf("the first time, with cover: %+v", got)
	}
	want.ByIndex, want.ByCover = got.ByIndex, got.ByCover
	if got != want {
		t.Errorf("the first time, with cover: %+v\nwant %+v", got, want)
	}
	pullAll()
	again := figuresOf(t, w.pulls)
	want.Scanned, want.Matched, want.ByCover = 2*n, 2*matched, want.ByCover+n-matched
	if again != want {
		t.Errorf("again, with cover: %+v\nwant %+v", again, want)
	}
}

// TestFiguresOfFailures counts messages that can't be judged, and pulls that stop at them.
func TestFiguresOfFailures(t *testing.T) {
	for _, kept := range []bool{false, true} {
		w := newCoverWorld(t)
		w.put(64, 1)
		set := w.pulls.set
		if !kept {
			set.Verdicts = nil
		}
		w.pulls = NewPulls(set)
		expr := fmt.Sprint("every=1 poison=50 act=", int(filter.Hold))
		for from := message.Offset(0); ; {
			p := numberPull(expr, from, 32)
			w.pulls.Pull(context.Background(), p)
			p.Records.Release()
			if p.Code == message.SystemError {
				break
			}
			from = p.NextBeginOffset
		}
		if f := figuresOf(t, w.pulls); f.Scanned != 49 || f.Matched != 49 || f.Errors < 1 || f.Errors > 2 || kept && f.Undecided < 1 {
			t.Errorf("kept %v: %+v", kept, f)
		}
	}
}

// TestFiguresAreBounded pulls for more groups than there may be figures, and lets those go that have ended.
func TestFiguresAreBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.CountersMax = 2 })
	w.topic("T", 1)
	w.log.send("T", 0, "A", "x")
	pull := func(group string) {
		t.Helper()
		p := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: discard{}, Group: group, Topic: "T", MaxNum: 1,
			HasSubscription: true, Expression: filter.Expression{Type: filter.TypeTag, Text: "A"}}
		w.groups.set(plainGroup(group))
		if w.pulls.Pull(context.Background(), p); p.Code != message.Success {
			t.Fatal(p.Code, p.Remark)
		}
	}
	for _, g := range []string{"stays", "goes", "late", "late"} {
		pull(g)
	}
	list := func() (names string) {
		for _, f := range w.pulls.FilterStates("") {
			names += fmt.Sprintf("%s %d %v,", f.Group, f.Matched, f.Live)
		}
		return names
	}
	w.heartbeat(t, session(2), "c", consumer("stays", sub("T", "A")))
	if got := list(); got != "goes 1 false,stays 1 true," || w.pulls.FiguresDropped() != 2 {
		t.Errorf("%s, %d dropped", got, w.pulls.FiguresDropped())
	}
	for range idleSweeps {
		w.pulls.SweepFigures()
	}
	if got := list(); got != "goes 1 false,stays 1 true," {
		t.Errorf("too early: %s", got)
	}
	w.pulls.SweepFigures()
	pull("late")
	if got := list(); got != "late 1 false,stays 1 true," || w.pulls.FiguresDropped() != 2 {
		t.Errorf("%s, %d dropped", got, w.pulls.FiguresDropped())
	}
	if got := w.pulls.FilterStates("stays"); len(got) != 1 || got[0].Expression.Text != "A" || got[0].ByIndex != 0 || got[0].Scanned != 1 {
		t.Errorf("%+v", got)
	}
}

// TestCoveredShare counts how many entries have a verdict, from memory, from files, and after a restart.
func TestCoveredShare(t *testing.T) {
	w := newCoverWorld(t)
	w.put(1000, 1)
	prog, err := w.pulls.set.Programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: "every=3"})
	if err != nil {
		t.Fatal(err)
	}
	decided := func(low, high message.Offset, reads verdict.Reads) int64 {
		return w.covers.Decided(queueT0, prog.key, low, high, &reads)
	}
	if n := decided(0, 1000, 9); n != 0 {
		t.Errorf("%d before the first pull", n)
	}
	w.pull("every=3", 0)
	if n := decided(0, 1000, 0); n != 960 { // 15 words; the last isn't full
		t.Errorf("%d of 1000", n)
	}
	if n := decided(900, 1000, 0); n != 100 {
		t.Errorf("%d of the last 100: more than there are, or less", n)
	}
	w.covers.Maintain()
	w.covers.Close()
	w.covers, err = verdict.Open(verdict.Settings{FS: w.fs, Dir: "/verdicts", Index: w.log, Logger: quiet(), CacheSize: 1 << 20, DiskSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if n := decided(0, 1000, 0); n != 0 {
		t.Errorf("%d without reading a file", n)
	}
	if n, again := decided(0, 1000, 1), decided(0, 1000, 0); n != 960 || again != 960 {
		t.Errorf("%d after a restart, then %d", n, again)
	}
}
