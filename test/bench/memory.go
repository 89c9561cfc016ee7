//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// parseKiB finds a line of /proc/PID/status and returns its number in bytes, 0 when it isn't there.
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
