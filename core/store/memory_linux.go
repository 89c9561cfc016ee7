package store

import "syscall"

// totalMemory is the machine's memory in bytes.
func totalMemory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return fallbackMemory
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}

const fallbackMemory = 4 << 30
