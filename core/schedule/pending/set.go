package pending

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// Settings is what a set needs. All fields are set but the last two.
type Settings struct {
	FS     vfs.FS
	Dir    string
	Logger *slog.Logger
	// Flush makes what the owner has stored durable. It is called before progress is saved, on the set's goroutine.
	Flush func() error

	// MemoryMax is how many entries memory takes before they become a run; 0 means 65,536.
	MemoryMax int
	// Merge is how many runs of a size become one; 0 means 8.
	Merge int
}

const (
	defaultMemory = 1 << 16
	defaultMerge  = 8
	// frozenMax bounds the full heaps that wait for the disk.
	frozenMax = 4
)

// Set gives out entries in the order of their marks. One goroutine, its owner, uses it; work for the disk is done by another, whose results the
// owner takes in with Settle.
type Set struct {
	set Settings

	progress Progress // but for Done, which done and what is pending say
	read     Place    // up to where the queue was read; before progress.Looked while it is read again
	done     Mark     // the first mark behind all that were dealt with
	memory   heap[Entry]
	sources  heap[*source]
	frozen   []*source // those of sources that aren't in files yet, oldest first
	covered  message.Offset
	count    int64
	nextRun  uint64
	saved    state
	damaged  error

	// Of the goroutine that writes:
	loop    loop.Group
	jobs    chan job
	results chan func() error // takes a result in, on the owner's goroutine
	busy    bool
	merge   *merge // under way
	save    bool   // was asked for
	stopped bool
}

// Open reads the state that is in a directory, which it makes. It returns the set, the progress that was saved, and the offset from which on the records of
// the queue have to be added, but for those that the progress says are passed.
func Open(set Settings) (s *Set, p Progress, from message.Offset, err error) {
	if set.MemoryMax == 0 {
		set.MemoryMax = defaultMemory
	}
	if set.Merge == 0 {
		set.Merge = defaultMerge
	}
	s = &Set{set: set, jobs: make(chan job, 1), results: make(chan func() error, 1)}
	s.memory.before = func(a, b *Entry) bool { return a.Compare(b.Mark) < 0 }
	s.sources.before = func(a, b **source) bool { return (*a).head.Compare((*b).head.Mark) < 0 }
	if err := vfs.MkdirAllSync(set.FS, set.Dir); err != nil {
		return nil, p, 0, err
	}
	st, _, err := readState(set.FS, set.Dir)
	if err != nil {
		return nil, p, 0, err
	}
	if s.nextRun, err = st.sweep(set.FS, set.Dir); err != nil {
		return nil, p, 0, err
	}
	s.saved, s.progress, s.done, s.covered = st, st.Progress, st.Done, st.Covered
	s.read.Offset = s.covered
	if err := s.openRuns(st.Runs); err != nil {
		set.Logger.Warn("timed messages are read from their queue again: what was derived from it can't be used", "error", err)
		s.Reset()
	}
	return s, st.Progress, s.covered, nil
}

func (s *Set) openRuns(runs []run) error {
	for _, r := range runs {
		f, err := openRun(s.set.FS, s.set.Dir, r)
		if err != nil {
			return err
		}
		src := &source{run: r, file: f}
		ok, err := s.seekDone(src)
		if err != nil || !ok {
			if err := errors.Join(err, src.close()); err != nil {
				return err
			}
			continue
		}
		s.count += src.len()
		s.sources.push(src)
	}
	return nil
}

// seekDone goes to the first entry of a source that isn't dealt with. What recalls messages of the time at which the owner stopped is needed again.
func (s *Set) seekDone(src *source) (ok bool, err error) {
	for ok, err = src.seek(Mark{Due: s.done.Due}); ok && src.head.Compare(s.done) < 0; ok, err = src.next() {
		if src.head.Kind == Recall {
			s.Return(src.head)
		}
	}
	return ok, err
}

// Reset forgets all entries. The queue has to be read from its beginning; the progress stays.
func (s *Set) Reset() {
	if err := closeAll(s.sources.items); err != nil {
		s.set.Logger.Warn("a file of timed messages wasn't closed", "error", err)
	}
	s.sources.items, s.memory.items, s.frozen = nil, nil, nil
	s.merge, s.count, s.covered, s.damaged, s.read = nil, 0, 0, nil, Place{}
	s.save = true
}

// Start begins to write.
func (s *Set) Start() { s.loop.Run(s.work) }

// Stop ends the writing, saves the progress and closes the files. It works without Start, and twice.
func (s *Set) Stop(ctx context.Context) error {
	if err := s.loop.Stop(ctx); err != nil || s.stopped {
		return err
	}
	s.stopped = true // what is left of the set isn't its state any more
	select {
	case take := <-s.results:
		s.busy = false
		if err := take(); err != nil {
			return err
		}
	default:
	}
	var err error
	if st := s.state(); s.changed(&st) {
		err = s.saveState(st)
	}
	if m := s.merge; m != nil {
		s.merge = nil
		err = errors.Join(err, m.drop())
	}
	err = errors.Join(err, closeAll(s.sources.items))
	s.sources.items = nil
	return err
}

// Len returns about how many entries wait: those of messages that were recalled or passed otherwise are among them until their time.
func (s *Set) Len() int64 { return s.count }

