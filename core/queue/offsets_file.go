package queue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// The offsets file is RocketMQ's config/consumerOffset.json, which fastjson writes: bare integers as keys, on one line,
// and the closing brace on the next. It must not change, for Java reads it too.
//
//	{
//		"offsetTable":{
//			"%RETRY%CID_pay@CID_pay":{0:3
//			},
//			"OrderTopic@CID_pay":{0:250,1:248
//			}
//		}
//	}

// offsetFile is the state of saving.
type offsetFile struct {
	mu         sync.Mutex // guards all below; held while a save is under way
	made       bool       // the directory is there
	complained time.Time  // when a failure was logged last
}

// saveComplaintInterval bounds the log of a disk that stays full.
const saveComplaintInterval = time.Minute

// Load reads the file, or its .bak when the file can't be used, into the empty table. No file is no offsets.
func (o *Offsets) Load() error {
	source, err := vfs.ReadFileOrBak(o.set.FS, o.set.Path, o.decode)
	if err != nil {
		return fmt.Errorf("load consumer offsets: %w", err)
	}
	if source == vfs.SourceBackup {
		o.set.Logger.Warn("consumer offsets come from the backup: the file itself can't be used", "file", o.set.Path)
	}
	for i := range o.shards {
		o.shards[i].dirty.Store(false)
	}
	return nil
}

// Start begins to save changed offsets at the configured interval.
func (o *Offsets) Start() {
	o.loop.Every(o.set.Clock, o.set.Config.OffsetsSaveInterval, func() {
		if err := o.Save(); err != nil {
			o.complain(err)
		}
	})
}

// Stop ends that and saves a last time.
func (o *Offsets) Stop(ctx context.Context) error { return errors.Join(o.loop.Stop(ctx), o.Save()) }

// Save writes the file if an offset has changed since it was last written. When it fails, a full disk for example, the
// offsets are safe in memory and the next save tries again.
func (o *Offsets) Save() error {
	o.file.mu.Lock()
	defer o.file.mu.Unlock()
	dirty := false
	for i := range o.shards {
		dirty = o.shards[i].dirty.Swap(false) || dirty
	}
	if !dirty {
		return nil
	}
	data, err := o.encode()
	if err == nil {
		err = o.write(data)
	}
	if err != nil {
		o.shards[0].dirty.Store(true)
		return fmt.Errorf("save consumer offsets: %w", err)
	}
	return nil
}

func (o *Offsets) write(data []byte) error {
	if !o.file.made {
		if err := vfs.MkdirAllSync(o.set.FS, filepath.Dir(o.set.Path)); err != nil {
			return err
		}
		o.file.made = true
	}
	return vfs.WriteFileAtomic(o.set.FS, o.set.Path, data)
}

func (o *Offsets) complain(err error) {
	now := o.set.Clock.Now()
	o.file.mu.Lock()
	quiet := !o.file.complained.IsZero() && now.Sub(o.file.complained) < saveComplaintInterval
	if !quiet {
		o.file.complained = now
	}
	o.file.mu.Unlock()
	if !quiet {
		o.set.Logger.Error("consumer offsets stay in memory until they can be saved", "error", err)
	}
}

// offsetTable is the file's content.
type offsetTable struct {
	OffsetTable map[string]map[message.QueueID]message.Offset `json:"offsetTable"`
}

func (o *Offsets) encode() ([]byte, error) {
	t := offsetTable{map[string]map[message.QueueID]message.Offset{}}
	o.each(func(k progressKey, p *progress) {
		if values := p.values(); len(values) > 0 {
			t.OffsetTable[k.String()] = values
		}
	})
	return fastjson.AppendFile(nil, t)
}

// decode fills the table from a file's content. It leaves the table alone when it fails.
func (o *Offsets) decode(data []byte) error {
	var f offsetTable
	if err := fastjson.Unmarshal(data, &f); err != nil {
		return err
	}
	for name, offsets := range f.OffsetTable {
		topic, group, ok := strings.Cut(name, "@")
		if !ok {
			o.set.Logger.Warn("skip consumer offsets: the name isn't topic@group", "name", name)
			continue
		}
		k := progressKey{topic: topic, group: group}
		s := o.shard(k)
		for id, at := range offsets {
			o.cell(s, k, id).Store(int64(at))
		}
	}
	return nil
}
