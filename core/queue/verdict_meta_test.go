package queue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// metaExpressions are the programs of the metamorphic tests: common and rare matches, unknown and raised verdicts, some that
// can't tell at first or fail now and then, one that also judges by tags, and an impure one.
var metaExpressions = []string{
	"every=1", "every=2 raise=7", "every=10 unknown=3", "every=100", "every=1000000", "every=5 late=9", "every=4 trap=3",
	"every=3 tag=A", "every=3 impure", "every=2 poison=13 act=1", "every=6 poison=31 act=2", "module", "module raise=5 tag=B",
}

// metaSteps are the steps, with the share of each in a hundred.
var metaSteps = []struct {
	name  string
	share int
	do    func(*metamorphic, message.QueueKey)
}{
	{"send", 38, (*metamorphic).send},
	{"pull", 27, func(*metamorphic, message.QueueKey) {}},
	{"save", 6, func(m *metamorphic, _ message.QueueKey) { m.w.on.keepVerdicts() }},
	{"reload", 5, (*metamorphic).reload},
	{"remove files", 4, (*metamorphic).removeFiles},
	{"damage files", 3, (*metamorphic).damage},
	{"restart", 3, (*metamorphic).restart},
	{"kill", 3, func(m *metamorphic, q message.QueueKey) {
		m.sendOn(q)
		m.crash(m.w.fs.(*vfs.Mem).KillClone())
	}},
	{"power cut", 3, func(m *metamorphic, q message.QueueKey) {
		m.sendOn(q)
		m.crash(m.w.fs.(*vfs.Mem).CrashClone(vfs.RandomCrash(m.r.Uint64())))
	}},
	{"delete topic", 2, (*metamorphic).deleteTopic},
	{"expire", 2, (*metamorphic).expire},
	{"somebody else", 2, (*metamorphic).elsewhere},
	{"cut log", 2, (*metamorphic).cutLog},
}

// TestVerdictsMetamorphic does random operations on a store: sends, pulls, saves, evictions (the cache holds one
// block), modules replaced while messages are judged, removed and damaged files, restarts, kills, power cuts, deleted topics,
// deleted segments, times in which somebody else runs the store, and cut logs. After each, groups must get exactly what the
// definition of their program gives for every message, with kept verdicts and without.
func TestVerdictsMetamorphic(t *testing.T) {
	seeds, wanted := 30, 1_000_000
	if testing.Short() || raceEnabled {
		seeds, wanted = 4, 100_000
	}
	first := uint64(1)
	if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
		first, _ = strconv.ParseUint(s, 10, 64)
		seeds, wanted = 1, 0
	}
	all := &metamorphic{steps: map[string]int{}}
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &metamorphic{t: t, r: rand.New(rand.NewPCG(seed, 7)), steps: all.steps}
			share := 1.0
			if seed%3 == 0 {
				share = 0 // everything is judged by pulls
			}
			m.w = newFilterWorld(t, vfs.NewMem(nil), share)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%q", m.did)
				}
			})
			for range 120 {
				m.step()
			}
			m.w.close()
			all.add(m, share > 0)
		})
	}
	t.Logf("%d verdicts compared in worlds that judge arrivals, %d in worlds that don't; kept verdicts: %d of arrivals, %d of pulls; "+
		"%d entries jumped; steps %v", all.verdicts[1], all.verdicts[0], all.came.arriving, all.came.pulling, all.came.jumped, all.steps)
	if wanted > 0 {
		all.complete(t, wanted)
	}
}

type metamorphic struct {
	t        *testing.T
	r        *rand.Rand
	w        *filterWorld
	number   uint64 // of the next message
	did      []string
	steps    map[string]int
	verdicts [2]int // compared; those of worlds that judge arrivals in [1]
	came     comeBy
}

func (m *metamorphic) add(of *metamorphic, arrivals bool) {
	of.w.sum()
	m.came.arriving += of.w.came.arriving
	m.came.pulling += of.w.came.pulling
	m.came.jumped += of.w.came.jumped
	if arrivals {
		m.verdicts[1] += of.verdicts[0]
	} else {
		m.verdicts[0] += of.verdicts[0]
	}
}

// complete says what hasn't been tried.
func (m *metamorphic) complete(t *testing.T, wanted int) {
	if n := m.verdicts[0] + m.verdicts[1]; n < wanted || m.verdicts[0] < wanted/10 {
		t.Errorf("%d verdicts compared, want %d or more, a tenth of them in worlds that don't judge arrivals", n, wanted)
	}
	for what, n := range map[string]int64{"judged arriving": m.came.arriving, "judged pulling": m.came.pulling, "jumped": m.came.jumped} {
		if n < int64(wanted)/50 {
			t.Errorf("only %d messages were %s", n, what)
		}
	}
	for _, s := range metaSteps {
		if m.steps[s.name] == 0 {
			t.Errorf("no step was %q", s.name)
		}
	}
}

func (m *metamorphic) step() {
	q := pick(m.r, allQueues())
	n := m.r.IntN(100)
	for _, s := range metaSteps {
		if n -= s.share; n >= 0 {
			continue
		}
		s.do(m, q)
		m.did, m.steps[s.name] = append(m.did, s.name), m.steps[s.name]+1
		for range 1 + m.r.IntN(3) {
			m.verify(s.name)
		}
		return
	}
	m.t.Fatal("the shares of the steps don't add up to a hundred")
}

func (m *metamorphic) verify(what string) {
	q := pick(m.r, allQueues())
	low, high, ok := m.w.store.Bounds(q)
	if !ok || low == high {
		return
	}
	from := low
	if m.r.IntN(2) == 0 {
		from += message.Offset(m.r.Int64N(int64(high - low)))
	}
	m.verdicts[0] += m.w.verify(what, q, pick(m.r, metaExpressions), from, int32(1+m.r.IntN(100)))
}