// Full says that memory has to be written first, before more can be added.
func (s *Set) Full() bool { return len(s.frozen) >= frozenMax }

// Add adds an entry. behind is the queue's place behind its record.
func (s *Set) Add(e Entry, behind Place) {
	s.memory.push(e)
	s.count++
	s.Skip(behind)
	if len(s.memory.items) >= s.set.MemoryMax {
		s.freeze()
	}
}

// Skip notes that the queue was read up to a place, and that what was there doesn't wait.
func (s *Set) Skip(behind Place) {
	s.read = behind
	if behind.Offset > s.progress.Looked.Offset {
		s.progress.Looked = behind
	}
}

// freeze makes a run of memory.
func (s *Set) freeze() {
	all := slices.Clone(s.memory.items)
	slices.SortFunc(all, func(a, b Entry) int { return a.Compare(b.Mark) })
	clear(s.memory.items)
	s.memory.items = s.memory.items[:0]
	src := &source{run: run{Name: s.name(), Entries: int64(len(all))}, all: all, behind: s.read}
	_, _ = src.load() // from memory
	s.frozen = append(s.frozen, src)
	s.sources.push(src)
}

func (s *Set) name() string {
	s.nextRun++
	return fmt.Sprintf("%016x%s", s.nextRun-1, runSuffix)
}

// Peek returns the first entry. An error says that the set has to be Reset.
func (s *Set) Peek() (e Entry, ok bool, err error) {
	for {
		e, ok = s.first()
		if !ok || s.damaged != nil {
			return Entry{}, false, s.damaged
		}
		if e.Position >= s.progress.Rolled.Position {
			return e, true, nil
		}
		s.Pop() // it was stored again
	}
}

func (s *Set) first() (e Entry, ok bool) {
	if len(s.memory.items) > 0 {
		e, ok = s.memory.items[0], true
	}
	if len(s.sources.items) > 0 {
		if head := &s.sources.items[0].head; !ok || head.Compare(e.Mark) < 0 {
			e, ok = *head, true
		}
	}
	return e, ok
}

// Pop takes the entry out that Peek has returned.
func (s *Set) Pop() {
	s.count--
	if len(s.sources.items) > 0 && (len(s.memory.items) == 0 || s.sources.items[0].head.Compare(s.memory.items[0].Mark) < 0) {
		s.advance()
		return
	}
	s.memory.pop()
}

// advance takes the first entry of the first source.
func (s *Set) advance() {
	src := s.sources.items[0]
	ok, err := src.next()
	if ok {
		s.sources.fix()
		return
	}
	s.sources.pop()
	if err != nil {
		s.damaged = err
	}
	if err := src.close(); err != nil {
		s.set.Logger.Warn("a file of timed messages wasn't closed", "file", src.run.Name, "error", err)
	}
}

// Return puts an entry back that was taken out and couldn't be dealt with.
func (s *Set) Return(e Entry) {
	s.memory.push(e)
	s.count++
}

// Done notes that the entry of a mark was dealt with.
func (s *Set) Done(m Mark) {
	if m = m.after(); s.done.Compare(m) < 0 {
		s.done = m
	}
}

// Roll notes that the records before a place of the queue were stored again.
func (s *Set) Roll(to Place) { s.progress.Rolled = to }

// Progress returns how far the owner is.
func (s *Set) Progress() Progress {
	p := s.progress
	p.Done = s.done
	if e, ok := s.first(); ok && e.Compare(p.Done) < 0 {
		p.Done = e.Mark // it came late, or was returned
	}
	return p
}

// SavedRolled is what Progress.Rolled was when it was saved last.
func (s *Set) SavedRolled() Place { return s.saved.Rolled }

// state returns what would be saved now.
func (s *Set) state() state {
	st := state{Version: stateVersion, Progress: s.Progress(), Covered: s.covered}
	if len(s.memory.items) == 0 && len(s.frozen) == 0 {
		st.Covered = s.read.Offset
	}
	if s.read.Offset < st.Looked.Offset {
		st.Done = s.saved.Done // the rest of the queue, which is read again, may have what comes before
	}
	for _, src := range s.sources.items {
		if src.file != nil {
			st.Runs = append(st.Runs, src.run)
		}
	}
	slices.SortFunc(st.Runs, func(a, b run) int { return strings.Compare(a.Name, b.Name) })
	return st
}

func (s *Set) changed(st *state) bool {
	return s.saved.Progress != st.Progress || s.saved.Covered != st.Covered || !slices.Equal(s.saved.Runs, st.Runs)
}

// class is that of runs of about a size.
func (s *Set) class(entries int64) int {
	return bits.Len64(uint64(entries)/uint64(s.set.MemoryMax)) / max(1, bits.Len(uint(s.set.Merge))-1)
}

// toMerge returns the sources of the smallest size of which there are enough.
func (s *Set) toMerge() []*source {
	classes := map[int][]*source{}
	least := -1
	for _, src := range s.sources.items {
		if src.file == nil {
			continue
		}
		c := s.class(src.run.Entries)
		classes[c] = append(classes[c], src)
		if len(classes[c]) >= s.set.Merge && (least < 0 || c < least) {
			least = c
		}
	}
	if least < 0 {
		return nil
	}
	return classes[least]
}
