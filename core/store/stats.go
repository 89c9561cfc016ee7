package store

import (
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// Latency buckets of appends, as in RocketMQ's runtime info: an append counts in the first bucket whose limit it doesn't
// reach, else in the last.
var latencyLimits = [...]time.Duration{
	time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second,
	10 * time.Second,
}

// LatencyBuckets is the number of buckets in Stats.Latency.
const LatencyBuckets = len(latencyLimits) + 1

// LatencyNames are RocketMQ's names of the buckets.
func LatencyNames() [LatencyBuckets]string {
	return [...]string{"[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]", "[500ms~1s]",
		"[1~2s]", "[2~3s]", "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]"}
}

// counters count for ever.
type counters struct {
	messages, bytes, refused, busy atomic.Int64
	slowest                        atomic.Int64 // ns
	latency                        [LatencyBuckets]atomic.Int64
}

// stored counts what was written.
func (c *counters) stored(t *tail) {
	c.messages.Add(int64(t.count))
	c.bytes.Add(int64(len(t.bytes)))
}

// took counts how long a batch has taken.
func (c *counters) took(d time.Duration) {
	i := 0
	for i < len(latencyLimits) && d >= latencyLimits[i] {
		i++
	}
	c.latency[i].Add(1)
	for old := c.slowest.Load(); int64(d) > old && !c.slowest.CompareAndSwap(old, int64(d)); old = c.slowest.Load() {
	}
}

// Stats is a picture of a store for metrics and runtime info. Counts are since Open.
type Stats struct {
	Begin, End        message.Position
	Segments          int
	Queues            int
	FlushBehind       int64 // bytes that are written and not flushed
	DispatchBehind    int64 // bytes that are written and not dispatched
	Messages          int64 // stored
	Bytes             int64 // written to the log
	Refused           int64 // messages that were not stored
	Busy              int64 // batches that were refused because the write buffer was full
	SlowestAppend     time.Duration
	Latency           [LatencyBuckets]int64 // appends by how long they took
	LastStoreTime     int64                 // ms
	EarliestStoreTime int64                 // ms, of the first record of the log; 0 without one
	LogDir            string                // of the segments
	Disk              vfs.DiskUsage         // of the log's disk; zero when it can't be told
}

// LatencyPercentile returns within which time the fastest part of the appends, from 0 to 1, was done, as exactly as the
// buckets tell: it is the limit of a bucket, but never more than the slowest append took.
func (s *Stats) LatencyPercentile(part float64) time.Duration {
	var all, seen int64
	for _, n := range s.Latency {
		all += n
	}
	for i, limit := range latencyLimits {
		if seen += s.Latency[i]; float64(seen) >= part*float64(all) {
			return min(limit, s.SlowestAppend)
		}
	}
	return s.SlowestAppend
}

// Stats returns the present numbers. It asks the system about the disk.
func (s *Store) Stats() Stats {
	disk, _ := s.fs.DiskUsage(s.dir)
	st := Stats{
		Begin: s.Begin(), End: s.End(), Segments: len(s.log.List()), Queues: len(s.Queues()),
		FlushBehind:    s.committed.Load() - s.durable.Load(),
		DispatchBehind: s.committed.Load() - s.dispatched.Load(),
		Messages:       s.stats.messages.Load(), Bytes: s.stats.bytes.Load(),
		Refused: s.stats.refused.Load(), Busy: s.stats.busy.Load(),
		SlowestAppend: time.Duration(s.stats.slowest.Load()),
		LastStoreTime: s.committedTime.Load(), EarliestStoreTime: firstStoreTime(s.log, s.log.Min()), Disk: disk,
		LogDir: filepath.Join(s.dir, "commitlog"),
	}
	for i := range st.Latency {
		st.Latency[i] = s.stats.latency[i].Load()
	}
	return st
}
