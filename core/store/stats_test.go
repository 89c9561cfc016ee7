package store

import (
	"testing"
	"time"
)

func TestLatencyPercentile(t *testing.T) {
	for _, c := range []struct {
		name    string
		buckets map[int]int64
		slowest time.Duration
		part    float64
		want    time.Duration
	}{
		{"nothing yet", nil, 0, 0.99, 0},
		{"all in the first bucket", map[int]int64{0: 10}, 300 * time.Microsecond, 0.99, 300 * time.Microsecond},
		{"the slow one is beyond the part", map[int]int64{0: 99, 4: 1}, 150 * time.Millisecond, 0.99, time.Millisecond},
		{"the slow one is within the part", map[int]int64{0: 99, 4: 1}, 150 * time.Millisecond, 0.999, 150 * time.Millisecond},
		{"a whole bucket", map[int]int64{0: 1, 1: 99, 8: 1}, 2500 * time.Millisecond, 0.9, 10 * time.Millisecond},
		{"slower than all limits", map[int]int64{LatencyBuckets - 1: 1}, time.Minute, 0.5, time.Minute},
	} {
		s := Stats{SlowestAppend: c.slowest}
		for i, n := range c.buckets {
			s.Latency[i] = n
		}
		if got := s.LatencyPercentile(c.part); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
