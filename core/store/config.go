package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// The flush modes.
const (
	FlushAsync = "async"
	FlushSync  = "sync"
)

// Config is the `store` section of broker.yaml.
type Config struct {
	// Flush says when a message is acknowledged: "async" once the system has it (a killed process loses nothing, a power
	// cut up to flush_interval), "sync" once the disk has it.
	Flush string `yaml:"flush"`
	// FlushInterval is how often written messages are flushed to the disk with flush: async. Default 500ms.
	FlushInterval time.Duration `yaml:"flush_interval"`
	// SegmentSize is the size of a commit log file. An existing store keeps the size it was made with, and a replica must
	// use its master's. Default 1GiB, at most 2GiB-1.
	SegmentSize plugin.Size `yaml:"segment_size"`
	// ConsumeQueueEntries is the number of entries in a consume queue file, 20 bytes each. An existing store keeps the
	// number it was made with. Default 300000.
	ConsumeQueueEntries int `yaml:"consume_queue_entries"`
	// ConsumeQueueExt writes RocketMQ's extension of the consume queues (consumequeue_ext): the tag and time of each message,
	// and a Bloom bitmap of the SQL92 filters that accept it, by which a Java broker with enableConsumeQueueExt passes over
	// messages without reading them. It is for stores that go back to such a broker. What a store has of it is read in any
	// case. Default false.
	ConsumeQueueExt bool `yaml:"consume_queue_ext"`
	// MaxMessageSize is the largest message body, or batch of messages, that is accepted. Default 4MiB.
	MaxMessageSize plugin.Size `yaml:"max_message_size"`
	// WriteBuffer is how much may wait to be written; twice this much memory is used at most. Default 8MiB.
	WriteBuffer plugin.Size `yaml:"write_buffer"`
	// WriteWait is how long a send waits for room in the write buffer before it is refused as busy. Default 1s.
	WriteWait time.Duration `yaml:"write_wait"`
	// ReservedTime is how long messages are kept. Segments whose last change is older are deleted, at the hours of
	// DeleteAt or when the disk is fuller than DiskMaxUsed. Default 72h.
	ReservedTime time.Duration `yaml:"reserved_time"`
	// DeleteAt lists the hours of the day, local time, at which expired segments are deleted. Default [4].
	DeleteAt []int `yaml:"delete_at"`
	// DiskMaxUsed is the used part of the disk, 0 to 1, above which expired segments are deleted at any hour. Default 0.75.
	DiskMaxUsed float64 `yaml:"disk_max_used"`
	// DiskClean is the used part of the disk above which the oldest segments are deleted although they aren't expired.
	// 0 or 1 switches that off. Default 0.85.
	DiskClean float64 `yaml:"disk_clean"`
	// DiskRefuse is the used part of the disk above which messages are refused. 1 switches that off. Default 0.90.
	DiskRefuse float64 `yaml:"disk_refuse"`
	// Index is the key index, by which messages are found by their keys and unique keys.
	Index IndexConfig `yaml:"index"`
}

// IndexConfig is store.index.
type IndexConfig struct {
	// Enabled keeps the index. Off, its files stay as they are, and queries by key are refused. Default true.
	Enabled bool `yaml:"enabled"`
	// Slots is how many chains a file has, 4 bytes each. An existing index keeps the number that it was made with. Default 5000000.
	Slots int `yaml:"slots"`
	// Entries is how many keys a file holds, less one, 20 bytes each. A message has one or more. An existing index keeps the number that it was made
	// with. Default 20000000.
	Entries int `yaml:"entries"`
}

// DefaultConfig returns RocketMQ's defaults.
func DefaultConfig() Config {
	return Config{
		Flush:               FlushAsync,
		FlushInterval:       500 * time.Millisecond,
		SegmentSize:         1 * plugin.GiB,
		ConsumeQueueEntries: 300000,
		MaxMessageSize:      4 * plugin.MiB,
		WriteBuffer:         8 * plugin.MiB,
		WriteWait:           time.Second,
		ReservedTime:        72 * time.Hour,
		DeleteAt:            []int{4},
		DiskMaxUsed:         0.75,
		DiskClean:           0.85,
		DiskRefuse:          0.90,
		Index:               IndexConfig{Enabled: true, Slots: 5_000_000, Entries: 20_000_000},
	}
}

// minSegmentSize leaves room for a few small records; RocketMQ runs with as little.
const minSegmentSize = 1024

// Validate reports everything that is wrong, each with its key below `store`.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Flush == FlushAsync || c.Flush == FlushSync, "flush: %q is unknown; choose async or sync", c.Flush)
	bad(c.FlushInterval >= time.Millisecond && c.FlushInterval <= time.Hour,
		"flush_interval: %s is not between 1ms and 1h", c.FlushInterval)
	bad(c.SegmentSize >= minSegmentSize && c.SegmentSize <= math.MaxInt32,
		"segment_size: %d is not between %d and %d bytes", c.SegmentSize, minSegmentSize, math.MaxInt32)
	bad(c.ConsumeQueueEntries >= 1 && c.ConsumeQueueEntries <= math.MaxInt32/message.EntrySize,
		"consume_queue_entries: %d is not between 1 and %d", c.ConsumeQueueEntries, math.MaxInt32/message.EntrySize)
	bad(c.MaxMessageSize >= 10 && c.MaxMessageSize <= message.MaxRecordSize-message.MaxRecordOverhead,
		"max_message_size: %d is not between 10 and %d bytes", c.MaxMessageSize, message.MaxRecordSize-message.MaxRecordOverhead)
	bad(c.WriteBuffer >= 64*plugin.KiB && c.WriteBuffer <= plugin.GiB,
		"write_buffer: %d is not between 64KiB and 1GiB", c.WriteBuffer)
	bad(c.WriteWait >= 0 && c.WriteWait <= time.Minute, "write_wait: %s is not between 0s and 1m", c.WriteWait)
	bad(c.ReservedTime >= time.Minute, "reserved_time: %s is less than 1m", c.ReservedTime)
	for _, h := range c.DeleteAt {
		bad(h >= 0 && h <= 23, "delete_at: %d is not an hour from 0 to 23", h)
	}
	for _, r := range []struct {
		key   string
		ratio float64
	}{{"disk_max_used", c.DiskMaxUsed}, {"disk_clean", c.DiskClean}, {"disk_refuse", c.DiskRefuse}} {
		bad(r.ratio >= 0 && r.ratio <= 1, "%s: %v is not between 0 and 1", r.key, r.ratio)
	}
	bad(c.Index.Slots >= 1 && c.Index.Slots <= 1<<28, "index.slots: %d is not between 1 and %d", c.Index.Slots, 1<<28)
	bad(c.Index.Entries >= 2 && c.Index.Entries <= 100_000_000, "index.entries: %d is not between 2 and 100000000", c.Index.Entries)
	return errors.Join(errs...)
}
