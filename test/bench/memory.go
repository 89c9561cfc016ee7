//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// touchStep is how much memory is asked for at a time.
const touchStep = 256 << 20

// touchMemory touches most of the memory that is free and gives it back. In a virtual machine a page costs a multiple
// when it is touched for the first time, because the host has to find it; a run that writes GiB into the page cache
// would measure that, and the faster broker most of it. It returns how many bytes it has touched.
func touchMemory() int64 {
	var chunks [][]byte
	defer func() {
		for _, c := range chunks {
			_ = syscall.Munmap(c)
		}
	}()
	var touched int64
	for want := freeMemory() / 4 * 3; touched+touchStep <= want; touched += touchStep {
		c, err := syscall.Mmap(-1, 0, touchStep, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
		if err != nil {
			break
		}
		chunks = append(chunks, c)
		if freeMemory() < 2*touchStep {
			break
		}
	}
	return touched
}

// freeMemory is what is used for nothing, not even for caches, in bytes.
func freeMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return parseKiB(string(b), "MemFree:")
}

// parseKiB finds a line of /proc/meminfo or /proc/PID/status and returns its number in bytes, 0 when it isn't there.
func parseKiB(text, name string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			f := strings.Fields(rest)
			if len(f) == 0 {
				return 0
			}
			n, _ := strconv.ParseInt(f[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// anonymous returns the private memory of a process in bytes. Its resident memory holds the files it has mapped as well.
func anonymous(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	return parseKiB(string(b), "RssAnon:")
}
