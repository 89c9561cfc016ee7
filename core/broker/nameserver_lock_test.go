package broker

import (
	"errors"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// Two name servers on one directory would overwrite each other's KV table: the second doesn't start.
func TestNameServersShareNoDirectory(t *testing.T) {
	w := newWorld()
	n := w.start(t)
	alone, err := NewNameServer(n.b.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Start(t.Context()); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a second name server on the directory: %v; want that the lock is held", err)
	}
}
