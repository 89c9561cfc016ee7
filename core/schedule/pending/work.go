package pending

import (
	"errors"
	"path/filepath"
	"slices"
)

// What is done for the disk, in steps, on a goroutine of its own: full heaps become runs, runs become larger ones, the progress is saved. The owner
// hands one step at a time over and takes its result in; only it changes the set.

// job is a step. It returns what the owner does with the result.
type job func() func() error

func (s *Set) work(stopped <-chan struct{}) {
	for {
		select {
		case <-stopped:
			return
		case j := <-s.jobs:
			s.results <- j()
		}
	}
}

// Results says that a step has ended: the owner calls Settle with what it receives.
func (s *Set) Results() <-chan func() error { return s.results }

// Save asks for the progress to be saved, if it has changed. Settle begins it.
func (s *Set) Save() { s.save = true }

// Settle takes the result of a step in, if there is one, and begins the next. The error says why the step failed: it is tried again by the next call.
func (s *Set) Settle(result func() error) error {
	var err error
	if result != nil {
		s.busy = false
		err = result()
	}
	if err != nil || s.busy || s.loop.Stopped() {
		return err
	}
	if j := s.nextJob(); j != nil {
		s.busy = true
		s.jobs <- j // there is room: it is the only one
	}
	return nil
}

func (s *Set) nextJob() job {
	if len(s.frozen) > 0 {
		return s.writeFrozen(s.frozen[0])
	}
	if s.save {
		if st := s.state(); s.changed(&st) {
			return func() func() error {
				err := s.writeState(&st)
				return func() error { return s.tookState(st, err) }
			}
		}
		s.save = false
	}
	if s.merge == nil {
		if from := s.toMerge(); from != nil {
			s.merge = s.newMerge(from)
		}
	}
	if s.merge != nil {
		return s.mergeOn(s.merge)
	}
	return nil
}

// writeFrozen writes a full heap.
func (s *Set) writeFrozen(src *source) job {
	return func() func() error {
		var r run
		w, err := newWriter(s.set.FS, s.set.Dir, src.run.Name)
		for i := 0; err == nil && i < len(src.all); i++ {
			err = w.add(&src.all[i])
		}
		file := w.fileOrNil()
		if err == nil {
			r, file, err = w.finish()
		} else if w != nil {
			err = errors.Join(err, w.drop())
		}
		return func() error {
			if err != nil {
				return err
			}
			if len(s.frozen) == 0 || s.frozen[0] != src { // it was reset
				return file.Close()
			}
			src.run, src.file, src.all = r, file, nil
			s.frozen = slices.Delete(s.frozen, 0, 1)
			s.covered, s.save = src.behind.Offset, true
			if src.len() <= 0 {
				return src.close()
			}
			return nil
		}
	}
}

// writeState makes everything that st says durable, and saves it.
func (s *Set) writeState(st *state) error {
	if err := s.set.Flush(); err != nil {
		return err
	}
	return st.write(s.set.FS, s.set.Dir)
}

// tookState notes that st was saved, and removes the runs that it doesn't name any more.
func (s *Set) tookState(st state, err error) error {
	if err != nil {
		return err
	}
	old := s.saved.Runs
	s.saved = st
	for _, r := range old {
		if !slices.Contains(st.Runs, r) {
			err = errors.Join(err, s.set.FS.Remove(filepath.Join(s.set.Dir, r.Name)))
		}
	}
	return err
}

func (s *Set) saveState(st state) error { return s.tookState(st, s.writeState(&st)) }

// mergeStep is how many entries a step of a merge writes: a full heap waits for it.
const mergeStep = 1 << 14

// merge makes one run of several. It reads them by sources of its own.
type merge struct {
	from    []*source // the set's
	runs    heap[*source]
	done    Mark // what is before isn't needed any more
	rolled  Place
	writer  *writer
	entries int64
}

func (s *Set) newMerge(from []*source) *merge {
	p := s.Progress()
	m := &merge{from: from, done: Mark{Due: p.Done.Due}, rolled: p.Rolled}
	m.runs.before = s.sources.before
	return m
}

// mergeOn does a step of a merge.
func (s *Set) mergeOn(m *merge) job {
	name := ""
	if m.writer == nil {
		name = s.name()
	}
	return func() func() error {
		done, err := m.step(s, name)
		var r run
		file := m.writer.fileOrNil()
		if err == nil && done && m.entries > 0 {
			if r, file, err = m.writer.finish(); err != nil {
				m.writer = nil
			}
		}
		return func() error {
			switch {
			case s.merge != m: // it was reset
				return m.drop()
			case err != nil:
				s.merge = nil
				if errors.Is(err, errDamaged) {
					s.damaged = err
				}
				return errors.Join(err, m.drop())
			case !done:
				return nil
			}
			s.merge = nil
			if m.entries == 0 {
				err = m.drop()
				file = nil
			}
			return errors.Join(err, s.replace(m.from, &source{run: r, file: file}))
		}
	}
}

// step reads and writes some entries, and says whether those were the last.
func (m *merge) step(s *Set, name string) (done bool, err error) {
	if m.writer == nil {
		if m.writer, err = newWriter(s.set.FS, s.set.Dir, name); err != nil {
			return false, err
		}
		for _, from := range m.from {
			f, err := openRun(s.set.FS, s.set.Dir, from.run)
			if err != nil {
				return false, err
			}
			src := &source{run: from.run, file: f}
			ok, err := src.seek(m.done)
			if err != nil || !ok {
				if err := errors.Join(err, src.close()); err != nil {
					return false, err
				}
				continue
			}
			m.runs.push(src)
		}
	}
	for range mergeStep {
		if len(m.runs.items) == 0 {
			return true, nil
		}
		src := m.runs.items[0]
		if src.head.Position >= m.rolled.Position {
			if err := m.writer.add(&src.head); err != nil {
				return false, err
			}
			m.entries++
		}
		ok, err := src.next()
		switch {
		case err != nil:
			return false, err
		case ok:
			m.runs.fix()
		default:
			m.runs.pop()
			if err := src.close(); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// drop gives a merge up, or cleans up behind one without entries.
func (m *merge) drop() (err error) {
	if m.writer != nil {
		err = m.writer.drop()
	}
	return errors.Join(err, closeAll(m.runs.items))
}

// replace puts a run in the place of those that it was made of. What they had given out is behind the first of their heads in the order of all, so the run
// goes on there.
func (s *Set) replace(from []*source, by *source) error {
	s.save = true
	var at Mark
	left, count := false, int64(0)
	for _, src := range from {
		if src.len() <= 0 {
			continue
		}
		if count += src.len(); !left || src.head.Compare(at) < 0 {
			at, left = src.head.Mark, true
		}
	}
	s.sources.items = slices.DeleteFunc(s.sources.items, func(src *source) bool { return slices.Contains(from, src) })
	err := closeAll(from)
	if left && by.file != nil {
		ok, err := by.seek(at)
		if err != nil {
			s.damaged = err
		}
		if ok {
			s.sources.items = append(s.sources.items, by)
			count -= by.len()
		}
	}
	if !left || by.len() <= 0 {
		err = errors.Join(err, by.close())
	}
	s.count -= count
	rebuilt := heap[*source]{before: s.sources.before}
	for _, src := range s.sources.items {
		rebuilt.push(src)
	}
	s.sources = rebuilt
	return err
}
