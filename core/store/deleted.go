package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
)

// tombstones are the topics whose records before a position don't count.
type tombstones struct {
	count  atomic.Int64 // of topics, so that the usual case takes no lock
	mu     sync.Mutex   // taken last
	before map[string]message.Position
	dirty  bool // changed since it was written to the disk
}

// covers says whether a record at pos belongs to a topic that was deleted later.
func (t *tombstones) covers(topic []byte, pos message.Position) bool {
	if t.count.Load() == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return pos < t.before[string(topic)]
}

func (t *tombstones) set(topic string, before message.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before[topic] = before
	t.dirty = true
	t.count.Store(int64(len(t.before)))
}

// takeBack lowers positions to end, behind which a failed write has freed them.
func (t *tombstones) takeBack(end message.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, before := range t.before {
		if before > end {
			t.before[topic], t.dirty = end, true
		}
	}
}

// changed says whether there is something to save.
func (t *tombstones) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dirty
}

// touch says that what there is must be saved.
func (t *tombstones) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = true
}

// lines returns a line for each topic with records at or behind position begin, and forgets the others.
func (t *tombstones) lines(begin int64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, 0, len(t.before))
	for topic, before := range t.before {
		if int64(before) <= begin {
			delete(t.before, topic)
			continue
		}
		lines = append(lines, before.String()+" "+topic+"\n")
	}
	t.dirty = false
	t.count.Store(int64(len(t.before)))
	slices.Sort(lines)
	return lines
}

// deletedHeader is the first line of the file of deleted topics; the number is its version. It must not change.
const deletedHeader = "weir deleted topics 1"

func (s *Store) deletedPath() string { return filepath.Join(s.dir, WeirDir, "deleted") }

// TopicDeleted says whether a topic was deleted while the log still holds records of it from before. It may have come back since.
func (s *Store) TopicDeleted(topic string) bool {
	t := &s.deleted
	if t.count.Load() == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.before[topic]
	return ok
}

// DeleteTopic removes all queues of a topic. Its records stay in the log until they expire, but their entries don't come
// back, not even when queues are made again from the log. A topic of that name begins anew with offset 0. Lent
// entries stay readable until they are given back. An unknown topic is fine.
//
// The file weir/deleted remembers, a line for each topic, up to which position its records don't count:
//
//	weir deleted topics 1
//	4711 TopicTest
func (s *Store) DeleteTopic(topic string) error {
	if err := s.beginChange(); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	defer s.endDispatch()
	queues := s.queues.of(topic)
	if len(queues) == 0 {
		return nil
	}
	s.app.mu.Lock()
	s.deleted.set(topic, s.app.fill.end)
	for _, q := range queues {
		q.next = 0
		q.dropped.Store(true)
	}
	s.app.mu.Unlock()
	errs := []error{s.writeDeleted()} // when that fails it is tried again later
	for _, q := range queues {
		err := q.Reset()
		if err == nil {
			err = errors.Join(s.removeDir(consumequeue.Dir(s.dir, q.key)), s.removeDir(consumequeue.ExtDir(s.dir, q.key)))
		}
		errs = append(errs, err)
	}
	errs = append(errs, s.removeDir(filepath.Join(s.dir, consumequeue.DirName, topic)),
		s.removeDir(filepath.Join(s.dir, consumequeue.ExtDirName, topic)))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

func (s *Store) removeDir(path string) error {
	if err := s.fs.Remove(path); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return err
	}
	return nil
}

// writeDeleted saves the deleted topics, without those whose records are all gone.
func (s *Store) writeDeleted() error {
	lines := s.deleted.lines(s.log.Min())
	err := vfs.MkdirAllSync(s.fs, filepath.Join(s.dir, WeirDir))
	if err == nil {
		err = vfs.WriteFileAtomic(s.fs, s.deletedPath(), []byte(deletedHeader+"\n"+strings.Join(lines, "")))
	}
	if err != nil {
		s.deleted.touch()
	}
	return err
}

// cutDeleted sees to it that records behind the recovered end of the log count, also of topics that were deleted when
// the log was longer: the tombstone is on the disk before DeleteTopic returns, and what was in front of it need not be.
func (s *Store) cutDeleted(end int64) error {
	s.deleted.takeBack(message.Position(end))
	if !s.deleted.changed() {
		return nil
	}
	return s.writeDeleted()
}

// readDeleted reads what writeDeleted has written.
func (s *Store) readDeleted() (map[string]message.Position, error) {
	deleted := map[string]message.Position{}
	_, err := vfs.ReadFileOrBak(s.fs, s.deletedPath(), func(data []byte) error {
		clear(deleted)
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		if lines[0] != deletedHeader {
			return fmt.Errorf("the first line is %q, want %q", lines[0], deletedHeader)
		}
		for _, line := range lines[1:] {
			number, topic, _ := strings.Cut(line, " ")
			before, err := strconv.ParseInt(number, 10, 64)
			if err != nil || topic == "" {
				return fmt.Errorf("line %q is not a position and a topic", line)
			}
			deleted[topic] = message.Position(before)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the deleted topics: %w", err)
	}
	return deleted, nil
}
