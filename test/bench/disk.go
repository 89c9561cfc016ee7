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

// rate appends and syncs for a time and returns how often in a second.
func (r *rawDisk) rate(d time.Duration) (float64, error) {
	record := make([]byte, recordSize)
	for i := range record {
		record[i] = byte(i*7 + 1)
	}
	began, n := time.Now(), 0
	for time.Since(began) < d {
		if _, err := r.file.WriteAt(record, r.at); err != nil {
			return 0, fmt.Errorf("measure fdatasync: %w", err)
		}
		if err := syscall.Fdatasync(int(r.file.Fd())); err != nil {
			return 0, fmt.Errorf("measure fdatasync: %w", err)
		}
		r.at += recordSize
		n++
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func (r *rawDisk) close() { _ = r.file.Close() }
