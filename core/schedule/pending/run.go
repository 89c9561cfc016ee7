package pending

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
)

// A run's file is blocks of 4096 bytes, each full but the last:
//
//	0   magic   8     "weirtmr1"
//	8   crc     4     CRC-32C of all behind it
//	12  count   4     entries in the block, 1 to 127
//	16  zero    16
//	32  entries 127 × 32, in order
//
// Numbers are big endian. How many entries there are is said by state.json. It must not change.
const (
	blockSize    = 4096
	blockHead    = 32
	blockEntries = (blockSize - blockHead) / entrySize
	runMagic     = "weirtmr1"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged says that a run doesn't hold what was written. The set is made anew from the queue.
var errDamaged = errors.New("the run is damaged")

// run is a file of entries, durable and never changed.
type run struct {
	Name    string `json:"file"`
	Entries int64  `json:"entries"`
}

func openRun(fs vfs.FS, dir string, r run) (vfs.File, error) {
	f, err := fs.Open(filepath.Join(dir, r.Name), vfs.ReadOnly)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (r.Entries < 1 || info.Size != (r.Entries+blockEntries-1)/blockEntries*blockSize) {
		err = fmt.Errorf("%w: %s has %d bytes, which don't hold %d entries", errDamaged, r.Name, info.Size, r.Entries)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readBlock appends the entries of block n to dst. buf has room for a block.
func readBlock(dst []Entry, f vfs.File, n, entries int64, buf []byte) ([]Entry, error) {
	if _, err := f.ReadAt(buf, n*blockSize); err != nil {
		return dst, err
	}
	want := min(entries-n*blockEntries, blockEntries)
	if string(buf[:8]) != runMagic || crc32.Checksum(buf[12:], castagnoli) != binary.BigEndian.Uint32(buf[8:]) ||
		int64(binary.BigEndian.Uint32(buf[12:])) != want {
		return dst, fmt.Errorf("%w: block %d", errDamaged, n)
	}
	for b := buf[blockHead:]; want > 0; want-- {
		dst = append(dst, decodeEntry(b))
		b = b[entrySize:]
	}
	return dst, nil
}

// flushSize is how many bytes are written to a run at once.
const flushSize = 64 * blockSize

// writer writes a run. Entries are added in order.
type writer struct {
	fs    vfs.FS
	path  string
	file  vfs.File
	buf   []byte // blocks; the last may be under way
	count int    // entries of the block under way
	at    int64
	run   run
}

func newWriter(fs vfs.FS, dir, name string) (*writer, error) {
	path := filepath.Join(dir, name)
	f, err := fs.Open(path, vfs.Create|vfs.Truncate)
	if err != nil {
		return nil, err
	}
	return &writer{fs: fs, path: path, file: f, buf: make([]byte, 0, flushSize), run: run{Name: name}}, nil
}

func (w *writer) add(e *Entry) error {
	if w.count == 0 {
		w.buf = append(w.buf, make([]byte, blockHead)...)
	}
	w.buf = appendEntry(w.buf, e)
	w.count++
	w.run.Entries++
	if w.count < blockEntries {
		return nil
	}
	w.seal()
	if len(w.buf) < flushSize {
		return nil
	}
	return w.write()
}

// seal completes the block under way.
func (w *writer) seal() {
	start := (len(w.buf) - 1) / blockSize * blockSize
	for len(w.buf)%blockSize != 0 {
		w.buf = append(w.buf, 0)
	}
	b := w.buf[start:]
	copy(b, runMagic)
	binary.BigEndian.PutUint32(b[12:], uint32(w.count))
	binary.BigEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
	w.count = 0
}

func (w *writer) write() error {
	if _, err := w.file.WriteAt(w.buf, w.at); err != nil {
		return err
	}
	w.at += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// finish makes the run durable and returns it, open for reading.
func (w *writer) finish() (run, vfs.File, error) {
	if w.count > 0 {
		w.seal()
	}
	err := w.write()
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = w.fs.SyncDir(filepath.Dir(w.path))
	}
	if err != nil {
		return run{}, nil, errors.Join(err, w.drop())
	}
	return w.run, w.file, nil
}

// drop gives up.
func (w *writer) drop() error { return errors.Join(w.file.Close(), w.fs.Remove(w.path)) }

func (w *writer) fileOrNil() vfs.File {
	if w == nil {
		return nil
	}
	return w.file
}
