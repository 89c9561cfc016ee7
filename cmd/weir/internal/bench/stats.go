package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The histograms hold 1 µs to 60 s with three digits.
const (
	lowest  = int64(time.Microsecond)
	highest = int64(time.Minute)
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, 3) }

// tally is what one lane has counted. It belongs to the goroutine that runs the lane.
type tally struct {
	requests int64
	messages int64
	bytes    int64 // bodies sent, or records received
	entries  int64 // consumed offsets, those of filtered messages included
	failed   int64 // messages
	errors   map[string]int64
	first    int64 // when the first and last counted reply came, ns
	last     int64
	latency  *hdrhistogram.Histogram
}

func newTally() tally { return tally{errors: map[string]int64{}, latency: newHistogram()} }

// record counts one reply.
func (t *tally) record(now, since int64, messages, bytes int64) {
	t.requests++
	t.messages += messages
	t.bytes += bytes
	t.stamp(now)
	_ = t.latency.RecordValue(max(lowest, min(now-since, highest)))
}

func (t *tally) stamp(now int64) {
	if t.first == 0 {
		t.first = now
	}
	t.last = now
}

// fail counts a request that failed.
func (t *tally) fail(what string, messages int64) {
	t.failed += messages
	t.errors[what]++
}

// merge adds other to t.
func (t *tally) merge(other *tally) {
	t.requests += other.requests
	t.messages += other.messages
	t.bytes += other.bytes
	t.entries += other.entries
	t.failed += other.failed
	for k, n := range other.errors {
		t.errors[k] += n
	}
	if other.first != 0 && (t.first == 0 || other.first < t.first) {
		t.first = other.first
	}
	t.last = max(t.last, other.last)
	t.latency.Merge(other.latency)
}

// Latency is the distribution of one kind of latency, in microseconds.
type Latency struct {
	P50  float64 `json:"p50_us"`
	P90  float64 `json:"p90_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
	Max  float64 `json:"max_us"`
	Mean float64 `json:"mean_us"`
}

func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1000, Mean: h.Mean() / 1000}
}

// Result is what one measurement found.
type Result struct {
	Mode string `json:"mode"` // produce or consume
	// Settings repeats what was asked for, so that a file of results explains itself.
	Settings map[string]any `json:"settings"`
	Seconds  float64        `json:"seconds"`
	Requests int64          `json:"requests"`
	Messages int64          `json:"messages"`
	Bytes    int64          `json:"bytes"`
	Rate     float64        `json:"messages_per_second"`
	MBRate   float64        `json:"mb_per_second"`
	// Latency of requests: from the write, or in an open loop from when they were due, to the reply.
	Latency Latency `json:"latency"`
	// EndToEnd is from the producer's write to the consumer's receipt, where both are in one run.
	EndToEnd *Latency         `json:"end_to_end,omitempty"`
	Failed   int64            `json:"failed"`
	Errors   map[string]int64 `json:"errors,omitempty"`
	// Stored is by how much the queues grew in the whole run, warm-up included: what one-way sends are judged by.
	Stored int64 `json:"stored,omitempty"`
	// Entries is how far the consumed offsets went: with a filter, more than the messages.
	Entries     int64   `json:"entries,omitempty"`
	EntriesRate float64 `json:"entries_per_second,omitempty"`
	// Late is how many messages of an open loop were never sent, because too many were in flight.
	Late   int64    `json:"unsent,omitempty"`
	Broker *Process `json:"broker,omitempty"`
	Client *Process `json:"client,omitempty"`
}

// result turns a tally into figures. seconds is the measured time, 0 for that between the first and the last reply.
func (t *tally) result(mode string, seconds float64) *Result {
	if seconds <= 0 {
		seconds = max(float64(t.last-t.first)/1e9, 1e-6)
	}
	r := &Result{Mode: mode, Seconds: seconds, Requests: t.requests, Messages: t.messages, Bytes: t.bytes,
		Rate: float64(t.messages) / seconds, MBRate: float64(t.bytes) / 1e6 / seconds, Latency: latencyOf(t.latency),
		Failed: t.failed, Errors: t.errors, Entries: t.entries}
	if t.entries > 0 {
		r.EntriesRate = float64(t.entries) / seconds
	}
	return r
}
