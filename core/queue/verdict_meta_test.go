package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// metaExpressions are the programs of the metamorphic tests: common and rare matches, unknown and raised verdicts, some that
// can't tell at first or fail now and then, one that also judges by tags, and an impure one.
var metaExpressions = []string{
	"every=1", "every=2 raise=7", "every=10 unknown=3", "every=100", "every=1000000", "every=5 late=9", "every=4 trap=3",
	"every=3 tag=A", "every=3 impure", "every=2 poison=13 act=1", "every=6 poison=31 act=2",
}

// TestVerdictsMetamorphic does random operations on a store: sends, pulls, saves, evictions (the cache holds one
// block), removed and damaged files, restarts, kills, power cuts, deleted topics, deleted segments, times in which
// somebody else runs the store, and cut logs. After each, groups must get exactly what the definition of their program
// gives for every message, with kept verdicts and without.
func TestVerdictsMetamorphic(t *testing.T) {
	verdicts, seeds := 0, 24
	if testing.Short() || raceEnabled {
		seeds = 4
	}
	first := uint64(1)
	if s := os.Getenv("WEIR_TEST_SEED"); s != "" {
		first, _ = strconv.ParseUint(s, 10, 64)
		seeds = 1
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &metamorphic{t: t, r: rand.New(rand.NewPCG(seed, 7))}
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
			verdicts += m.verdicts
		})
	}
	t.Logf("%d verdicts compared", verdicts)
}

type metamorphic struct {
	t        *testing.T
	r        *rand.Rand
	w        *filterWorld
	number   uint64 // of the next message
	verdicts int
	did      []string
}

func (m *metamorphic) step() {
	w, r := m.w, m.r
	q := pick(r, allQueues())
	what := "send"
	switch n := r.IntN(100); {
	case n < 40:
		m.send(q)
	case n < 70:
		what = "pull"
	case n < 76:
		what = "save"
		w.on.keepVerdicts()
	case n < 80:
		what = "remove files"
		for _, f := range verdictFiles(m.t, w.fs, verdictDir) {
			if r.IntN(2) == 0 {
				_ = w.fs.Remove(f)
			}
		}
	case n < 83:
		what = "damage files"
		m.damage()
	case n < 86:
		what = "restart"
		w.close()
		w.open()
	case n < 89:
		what = "kill"
		m.crash(w.fs.(*vfs.Mem).KillClone())
	case n < 92:
		what = "power cut"
		m.crash(w.fs.(*vfs.Mem).CrashClone(vfs.RandomCrash(r.Uint64())))
	case n < 94:
		what = "delete topic " + q.Topic
		m.deleteTopic(q.Topic)
		m.send(q)
	case n < 96:
		what = "expire"
		if err := w.store.DeleteExpired(); err != nil {
			m.t.Fatal(err)
		}
		w.on.keepVerdicts()
	case n < 98:
		what = "somebody else"
		m.elsewhere(q)
	default:
		what = "cut log"
		m.cutLog(q)
	}
	m.did = append(m.did, what)
	for range 1 + r.IntN(3) {
		m.verify(what)
	}
}

func (m *metamorphic) send(q message.QueueKey) {
	n := 1 + m.r.IntN(200)
	if m.r.IntN(3) == 0 {
		m.w.send(q, n, m.number)
	} else {
		m.w.send(q, n, m.number, "A", "B")
	}
	m.number += uint64(n)
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
	m.verdicts += m.w.verify(what, q, pick(m.r, metaExpressions), from, int32(1+m.r.IntN(100)))
}

// damage changes a byte in some files and cuts others.
func (m *metamorphic) damage() {
	for _, path := range verdictFiles(m.t, m.w.fs, verdictDir) {
		if m.r.IntN(2) == 0 {
			continue
		}
		data, err := vfs.ReadFile(m.w.fs, path, 1<<20)
		if err != nil {
			m.t.Fatal(err)
		}
		f, err := m.w.fs.Open(path, vfs.ReadWrite)
		if err != nil {
			m.t.Fatal(err)
		}
		at := m.r.IntN(len(data))
		if m.r.IntN(2) == 0 {
			err = f.Truncate(int64(at))
		} else {
			_, err = f.WriteAt([]byte{data[at] ^ 1<<m.r.IntN(8)}, int64(at))
		}
		if err != nil {
			m.t.Fatal(err)
		}
		_ = f.Close()
	}
}

// crash goes on with what a crash has left.
func (m *metamorphic) crash(left *vfs.Mem) {
	_ = m.w.store.Close(context.Background()) // of the old file system
	m.w.fs = left
	m.w.open()
}

func (m *metamorphic) deleteTopic(topic string) {
	w := m.w
	if w.covers != nil {
		if err := w.covers.Forget(topic); err != nil {
			m.t.Fatal(err)
		}
		defer w.covers.Allow(topic)
	}
	if err := w.store.DeleteTopic(topic); err != nil {
		m.t.Fatal(err)
	}
	for _, q := range allQueues() {
		if q.Topic == topic {
			w.sent[q] = 0
		}
	}
}

// elsewhere runs the store without verdicts, as RocketMQ would: sends, makes a topic anew, and comes back.
func (m *metamorphic) elsewhere(q message.QueueKey) {
	w := m.w
	w.close()
	w.verdicts = false
	w.open()
	if m.r.IntN(2) == 0 {
		m.deleteTopic(q.Topic)
	}
	for range m.r.IntN(4) {
		m.send(q)
	}
	w.close()
	w.verdicts = true
	w.open()
}

// cutLog takes the end of the log away, as a disk that lost it would have. Perhaps somebody else stores other messages in
// its place before we come back.
func (m *metamorphic) cutLog(q message.QueueKey) {
	w := m.w
	low, high, ok := w.store.Bounds(q)
	if !ok || low == high {
		return
	}
	e, found, err := entryAt(w.store, q, max(low, high-1-message.Offset(m.r.Int64N(200))))
	if err != nil {
		m.t.Fatal(err)
	}
	w.close()
	if found {
		m.zeroLog(int64(e.Position))
	}
	if m.r.IntN(2) == 0 {
		w.verdicts = false
		w.open()
		for range m.r.IntN(4) {
			m.send(q)
		}
		w.close()
		w.verdicts = true
	}
	w.open()
}

// zeroLog makes all of the log from a position on zero, and the store believe that it didn't stop cleanly.
func (m *metamorphic) zeroLog(from int64) {
	w := m.w
	size := int64(w.storeCfg.SegmentSize)
	list, err := w.fs.ReadDir("/store/commitlog")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, info := range list {
		start, _ := strconv.ParseInt(info.Name, 10, 64)
		at := max(0, from-start)
		if at >= size {
			continue
		}
		f, err := w.fs.Open(filepath.Join("/store/commitlog", info.Name), vfs.ReadWrite)
		if err != nil {
			m.t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, info.Size-at), at); err != nil {
			m.t.Fatal(err)
		}
		_ = f.Sync()
		_ = f.Close()
	}
	_ = w.fs.Remove("/store/weir/flushed")
	f, err := w.fs.Open("/store/abort", vfs.Create)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = f.Close()
	_ = w.fs.SyncDir("/store/weir")
	_ = w.fs.SyncDir("/store")
}
