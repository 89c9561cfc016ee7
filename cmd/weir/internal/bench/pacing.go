package bench

import (
	"sync/atomic"
	"time"
)

// clock counts nanoseconds from the beginning of a run, so that a time fits into an int64 and costs one call.
type clock struct{ start time.Time }

func (c clock) now() int64 { return int64(time.Since(c.start)) + 1 }

// phases are the times of a run: replies that come before warm or after end aren't counted. They are set once, before
// any lane runs, but for the end of a run that counts.
type phases struct {
	warm    int64        // ns
	end     atomic.Int64 // ns; 0 while nobody knows
	limited bool         // left counts
	left    atomic.Int64 // messages still to be asked for
}

// counted says whether a reply at now belongs to the measurement.
func (p *phases) counted(now int64) bool {
	end := p.end.Load()
	return now >= p.warm && (end == 0 || now < end)
}

// more takes n messages of what is left, or says that the run is over.
func (p *phases) more(now, n int64) bool {
	if end := p.end.Load(); end != 0 && now >= end {
		return false
	}
	return !p.limited || p.left.Add(-n) >= 0
}

// share deals out messages of two kinds so that of every k the part f, rounded down, is of the first kind.
type share struct {
	f   float64
	acc float64
}

func (s *share) next() bool {
	if s.f >= 1 {
		return true
	}
	if s.acc += s.f; s.acc >= 1-1e-9 {
		s.acc--
		return true
	}
	return false
}
