//go:build unix

package mmap

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func mapped(t *testing.T, size int64) (*os.File, *Region) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	r, err := Map(f, size)
	if err != nil {
		t.Fatal(err)
	}
	return f, r
}

func TestPwriteShowsInMapping(t *testing.T) {
	f, r := mapped(t, 3*pageSize)
	defer r.Close()
	if _, err := f.WriteAt([]byte("weir"), pageSize-2); err != nil {
		t.Fatal(err)
	}
	if got := r.Bytes()[pageSize-2 : pageSize+2]; !bytes.Equal(got, []byte("weir")) {
		t.Fatalf("mapping holds %q", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.Bytes()[pageSize]; got != 'i' {
		t.Fatalf("after closing the file the mapping holds %q", got)
	}
}

func TestResident(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("residency is only known on Linux")
	}
	f, r := mapped(t, 300*pageSize+10)
	defer r.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{1}, int(2*pageSize)), 0); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		off, n int64
		want   bool
	}{
		{"just written", 0, 2 * pageSize, true},
		{"inside a page", 100, 7, true},
		{"hole never touched", 290 * pageSize, pageSize, false},
		{"written and hole", 0, 300 * pageSize, false},
		{"empty", 5 * pageSize, 0, true},
		{"past the end", 300 * pageSize, 11, false},
		{"negative", -1, 5, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := r.Resident(c.off, c.n); got != c.want {
				t.Fatalf("Resident(%d, %d) = %v, want %v", c.off, c.n, got, c.want)
			}
		})
	}
	sum := 0
	for _, b := range r.Bytes() {
		sum += int(b)
	}
	if want := int(2 * pageSize); sum != want {
		t.Fatalf("bytes add up to %d, want %d", sum, want)
	}
	if !r.Resident(0, 300*pageSize+10) {
		t.Fatal("a mapping read from end to end is not resident")
	}
}

func TestAdvise(t *testing.T) {
	_, r := mapped(t, 4*pageSize+1)
	for _, a := range []Advice{Normal, Random, Sequential, WillNeed, DontNeed} {
		if err := r.Advise(pageSize+1, 3*pageSize, a); err != nil {
			t.Errorf("advice %d: %v", a, err)
		}
	}
	if err := r.Advise(4*pageSize, 2, Normal); err == nil {
		t.Error("advice outside the region was accepted")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Advise(0, 1, Normal); !errors.Is(err, ErrClosed) {
		t.Errorf("advice after Close: %v", err)
	}
	if err := r.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func TestMapRefusesBadSize(t *testing.T) {
	f, r := mapped(t, pageSize)
	defer r.Close()
	for _, size := range []int64{0, -1} {
		if _, err := Map(f, size); err == nil {
			t.Errorf("size %d was accepted", size)
		}
	}
}

func BenchmarkResident(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		b.Fatal(err)
	}
	r, err := Map(f, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	b.ReportAllocs()
	for b.Loop() {
		if !r.Resident(4096, 32<<10) {
			b.Fatal("not resident")
		}
	}
}
