package pending

import (
	"errors"

	"github.com/weirmq/weir/core/internal/vfs"
)

// source is what is left of a run: entries in order, in memory until they are in a file.
type source struct {
	run  run
	file vfs.File // nil: memory has the entries
	all  []Entry
	// The rest is where the source is. A source without head has nothing left.
	at     int64
	head   Entry
	block  []Entry
	first  int64 // number of block[0]
	raw    []byte
	behind Place // the queue before it: every record there is in this source or an older one, or dealt with
}

func (s *source) len() int64 { return s.run.Entries - s.at }

// load sets head. It returns false at the end.
func (s *source) load() (bool, error) {
	if s.at >= s.run.Entries {
		return false, nil
	}
	if s.file == nil {
		s.head = s.all[s.at]
		return true, nil
	}
	if s.at < s.first || s.at >= s.first+int64(len(s.block)) {
		if s.raw == nil {
			s.raw = make([]byte, blockSize)
		}
		block, err := readBlock(s.block[:0], s.file, s.at/blockEntries, s.run.Entries, s.raw)
		if err != nil {
			s.block = s.block[:0]
			return false, err
		}
		s.block, s.first = block, s.at/blockEntries*blockEntries
	}
	s.head = s.block[s.at-s.first]
	return true, nil
}

// next goes on by one.
func (s *source) next() (bool, error) {
	s.at++
	return s.load()
}

// seek goes to the first entry that isn't before m.
func (s *source) seek(m Mark) (bool, error) {
	low, high := int64(0), s.run.Entries
	for low < high {
		s.at = low + (high-low)/2
		if ok, err := s.load(); !ok {
			return false, err
		}
		if s.head.Compare(m) < 0 {
			low = s.at + 1
		} else {
			high = s.at
		}
	}
	s.at = low
	return s.load()
}

func (s *source) close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

func closeAll(sources []*source) (err error) {
	for _, s := range sources {
		err = errors.Join(err, s.close())
	}
	return err
}
