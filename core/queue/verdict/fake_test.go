package verdict

import (
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

var (
	testQueue = message.QueueKey{Topic: "T", ID: 3}
	testKey   = filter.Key{1, 2, 3}
)

// fakeIndex is a queue: message o was stored at position start+100·o at time o+shift.
type fakeIndex struct {
	mu        sync.Mutex
	low, high message.Offset
	start     message.Position
	shift     int64
	gone      bool // there is no queue
	timeless  bool // no store time can be read
}

func (x *fakeIndex) set(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
}

func (x *fakeIndex) Bounds(q message.QueueKey) (low, high message.Offset, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.low, x.high, !x.gone && q == testQueue
}

func (x *fakeIndex) Entries(_ message.QueueKey, from message.Offset, n int) ([]byte, transport.Ref, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if from < x.low || from >= x.high {
		return nil, nil, errors.New("no entries")
	}
	return message.AppendEntry(nil, message.Entry{Position: x.start + 100*message.Position(from), Size: 100}), nil, nil
}

func (x *fakeIndex) StoreTime(e message.Entry) (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timeless {
		return 0, errors.New("no record")
	}
	return int64(e.Position-x.start)/100 + x.shift, nil
}

// run is the marks of entries from an offset on.
type run struct {
	x    *fakeIndex
	from message.Offset
}

func (r run) Mark(i int) (Mark, bool) {
	o := r.from + message.Offset(i)
	return Mark{o, r.x.start + 100*message.Position(o), int64(o) + r.x.shift}, true
}

// put says of n entries from an offset on that those are accepted for which yes is true.
func put(c *Cover, x *fakeIndex, from message.Offset, n int, yes func(message.Offset) bool) {
	bits := make([]uint64, (n+63)/64)
	for i := range n {
		if yes(from + message.Offset(i)) {
			filter.SetBit(bits, i)
		}
	}
	c.Put(from, n, bits, nil, run{x, from})
}

func multiplesOf(n message.Offset) func(message.Offset) bool {
	return func(o message.Offset) bool { return o%n == 0 }
}

func openCovers(t testing.TB, fs vfs.FS, x *fakeIndex, change ...func(*Settings)) *Covers {
	t.Helper()
	set := Settings{FS: fs, Dir: "/store/weir/verdicts", Index: x, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), CacheSize: 1 << 20, DiskSize: 1 << 30}
	for _, f := range change {
		f(&set)
	}
	cs, err := Open(set)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// matches walks over [from, to) and returns what is accepted, up to the first entry that isn't decided.
func matches(c *Cover, from, to message.Offset) (list []message.Offset, end message.Offset) {
	var u Cursor
	u.Begin(c)
	for from < to {
		at, what := u.Find(from, to, 1<<20)
		if what != Match {
			return list, at
		}
		list = append(list, at)
		from = at + 1
	}
	return list, to
}

// files lists all files with their sizes.
func files(t testing.TB, fs vfs.FS, dir string) (list []string) {
	t.Helper()
	infos, err := fs.ReadDir(dir)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range infos {
		if f.IsDir {
			list = append(list, files(t, fs, dir+"/"+f.Name)...)
		} else {
			list = append(list, dir+"/"+f.Name)
		}
	}
	return list
}
