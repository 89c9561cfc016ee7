package queue

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

var queueT0 = message.QueueKey{Topic: "T0"}

func numberPull(expr string, from message.Offset, maxNum int32) *transport.Pull {
	return &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &replies{}, Group: "g", Topic: "T0", Offset: from, MaxNum: maxNum,
		HasSubscription: true, Expression: filter.Expression{Type: "NUMBER", Text: expr}}
}

// Each message is judged once for each program, whoever pulls it and how often: when it arrives if its program is live,
// else at the first pull, also of those that start in the middle.
func TestJudgedOnce(t *testing.T) {
	for _, share := range []float64{0, 1} {
		t.Run(fmt.Sprintf("share %v", share), func(t *testing.T) {
			w := newFilterWorld(t, vfs.NewMem(nil), share)
			defer w.close()
			w.send(queueT0, 1000, 0)
			w.consume(w.on, queueT0, "every=10", 300, 7) // the program is live from now on
			for range 14 {
				w.send(queueT0, 100, 1000)
			}
			w.send(queueT0, 3*64+8, 5000) // 2600 in all, of which 2560 are in whole words
			for i := range 10 {
				w.consume(w.on, queueT0, "every=10", message.Offset(i*100), int32(1+i*10))
			}
			judged := w.compiler.judged.Load()
			w.consume(w.on, queueT0, "every=10", 0, 32)
			again := w.compiler.judged.Load() - judged
			if share == 1 && again != 0 {
				t.Errorf("%d messages were judged again", again)
			}
			if share == 0 && again > 40*10 { // those of the word that isn't whole, at each pull that gets there
				t.Errorf("%d messages were judged again", again)
			}
			v := w.on.Verdicts()
			if share == 1 && (v.JudgedArriving.Load() != 1600 || judged > 2600+2*64) {
				t.Errorf("%d judged when they arrived, %d in all", v.JudgedArriving.Load(), judged)
			}
			if share == 0 && (v.JudgedArriving.Load() != 0 || v.Spared.Load() == 0 || v.JudgedPulling.Load() == 0) {
				t.Errorf("%d judged when they arrived, %d spared", v.JudgedArriving.Load(), v.Spared.Load())
			}
			judged = w.compiler.judged.Load()
			w.on.keepVerdicts()
			w.close()
			w.open()
			w.consume(w.on, queueT0, "every=10", 0, 2600)
			if again := w.compiler.judged.Load() - judged; again > 40*3 {
				t.Errorf("after a restart %d messages were judged again", again)
			}
		})
	}
}

// What can't be judged is dropped, delivered or waited for, as its program says, and never kept as decided.
func TestFailurePolicy(t *testing.T) {
	for _, share := range []float64{0, 1} {
		w := newFilterWorld(t, vfs.NewMem(nil), share)
		w.send(queueT0, 300, 1)
		for range 2 {
			for _, expr := range []string{"every=3 poison=10 act=1", "every=3 poison=10 act=2", "every=3 poison=10 late=7 act=2"} {
				for _, maxNum := range []int32{1, 32, 1000} {
					w.verify("poison", queueT0, expr, 0, maxNum)
					w.verify("poison", queueT0, expr, 131, maxNum)
				}
			}
			w.send(queueT0, 1000, 301) // judged as it arrives, the second time
		}
		for _, p := range []*Pulls{w.on, w.off} {
			r := numberPull("every=1 poison=10 act=0", 0, 100)
			p.Pull(context.Background(), r)
			if r.Records.Count != 9 || r.NextBeginOffset != 9 {
				t.Errorf("share %v: %d messages up to offset %d, want the 9 in front of the first that can't be judged", share, r.Records.Count, r.NextBeginOffset)
			}
			r.Records.Release()
			r = numberPull("every=1 poison=10 act=0", 9, 100)
			p.Pull(context.Background(), r)
			if r.Code != message.SystemError || !strings.HasSuffix(r.Remark, errUndecided.Error()) || r.NextBeginOffset != 9 {
				t.Errorf("share %v: at the message itself: %v %q, offset %d", share, r.Code, r.Remark, r.NextBeginOffset)
			}
		}
		w.close()
	}
}

