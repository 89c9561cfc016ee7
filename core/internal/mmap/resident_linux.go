package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// residentStep is how many pages one mincore call asks about; the answer lives on the stack.
const residentStep = 256

// Resident says whether every page of [off, off+n) is in memory at this moment, so that reading it will not wait for
// the disk. It costs one system call for each MiB. The answer may be out of date when it arrives; a wrong "yes" costs a
// page fault, a wrong "no" a pread. It is false for a range outside the region and true for an empty one.
func (r *Region) Resident(off, n int64) bool {
	pages, err := r.pages(off, n)
	if err != nil {
		return false
	}
	var state [residentStep]byte
	for len(pages) > 0 {
		step := min(int64(len(pages)), residentStep*pageSize)
		_, _, errno := unix.Syscall(unix.SYS_MINCORE,
			uintptr(unsafe.Pointer(unsafe.SliceData(pages))), uintptr(step), uintptr(unsafe.Pointer(&state[0])))
		if errno != 0 {
			return false
		}
		for _, s := range state[:(step+pageSize-1)/pageSize] {
			if s&1 == 0 {
				return false
			}
		}
		pages = pages[step:]
	}
	return true
}
