package verdict

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// recover finds what is on disk and removes, durably, what goes beyond the queues: the crash that took the messages
// may have spared the verdicts. A block with a decided entry at or behind its queue's end goes as a whole: its last mark is
// what vouches for the others. All other blocks are checked when they are first used.
func (cs *Covers) recover() error {
	return cs.eachDir(cs.dir, func(topic, path string) (keep bool, err error) {
		return true, cs.eachDir(path, func(name, path string) (bool, error) {
			n, err := strconv.ParseInt(name, 10, 32)
			if err != nil || n < 0 {
				return false, nil //nolint:nilerr // not a name of ours: removed
			}
			q := message.QueueKey{Topic: topic, ID: message.QueueID(n)}
			low, high, ok := cs.index.Bounds(q)
			if !ok {
				return false, nil
			}
			return true, cs.eachDir(path, func(name, path string) (bool, error) {
				b, err := hex.DecodeString(name)
				if err != nil || len(b) != len(filter.Key{}) || hex.EncodeToString(b) != name || len(cs.covers) >= cs.coversMax {
					return false, nil //nolint:nilerr // not a name of ours, or one too many: removed
				}
				c := newCover(cs, coverID{q, filter.Key(b)})
				cs.covers[c.id] = c
				return true, c.recover(low, high)
			})
		})
	})
}

// eachDir calls f for each directory in dir, and removes those that f doesn't want to keep, and files.
func (cs *Covers) eachDir(dir string, f func(name, path string) (keep bool, err error)) error {
	list, err := cs.fs.ReadDir(dir)
	if errors.Is(err, vfs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	removed := false
	for _, info := range list {
		path, keep := filepath.Join(dir, info.Name), false
		if info.IsDir {
			if keep, err = f(info.Name, path); err != nil {
				return err
			}
		}
		if !keep {
			removed = true
			if _, err := removeAll(cs.fs, path); err != nil {
				return err
			}
		}
	}
	if removed {
		return cs.fs.SyncDir(dir)
	}
	return nil
}

// recover finds the files of one cover.
func (c *Cover) recover(low, high message.Offset) error {
	list, err := c.covers.fs.ReadDir(c.dir())
	if err != nil {
		return err
	}
	removed := false
	for _, info := range list {
		number, ok := parseName(info.Name)
		if ok && !info.IsDir && c.within(number, low, high) {
			c.onDisk[number] = 0
			c.covers.files.Add(1)
			continue
		}
		removed = true
		if _, err := removeAll(c.covers.fs, filepath.Join(c.dir(), info.Name)); err != nil {
			return err
		}
	}
	if removed {
		return c.covers.fs.SyncDir(c.dir())
	}
	return nil
}

// within says whether a stored block is one of a queue with entries [low, high).
func (c *Cover) within(number int64, low, high message.Offset) bool {
	first := message.Offset(number) * BlockEntries
	switch {
	case first >= high || first+BlockEntries <= low:
		return false
	case first+BlockEntries <= high:
		return true
	}
	b := &block{cover: c, number: number}
	return c.read(b) == nil && b.last.Offset < high
}
