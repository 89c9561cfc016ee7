// Package storetest has what tests of several packages do with recorded stores.
package storetest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Unpack unpacks a .tar.gz into a temporary directory and returns that. Files keep their modification times, by which RocketMQ looks up
// offsets.
func Unpack(t testing.TB, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		data, err := io.ReadAll(r)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644), os.Chtimes(path, h.ModTime, h.ModTime))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Conf is a broker.conf that a store was recorded with.
type Conf map[string]string

// ReadConf reads a broker.conf.
func ReadConf(t testing.TB, path string) Conf {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := Conf{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			c[key] = value
		}
	}
	return c
}

// Set sets v to the number that the file has for a key, if it has one, divided by unit.
func (c Conf) Set(v *int, key string, unit int) {
	if n, err := strconv.Atoi(c[key]); err == nil {
		*v = n / unit
	}
}
