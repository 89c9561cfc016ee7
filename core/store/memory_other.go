//go:build !linux

package store

// totalMemory is a guess at the machine's memory in bytes, where we don't ask.
func totalMemory() uint64 { return 4 << 30 }
