package segment

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that no segment holds the position: it is before the first or behind the last segment, or its
	// segment was removed.
	ErrNotFound = errors.New("no segment holds this position")
	// ErrCrossing says that a range does not lie within one segment.
	ErrCrossing = errors.New("range is not within one segment")
	// ErrReadOnly says that the directory was opened for reading.
	ErrReadOnly = errors.New("segments are open read-only")
	// ErrClosed says that Files was closed.
	ErrClosed = errors.New("segments are closed")
)

// LayoutError says that a directory does not hold what it must, and nothing in it was touched. An operator has to act.
type LayoutError struct {
	Dir    string
	Name   string // of the entry at fault
	Reason string // a sentence that says what is wrong and what to do
}

// Error names directory and entry.
func (e *LayoutError) Error() string {
	return fmt.Sprintf("open segments in %s: %s %s", e.Dir, e.Name, e.Reason)
}
