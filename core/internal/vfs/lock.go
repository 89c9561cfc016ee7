package vfs

import "fmt"

// LockedError says who holds a process lock. errors.Is(err, ErrLocked) holds.
type LockedError struct {
	Path string
	PID  int  // of the holder; 0 when the system does not tell
	Self bool // this process holds it already
}

// Error names the file and, as far as known, the process.
func (e *LockedError) Error() string {
	switch {
	case e.Self:
		return fmt.Sprintf("lock %s: this process holds it already; close the store that uses this directory first", e.Path)
	case e.PID > 0:
		return fmt.Sprintf("lock %s: process %d holds it; stop that broker or choose another data directory", e.Path, e.PID)
	default:
		return fmt.Sprintf("lock %s: another process holds it; stop that broker or choose another data directory", e.Path)
	}
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// lockContent is what RocketMQ writes into a lock file. It must not change.
const lockContent = "lock"
