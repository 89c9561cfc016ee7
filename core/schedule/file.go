package schedule

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// The file is RocketMQ's config/delayOffset.json: for each level the offset of the message that is delivered next.
//
//	{
//		"offsetTable":{3:12,18:2
//		}
//	}

// offsetTable is the file's content. It must not change, for Java reads it too.
type offsetTable struct {
	OffsetTable map[int]int64 `json:"offsetTable"`
}

// offsetsFile is the state of saving.
type offsetsFile struct {
	mu    sync.Mutex    // guards all below; held while a save is under way
	saved map[int]int64 // nil before the first
	other map[int]int64 // levels that the table doesn't have (any more): they keep their place in the file
}

// load reads the file, or its .bak when the file can't be used. No file means that every level is at its queue's beginning.
func (d *Delays) load() error {
	var t offsetTable
	source, err := vfs.ReadFileOrBak(d.set.FS, d.set.Path, func(data []byte) error {
		t = offsetTable{}
		return fastjson.Unmarshal(data, &t)
	})
	if err != nil {
		return fmt.Errorf("load the progress of delayed messages: %w; remove the file to deliver again what is still in the queues of %s", err, message.TopicSchedule)
	}
	if source == vfs.SourceBackup {
		d.set.Logger.Warn("the progress of delayed messages comes from the backup: the file itself can't be used", "file", d.set.Path)
	}
	d.file.mu.Lock()
	defer d.file.mu.Unlock()
	d.file.saved, d.file.other = t.OffsetTable, map[int]int64{}
	for level, at := range t.OffsetTable {
		if level < 1 || level > len(d.lanes) {
			d.file.other[level] = at
			continue
		}
		d.lanes[level-1].next.Store(max(0, at))
	}
	d.warnOfLevelsBeyond()
	return nil
}

// warnOfLevelsBeyond tells of messages that wait in levels that the table doesn't have.
func (d *Delays) warnOfLevelsBeyond() {
	for level := len(d.lanes) + 1; level <= max(message.MaxDelayLevel, len(d.lanes)); level++ {
		if _, high, ok := d.set.Log.Bounds(Queue(level)); ok && int64(high) > d.file.other[level] {
			d.set.Logger.Warn("delayed messages wait in a level that schedule.levels doesn't have; they are delivered when it does", "level", level,
				"messages", int64(high)-d.file.other[level])
		}
	}
}

// Save writes the file if something has changed. What was delivered is made durable before: a power cut must not keep the progress and take the
// messages. When it fails, the next save tries again.
func (d *Delays) Save() error {
	d.file.mu.Lock()
	defer d.file.mu.Unlock()
	t, changed := d.tableLocked()
	if !changed {
		return nil
	}
	err := d.set.Log.Flush()
	var data []byte
	if err == nil {
		data, err = fastjson.AppendFile(nil, t)
	}
	if err == nil {
		err = vfs.MkdirAllSync(d.set.FS, filepath.Dir(d.set.Path))
	}
	if err == nil {
		err = vfs.WriteFileAtomic(d.set.FS, d.set.Path, data)
	}
	if err != nil {
		return fmt.Errorf("save the progress of delayed messages: %w", err)
	}
	d.file.saved = t.OffsetTable
	return nil
}

// tableLocked returns the file's content of now, and whether it differs from what was saved.
func (d *Delays) tableLocked() (t offsetTable, changed bool) {
	t.OffsetTable = map[int]int64{}
	for level, at := range d.file.other {
		t.OffsetTable[level] = at
	}
	for _, l := range d.lanes {
		at := l.next.Load()
		if _, _, known := d.set.Log.Bounds(l.queue); !known && at == 0 {
			continue
		}
		t.OffsetTable[l.level] = at
		if old, ok := d.file.saved[l.level]; !ok || old != at {
			changed = true
		}
	}
	return t, changed
}

// File returns the file's content of now, in one line, as brokers send it to each other.
func (d *Delays) File() ([]byte, error) {
	d.file.mu.Lock()
	defer d.file.mu.Unlock()
	t, _ := d.tableLocked()
	return fastjson.Append(nil, t)
}