// A held pull wakes for a match only, without the program being asked again.
func TestHeldPullWakesForMatch(t *testing.T) {
	w := newFilterWorld(t, vfs.NewMem(nil), 1)
	defer w.close()
	w.send(queueT0, 128, 0) // whole words: of one that programs see from its middle on only the newest part is remembered
	w.consume(w.on, queueT0, "every=1000000", 0, 10)
	w.consume(w.on, queueT0, "every=1", 0, 10)
	hold := func(expr string) *replies {
		p := numberPull(expr, message.Offset(w.sent[queueT0]), 10)
		p.Suspend, p.SuspendTimeout = true, time.Minute
		w.on.Pull(context.Background(), p)
		return p.Reply.(*replies)
	}
	never, always := hold("every=1000000"), hold("every=1")
	if n := w.on.Held(); n != 2 {
		t.Fatalf("%d pulls are held", n)
	}
	calls := w.compiler.calls.Load()
	w.send(queueT0, 50, 1)
	if got := always.take(); len(got) != 1 || got[0].Records.Count != 10 {
		t.Fatalf("%d answers", len(got))
	}
	if w.on.Held() != 1 || len(never.take()) != 0 {
		t.Error("a pull woke for messages that it doesn't want")
	}
	if n := w.compiler.calls.Load() - calls; n != 2 {
		t.Errorf("the programs were called %d times, want once each", n)
	}
}

// An impure program is asked at every pull, and nothing of it is kept.
func TestImpureIsNotKept(t *testing.T) {
	w := newFilterWorld(t, vfs.NewMem(nil), 1)
	defer w.close()
	w.send(queueT0, 640, 0)
	for range 3 {
		w.consume(w.on, queueT0, "every=10 impure", 0, 32)
	}
	w.on.keepVerdicts()
	if n := w.compiler.judged.Load(); n < 3*640 {
		t.Errorf("%d judged, want each message three times", n)
	}
	if s := w.covers.Stats(); s.Covers != 0 || w.on.live.count.Load() != 0 {
		t.Errorf("%+v", s)
	}
}

// Where nothing can be written, or nothing read, groups get their messages all the same.
func TestVerdictsOnBadDisk(t *testing.T) {
	for _, c := range []struct {
		what string
		in   errorfs.Injector
	}{
		{"full", errorfs.OnKind(errorfs.Write, syscall.ENOSPC)},
		{"no directories", errorfs.OnKind(errorfs.MkdirAll, syscall.EROFS)},
		{"unreadable", errorfs.OnKind(errorfs.Open, syscall.EIO)},
	} {
		t.Run(c.what, func(t *testing.T) {
			mem := vfs.NewMem(nil)
			fs := errorfs.Wrap(mem, nil)
			w := newFilterWorld(t, fs, 1)
			defer w.close()
			fs.Set(errorfs.OnPath("verdicts", c.in))
			for i := range 6 {
				for _, q := range allQueues() {
					w.send(q, 300, uint64(i*300))
					for _, expr := range metaExpressions {
						w.verify(c.what, q, expr, 0, 32)
					}
				}
				w.on.keepVerdicts()
			}
			fs.Set(nil)
		})
	}
}

// A crash before any operation on the disk, by a kill or a power cut, leaves verdicts that are right, also when the
// recovery is hit by the next crash, and when other messages take the place of those that were lost.
func TestVerdictsAfterCrash(t *testing.T) {
	mem := vfs.NewMem(nil)
	seed, points, verdicts := uint64(0), 0, 0
	exprs := []string{"every=2", "every=3 raise=7", "every=5 tag=A"}
	survive := func(what string, left *vfs.Mem, depth int) {
		seed++
		r := rand.New(rand.NewPCG(seed, 5))
		for range depth {
			w := newFilterWorld(t, left, 1)
			for _, q := range allQueues()[:2] {
				for _, expr := range exprs {
					verdicts += w.verify(what, q, expr, 0, 32)
				}
				w.send(q, 1+r.IntN(150), r.Uint64N(1<<40), "A", "B")
				for _, expr := range exprs {
					verdicts += w.verify(what+", more messages", q, expr, 0, 32)
				}
			}
			w.on.keepVerdicts()
			next := left.CrashClone(vfs.RandomCrash(seed))
			w.close()
			left = next
		}
	}
	var mu sync.Mutex
	fs := errorfs.Wrap(mem, func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.Write, errorfs.Datasync, errorfs.Sync, errorfs.SyncDir, errorfs.Create, errorfs.Remove, errorfs.Rename,
			errorfs.Truncate, errorfs.MkdirAll:
		default:
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		points++
		if raceEnabled && points%10 != 0 {
			return nil
		}
		what := fmt.Sprintf("before %v %s, seed %d", op.Kind, op.Path, seed)
		survive("kill "+what, mem.KillClone(), 1)
		survive("power cut "+what, mem.CrashClone(vfs.RandomCrash(seed)), 2)
		return nil
	})
	w := newFilterWorld(t, fs, 1)
	n := uint64(0)
	for i := range 8 {
		for _, q := range allQueues()[:2] {
			w.send(q, 90, n, "A", "B")
			n += 90
			for _, expr := range exprs {
				w.consume(w.on, q, expr, 0, 32)
			}
		}
		w.on.keepVerdicts()
		if i == 4 {
			if err := w.covers.Forget("T0"); err != nil {
				t.Fatal(err)
			}
			if err := w.store.DeleteTopic("T0"); err != nil {
				t.Fatal(err)
			}
			w.covers.Allow("T0")
			w.sent = map[message.QueueKey]int{}
		}
	}
	w.close()
	t.Logf("%d crash points, %d verdicts compared", points, verdicts)
}

