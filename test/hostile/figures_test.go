package hostile

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/metrics"
)

// figures are metrics of the broker, by name and labels.
type figures map[string]float64

// fetch reads the metrics of Go and of the process.
func fetch(t *testing.T, addr string) figures {
	t.Helper()
	f := figures{}
	for line := range strings.Lines(metrics.Scrape(t, addr)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && (strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")) {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				f[name] = n
			}
		}
	}
	return f
}

const pauses = "go_sched_pauses_total_gc_seconds_"

// stalls returns how many collections of garbage there were, and how many stopped everything for longer than 10.5 ms: Go counts in steps.
func (f figures) stalls(t *testing.T) (all, long float64) {
	t.Helper()
	within, ok := f[pauses+`bucket{le="0.010485759999999998"}`]
	if !ok {
		t.Fatalf("there is no metric of the pauses up to 10.5 ms: %v", f)
	}
	all = f[pauses+"count"]
	return all, all - within
}

// resident is the memory of the process without the files that it maps, if that is known.
func (f figures) resident() float64 {
	if n := f["anonymous"]; n > 0 {
		return n
	}
	return f["process_resident_memory_bytes"]
}

// anonymous returns the resident bytes of a process that are no file's, 0 where that can't be told.
func anonymous(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			if n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64); err == nil {
				return n * 1024
			}
		}
	}
	return 0
}

func (f figures) heap() float64 { return f["go_memstats_heap_inuse_bytes"] }
