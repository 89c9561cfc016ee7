package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/weirmq/weir/core/internal/vfs"
)

// WeirDir is the directory below the store's root that holds the files which are ours and not RocketMQ's.
const WeirDir = "weir"

// note is what we know to be on the disk, so that damage below can be told from a torn end. It is written after a flush,
// never before, so a stale one is true as well. The file has two slots that are written in turn:
//
//	   0           512           1024
//	   | slot 0    | slot 1      |
//
//	slot:  "WEIRFLSH" | version u32 | flags u32 | sequence u64 | flushed i64 | queued i64 | queues i64 | entries i64 | crc u32
//
// big-endian; crc is CRC-32 (IEEE) of the 56 bytes before it. The valid slot with the higher sequence counts.
type note struct {
	sequence uint64
	clean    bool
	flushed  int64 // log position: all below is on the disk; always between two records
	queued   int64 // log position: queue entries of all records below are on the disk; never above flushed
	indexed  bool  // keys of all records below queued are on the disk, too
	queues   int64 // number of queues, and
	entries  int64 // sum of their ends, when clean
}

// These are on disk and must not change.
const (
	noteMagic    = "WEIRFLSH"
	noteVersion  = 1
	noteClean    = 1 // flags
	noteIndexed  = 2
	noteSlot     = 512
	noteFileSize = 2 * noteSlot
	noteSize     = 60
)

func (n note) append(b []byte) []byte {
	be := binary.BigEndian
	flags := uint32(0)
	if n.clean {
		flags |= noteClean
	}
	if n.indexed {
		flags |= noteIndexed
	}
	at := len(b)
	b = append(b, noteMagic...)
	b = be.AppendUint32(b, noteVersion)
	b = be.AppendUint32(b, flags)
	b = be.AppendUint64(b, n.sequence)
	for _, v := range [...]int64{n.flushed, n.queued, n.queues, n.entries} {
		b = be.AppendUint64(b, uint64(v))
	}
	return be.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

// errNoteVersion says that a newer weir wrote the note.
var errNoteVersion = errors.New("written by a newer version of weir: start that one, or restore a backup made with this one")

// parseNote reads one slot; ok is false for a slot that is empty or torn.
func parseNote(b []byte) (n note, ok bool, err error) {
	be := binary.BigEndian
	if len(b) < noteSize || string(b[:8]) != noteMagic {
		return n, false, nil
	}
	if be.Uint32(b[8:]) > noteVersion {
		return n, false, errNoteVersion
	}
	if crc32.ChecksumIEEE(b[:noteSize-4]) != be.Uint32(b[noteSize-4:]) {
		return n, false, nil
	}
	n.clean, n.indexed = be.Uint32(b[12:])&noteClean != 0, be.Uint32(b[12:])&noteIndexed != 0
	n.sequence = be.Uint64(b[16:])
	for i, v := range [...]*int64{&n.flushed, &n.queued, &n.queues, &n.entries} {
		*v = int64(be.Uint64(b[24+8*i:]))
	}
	return n, n.flushed >= 0 && n.queued >= 0 && n.queued <= n.flushed, nil
}

func (s *Store) notePath() string { return filepath.Join(s.dir, WeirDir, "flushed") }

// readNote returns the newest valid note; ok is false when there is none.
func (s *Store) readNote() (newest note, ok bool, err error) {
	data, err := vfs.ReadFile(s.fs, s.notePath(), 1<<20)
	if errors.Is(err, vfs.ErrNotExist) {
		return newest, false, nil
	}
	for slot := 0; err == nil && (slot+1)*noteSlot <= len(data); slot++ {
		var n note
		var valid bool
		n, valid, err = parseNote(data[slot*noteSlot:])
		if valid && (!ok || n.sequence > newest.sequence) {
			newest, ok = n, true
		}
	}
	if err != nil {
		return newest, false, fmt.Errorf("read %s: %w", s.notePath(), err)
	}
	return newest, ok, nil
}

// writeNote notes what is durable now. Only a clean note is synced: a stale one does no harm.
func (s *Store) writeNote(clean bool) error {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	n := note{clean: clean, flushed: s.durable.Load(), indexed: s.keys.Index != nil && !s.keys.lost.Load()}
	n.queued = min(s.queuesFlushed.Load(), n.flushed)
	if clean {
		for _, q := range s.queues.all() {
			if _, end := q.Bounds(); end > 0 {
				n.queues, n.entries = n.queues+1, n.entries+int64(end)
			}
		}
	}
	if n.sequence = s.noted.sequence; n == s.noted {
		return nil
	}
	n.sequence++
	slot := int64(n.sequence%2) * noteSlot
	if err := writeInPlace(s.fs, s.notePath(), noteFileSize, n.append(nil), slot, clean); err != nil {
		return fmt.Errorf("write %s: %w", s.notePath(), err)
	}
	s.noted = n
	return nil
}