// costCompiler compiles NUMBER expressions behind a duration: what judging a message takes, by a manual clock.
type costCompiler struct {
	numberCompiler
	clock *clock.Manual
}

type costProgram struct {
	filter.Program
	clock *clock.Manual
	each  time.Duration
}

func (p *costProgram) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	p.clock.Advance(time.Duration(b.Len()) * p.each)
	return p.Program.Match(ctx, b, v)
}

func (c *costCompiler) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	cost, text, _ := strings.Cut(e.Text, " ")
	each, err := time.ParseDuration(cost)
	if err != nil {
		return nil, err
	}
	p, err := c.numberCompiler.Compile(ctx, filter.Expression{Text: text})
	if err != nil {
		return nil, err
	}
	p.(*numberProgram).key[len(filter.Key{})-1] = byte(each / time.Microsecond)
	return &costProgram{p, c.clock, each}, nil
}

// Programs that take more than their share of the dispatcher's time judge less when messages arrive: the dearest first.
func TestDispatchBudget(t *testing.T) {
	c := clock.NewManual(testStart)
	w := newWorld(t, nil)
	compiler := &costCompiler{clock: c}
	w.programs = NewPrograms(CompilerMap{"NUMBER": compiler}, DefaultConfig(), quiet())
	covers, err := verdict.Open(verdict.Settings{FS: vfs.NewMem(nil), Dir: "/verdicts", Index: w.log, Logger: quiet(), CacheSize: 1 << 20, DiskSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Verdicts.DispatchShare = 0.25
	set := w.pulls.set
	set.Config, set.Clock, set.Programs, set.Verdicts = cfg, c, w.programs, covers
	p := NewPulls(set)
	progs := map[string]*program{}
	for _, text := range []string{"100us every=2", "1us every=2", "10us every=2"} {
		prog, err := w.programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		progs[text] = prog
		p.live.touch("T", prog, c.Now())
	}
	// 10 messages each millisecond: 0.01, 0.1 and 1 of the time.
	began := c.Now()
	n := 0
	for range 5000 {
		var batch []message.Arrival
		for range 10 {
			batch = append(batch, w.log.put(&message.Message{Topic: "T", Body: binary.BigEndian.AppendUint64(nil, uint64(n)),
				BornHost: testHost, StoreHost: testHost}, int64(n)))
			n++
		}
		p.Arrived(batch)
		c.Advance(time.Millisecond)
	}
	took := c.Now().Sub(began) - 5000*time.Millisecond
	if share := float64(took) / float64(c.Now().Sub(began)); share > 0.26 {
		t.Errorf("the programs took %.2f of the time, allowed are 0.25", share)
	}
	decided := func(text string) (n int) {
		var u verdict.Cursor
		u.Begin(covers.Cover(message.QueueKey{Topic: "T"}, progs[text].key))
		keep := make([]uint64, 1)
		for o := message.Offset(0); o < 50_000; o += 64 {
			n += u.Load(o, 64, keep)
		}
		return n
	}
	cheap, middle, dear := decided("1us every=2"), decided("10us every=2"), decided("100us every=2")
	if cheap < 49_000 || middle < 49_000 || dear > 25_000 || dear == 0 {
		t.Errorf("judged when they arrived: %d by the cheap, %d by the middle, %d by the dear program", cheap, middle, dear)
	}
	p.live.sweep(c.Now().Add(time.Hour))
	for _, prog := range progs {
		prog.release()
	}
	if p.live.count.Load() != 0 || p.live.of("T") != nil {
		t.Error("programs are still live")
	}
}

// Sends, pulls of shared and different filters, held pulls, saves, and topics that come and go, at the same time.
func TestVerdictsHammer(t *testing.T) {
	w := newFilterWorld(t, vfs.NewMem(nil), 1)
	q := message.QueueKey{Topic: "T1"}
	stop := make(chan struct{})
	var helpers, groups sync.WaitGroup
	helpers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				w.on.keepVerdicts()
			}
		}
	})
	helpers.Go(func() { // T0 comes and goes
		other := *w // counts for itself
		for i := range 30 {
			other.sent = map[message.QueueKey]int{}
			other.send(queueT0, 200, uint64(i*1000))
			other.verify("T0 made anew", queueT0, "every=3", 0, 32)
			if err := w.covers.Forget("T0"); err != nil {
				t.Error(err)
			}
			if err := w.store.DeleteTopic("T0"); err != nil {
				t.Error(err)
			}
			w.covers.Allow("T0")
		}
	})
	const messages = 6000
	for g := range 6 {
		groups.Go(func() {
			expr := []string{"every=2", "every=3 raise=7", "every=50"}[g%3]
			var got []delivery
			for from := message.Offset(0); from < messages; {
				if _, high, _ := w.store.Bounds(q); high == from {
					continue
				}
				p := numberPull(expr, from, 32)
				p.Topic = q.Topic
				w.on.Pull(context.Background(), p)
				got = append(got, deliveries(t, &p.Records)...)
				from = p.NextBeginOffset
			}
			want := w.expected(q, expr, 0)
			if len(got) != len(want) {
				t.Errorf("%q: %d messages, want %d", expr, len(got), len(want))
				return
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%q: message %d is %v, want %v", expr, i, got[i], want[i])
					return
				}
			}
		})
	}
	sender := *w
	sender.sent = map[message.QueueKey]int{}
	for i := 0; i < messages; i += 60 {
		sender.send(q, 60, uint64(i))
	}
	groups.Wait()
	close(stop)
	helpers.Wait()
	w.close()
}

