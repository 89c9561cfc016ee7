package verdict

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// pauseTicks is for how many calls of Maintain no file is written after one couldn't be.
const pauseTicks = 3

func (c *Cover) dir() string {
	return filepath.Join(c.covers.dir, c.id.queue.Topic, strconv.Itoa(int(c.id.queue.ID)), hex.EncodeToString(c.id.key[:]))
}

func (c *Cover) path(number int64) string { return filepath.Join(c.dir(), fileName(number)) }

func fileName(number int64) string { return fmt.Sprintf("%020d", number*BlockEntries) }

// parseName is the inverse of fileName.
func parseName(name string) (number int64, ok bool) {
	first, err := strconv.ParseInt(name, 10, 64)
	if err != nil || first < 0 || first%BlockEntries != 0 || fileName(first/BlockEntries) != name {
		return 0, false
	}
	return first / BlockEntries, true
}

// read fills b from its file. c.files is held, as for all below.
func (c *Cover) read(b *block) error {
	data, err := vfs.ReadFile(c.covers.fs, c.path(b.number), blockSize)
	if err != nil {
		return err
	}
	return b.parse(data, c.id.key, c.id.queue.ID)
}

// write writes b's file if it has changed. When that fails, what is in memory stays, and the file doesn't.
func (c *Cover) write(b *block) {
	cs := c.covers
	if c.dead.Load() || cs.closed.Load() || cs.tick.Load() < cs.paused.Load() {
		return
	}
	buffer := cs.buffers.Get().(*[]byte)
	defer cs.buffers.Put(buffer)
	b.mu.Lock()
	if !b.dirty {
		b.mu.Unlock()
		return
	}
	b.dirty = false
	*buffer = b.append((*buffer)[:0], c.id.key, c.id.queue.ID)
	b.mu.Unlock()
	c.mu.Lock()
	_, stored := c.onDisk[b.number]
	c.mu.Unlock()
	if !stored && cs.files.Load() >= cs.filesMax {
		cs.stats.full.Add(1)
		return
	}
	if err := c.writeFile(b.number, *buffer); err != nil {
		cs.failed(err)
		c.removeFile(b.number)
		b.mu.Lock()
		b.dirty = true
		b.mu.Unlock()
		return
	}
	cs.stats.written.Add(1)
	if !stored {
		cs.files.Add(1)
	}
	c.mu.Lock()
	c.onDisk[b.number] = int32(b.decidedCount())
	c.mu.Unlock()
}

func (c *Cover) writeFile(number int64, data []byte) error {
	path := c.path(number)
	f, err := c.covers.fs.Open(path, vfs.Create)
	if errors.Is(err, vfs.ErrNotExist) {
		if err = c.covers.fs.MkdirAll(c.dir()); err == nil {
			f, err = c.covers.fs.Open(path, vfs.Create)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// failed notes that a file couldn't be written, and lets the disk alone for a while.
func (cs *Covers) failed(err error) {
	cs.stats.failed.Add(1)
	cs.paused.Store(cs.tick.Load() + pauseTicks)
	cs.log.Warn("verdicts can't be saved; what isn't saved will be judged again after a restart", slog.Any("error", err))
}

// removeFile removes the file of a block, if there is one.
func (c *Cover) removeFile(number int64) {
	c.mu.Lock()
	_, stored := c.onDisk[number]
	delete(c.onDisk, number)
	c.mu.Unlock()
	if stored {
		c.covers.files.Add(-1)
	}
	if err := c.covers.fs.Remove(c.path(number)); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		c.covers.log.Warn("verdicts can't be removed", slog.Any("error", err)) // their marks will show that they don't count
	}
}

// removeFiles removes the blocks whose number fits, from memory too.
func (c *Cover) removeFiles(fits func(number int64) bool) {
	var numbers []int64
	c.mu.Lock()
	for n := range c.onDisk {
		if fits(n) {
			numbers = append(numbers, n)
		}
	}
	for n, b := range c.blocks {
		if fits(n) {
			b.gone.Store(true)
			delete(c.blocks, n)
		}
	}
	left := len(c.onDisk) - len(numbers)
	c.mu.Unlock()
	for _, n := range numbers {
		c.removeFile(n)
	}
	if left == 0 && len(numbers) > 0 {
		_ = c.covers.fs.Remove(c.dir()) // it is empty, or not ours to judge
	}
}

// expire removes the blocks whose entries are all in front of low.
func (c *Cover) expire(low message.Offset) {
	c.files.Lock()
	defer c.files.Unlock()
	c.removeFiles(func(number int64) bool { return message.Offset(number+1)*BlockEntries <= low })
}

// idle says whether a cover holds nothing.
func (c *Cover) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.onDisk) == 0 && len(c.blocks) == 0
}

// removeTopic removes what is left of a topic's directory, durably.
func (cs *Covers) removeTopic(topic string) error {
	removed, err := removeAll(cs.fs, filepath.Join(cs.dir, topic))
	if removed && err == nil {
		err = cs.fs.SyncDir(cs.dir)
	}
	if err != nil {
		return fmt.Errorf("remove the verdicts of topic %s: %w", topic, err)
	}
	return nil
}

// Remove removes the directory of all verdicts, durably: for a broker that doesn't keep any.
func Remove(fsys vfs.FS, dir string) error {
	removed, err := removeAll(fsys, dir)
	if removed && err == nil {
		err = fsys.SyncDir(filepath.Dir(dir))
	}
	if err != nil {
		return fmt.Errorf("remove the verdicts in %s: %w", dir, err)
	}
	return nil
}

// removeAll removes a file, or a directory with all in it, and says whether there was something.
func removeAll(fsys vfs.FS, path string) (removed bool, err error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, vfs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir {
		list, err := fsys.ReadDir(path)
		if err != nil {
			return false, err
		}
		for _, f := range list {
			if _, err := removeAll(fsys, filepath.Join(path, f.Name)); err != nil {
				return true, err
			}
		}
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return true, err
	}
	return true, nil
}
