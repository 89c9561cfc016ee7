//go:build unix && !linux

package mmap

// Resident says whether every page of [off, off+n) is in memory at this moment. This system gives no cheap answer, so
// it is always false and callers read with pread.
func (r *Region) Resident(off, n int64) bool { return false }
