package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// clockTick is USER_HZ, the unit of CPU times in /proc; it is 100 on every Linux that Go runs on.
const clockTick = 100

// Process is what a process used while it was measured.
type Process struct {
	PID int `json:"pid"`
	// CPUSeconds is user and system time.
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUMicrosPerMessage is that for each message, or for each entry where only a few of those scanned matched.
	CPUMicrosPerMessage float64 `json:"cpu_us_per_message,omitempty"`
	CPUMicrosPerEntry   float64 `json:"cpu_us_per_entry,omitempty"`
	// Resident memory at the end, and the part of it that isn't mapped files: those are the system's cache, counted for
	// whoever has them mapped.
	ResidentBytes  int64 `json:"resident_bytes"`
	AnonymousBytes int64 `json:"anonymous_bytes,omitempty"`
}

// usage is a reading of /proc.
type usage struct {
	ticks     int64
	resident  int64
	anonymous int64
}

// readUsage reads what process pid has used so far.
func readUsage(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("sample process %d: %w", pid, err)
	}
	u, err := parseStat(stat)
	if err != nil {
		return u, fmt.Errorf("sample process %d: %w", pid, err)
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		u.anonymous = parseAnonymous(status)
	}
	return u, nil
}

// parseAnonymous finds RssAnon in /proc/PID/status; 0 when it isn't there.
func parseAnonymous(status []byte) int64 {
	_, rest, ok := bytes.Cut(status, []byte("RssAnon:"))
	if !ok {
		return 0
	}
	var kib int64
	if _, err := fmt.Sscan(string(rest[:min(len(rest), 32)]), &kib); err != nil {
		return 0
	}
	return kib << 10
}

// parseStat reads a line of /proc/PID/stat. The second field is the command in parentheses, which may hold anything.
func parseStat(stat []byte) (usage, error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return usage{}, fmt.Errorf("no command in %q", stat)
	}
	f := bytes.Fields(stat[end+1:]) // f[0] is field 3
	const utime, stime, rss = 14 - 3, 15 - 3, 24 - 3
	if len(f) <= rss {
		return usage{}, fmt.Errorf("%d fields only", len(f)+2)
	}
	var n [3]int64
	for i, at := range []int{utime, stime, rss} {
		v, err := strconv.ParseInt(string(f[at]), 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("field %d: %w", at+3, err)
		}
		n[i] = v
	}
	return usage{ticks: n[0] + n[1], resident: n[2] * int64(os.Getpagesize())}, nil
}

// since says what was used between two readings.
func (u usage) since(before usage, pid int, messages, entries int64) *Process {
	p := &Process{PID: pid, CPUSeconds: float64(u.ticks-before.ticks) / clockTick, ResidentBytes: u.resident, AnonymousBytes: u.anonymous}
	if messages > 0 {
		p.CPUMicrosPerMessage = p.CPUSeconds * 1e6 / float64(messages)
	}
	if entries > messages {
		p.CPUMicrosPerEntry = p.CPUSeconds * 1e6 / float64(entries)
	}
	return p
}

// sampler reads the broker's and our own usage at both ends of a measurement.
type sampler struct {
	pid          int // of the broker, 0 for none
	broker, self usage
	err          error
}

func (s *sampler) begin() {
	s.self, _ = readUsage(os.Getpid())
	if s.pid > 0 {
		s.broker, s.err = readUsage(s.pid)
	}
}

// end adds the usage to r.
func (s *sampler) end(r *Result) error {
	if self, err := readUsage(os.Getpid()); err == nil {
		r.Client = self.since(s.self, os.Getpid(), r.Messages, r.Entries)
	}
	if s.pid == 0 || s.err != nil {
		return s.err
	}
	now, err := readUsage(s.pid)
	if err != nil {
		return err
	}
	r.Broker = now.since(s.broker, s.pid, r.Messages, r.Entries)
	return nil
}
