//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Bytes of a segment, and of the record that a message of 1 KiB becomes.
const (
	segmentSize = 1 << 30
	recordSize  = 1024 + 200
)

// rawDisk appends records to a file as a store with sync flush does.
type rawDisk struct {
	file *os.File
	at   int64
}

func openRawDisk(dir string) (*rawDisk, error) {
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		return nil, fmt.Errorf("measure fdatasync: %w", err)
	}
	if err := f.Truncate(segmentSize); err != nil {
		return nil, fmt.Errorf("measure fdatasync: %w", err)
	}
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("measure fdatasync: %w", err)
	}
	return &rawDisk{file: f}, nil
}

// diskSample is one measurement of the bare disk.
type diskSample struct {
	Rate float64 `json:"per_second"`
	CPU  float64 `json:"cpu_us"` // of this process for each append with its sync, nearly all of it the kernel's
}

// measure appends and syncs for a time.
func (r *rawDisk) measure(d time.Duration) (diskSample, error) {
	record := make([]byte, recordSize)
	for i := range record {
		record[i] = byte(i*7 + 1)
	}
	began, used, n := time.Now(), ownCPU(), 0
	for time.Since(began) < d {
		if _, err := r.file.WriteAt(record, r.at); err != nil {
			return diskSample{}, fmt.Errorf("measure fdatasync: %w", err)
		}
		if err := syscall.Fdatasync(int(r.file.Fd())); err != nil {
			return diskSample{}, fmt.Errorf("measure fdatasync: %w", err)
		}
		r.at += recordSize
		n++
	}
	return diskSample{Rate: float64(n) / time.Since(began).Seconds(), CPU: float64((ownCPU() - used).Microseconds()) / float64(n)}, nil
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func (r *rawDisk) close() { _ = r.file.Close() }
