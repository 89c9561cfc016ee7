package segment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// tinyDisk mounts a file system of size bytes and returns a directory on it.
func tinyDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
			t.Fatalf("mount a small disk: %v", err)
		}
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(dir, "commitlog")
}

// TestFullDisk fills a real disk through sparse segments. What must hold: the write that does not fit is ENOSPC and not a
// fault, everything before it stays readable, and the same write succeeds once there is room again.
func TestFullDisk(t *testing.T) {
	const size = 64 << 10
	f := open(t, vfs.OS{}, tinyDisk(t, "128k"), size, Options{})
	create(t, f, 4) // twice the disk
	block := bytes.Repeat([]byte("weir"), 1024)
	pos := int64(0)
	var err error
	for ; pos < f.End(); pos += int64(len(block)) {
		if err = f.WriteAt(pos, block); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || pos < size || pos > 2*size {
		t.Fatalf("after %d bytes: %v", pos, err)
	}
	if err := f.Datasync(0, pos); err != nil {
		t.Fatal(err)
	}
	held, err := f.View(0, len(block))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.RemoveBefore(size); n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	if !bytes.Equal(held.Bytes(), block) {
		t.Fatal("held bytes changed")
	}
	if err := f.WriteAt(pos, block); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("room came back while the removed segment is still held: %v", err)
	}
	held.Release()
	if err := f.WriteAt(pos, block); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	for at := int64(size); at <= pos; at += int64(len(block)) {
		v, err := f.View(at, len(block))
		if err != nil || !bytes.Equal(v.Bytes(), block) {
			t.Fatalf("bytes at %d: %v", at, err)
		}
		v.Release()
	}
}

func TestAllocateOnAFullDisk(t *testing.T) {
	f := open(t, vfs.OS{}, tinyDisk(t, "128k"), 100<<10, Options{Allocate: true})
	create(t, f, 1)
	if _, err := f.Create(f.End()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("second segment: %v", err)
	}
	if got := names(t, vfs.OS{}, f.Dir()); got != FileName(0) {
		t.Fatalf("directory holds %q", got)
	}
	write(t, f, 0, string(make([]byte, 100<<10)))
}
