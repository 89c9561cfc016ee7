package remoting

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// report writes the log lines that peers can cause, at most one a second for all of them together: a stream of bad
// frames must not fill a disk. What is left out is counted and added to the next line.
type report struct {
	log *slog.Logger
	now func() time.Time

	mu         sync.Mutex // guards all below
	last       time.Time
	suppressed int
}

// peer logs one event about a peer, or counts it.
func (r *report) peer(level slog.Level, event string, attrs ...any) {
	now := r.now()
	r.mu.Lock()
	if !r.last.IsZero() && now.Sub(r.last) < time.Second {
		r.suppressed++
		r.mu.Unlock()
		return
	}
	r.last = now
	left := r.suppressed
	r.suppressed = 0
	r.mu.Unlock()
	if left > 0 {
		attrs = append(attrs, "left_out", left)
	}
	r.log.Log(context.Background(), level, event, attrs...)
}