// A held pull whose program the budget spares is woken without asking it, and judges by itself, on the waker's goroutine.
func TestHeldPullOfSparedProgram(t *testing.T) {
	w := newFilterWorld(t, vfs.NewMem(nil), 0)
	defer w.close()
	w.send(queueT0, 128, 0)
	w.consume(w.on, queueT0, "every=1", 0, 10)
	hold := func() *replies {
		p := numberPull("every=1", message.Offset(w.sent[queueT0]), 10)
		p.Suspend, p.SuspendTimeout = true, time.Minute
		w.on.Pull(context.Background(), p)
		return p.Reply.(*replies)
	}
	answers := hold()
	calls := w.compiler.calls.Load()
	w.send(queueT0, 50, 1)
	for w.on.Held() > 0 { // the dispatcher is taking it off its list
		runtime.Gosched()
	}
	if n := w.compiler.calls.Load() - calls; n != 0 || len(answers.take()) != 0 {
		t.Errorf("the dispatcher has called the program %d times", n)
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(done)
		w.on.wake(stopped)
	}()
	for {
		if got := answers.take(); len(got) == 1 {
			if got[0].Records.Count != 10 {
				t.Errorf("%d messages", got[0].Records.Count)
			}
			break
		}
		runtime.Gosched()
	}
	close(stopped)
	<-done
}

// A program that is caught being impure is asked at every pull from then on, and what was kept of it is removed.
func TestCaughtImpure(t *testing.T) {
	w := newFilterWorld(t, vfs.NewMem(nil), 1)
	defer w.close()
	w.send(queueT0, 640, 0)
	w.consume(w.on, queueT0, "every=10", 0, 32)
	w.on.keepVerdicts()
	if n := len(verdictFiles(t, w.fs, verdictDir)); n != 1 {
		t.Fatalf("%d files", n)
	}
	prog, err := w.programs.get(context.Background(), filter.Expression{Type: "NUMBER", Text: "every=10"})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.release()
	prog.Program.(*numberProgram).caught.Store(true)
	judged := w.compiler.judged.Load()
	w.consume(w.on, queueT0, "every=10", 0, 32)
	if n := w.compiler.judged.Load() - judged; n < 640 {
		t.Errorf("%d messages were judged, want all", n)
	}
	w.on.keepVerdicts()
	if n := len(verdictFiles(t, w.fs, verdictDir)); n != 0 || w.on.live.count.Load() != 0 {
		t.Errorf("%d files are left, %d programs are live", n, w.on.live.count.Load())
	}
}
