package verdict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// These are on disk and must not change.
const (
	// BlockEntries is the number of entries in one block.
	BlockEntries = 65536

	blockMagic   = "WEIRVRDT"
	blockVersion = 1
	blockWords   = BlockEntries / 64
	decidedWords = blockWords / 64
	decidedAt    = 128
	bitsAt       = decidedAt + 8*decidedWords
	blockSize    = bitsAt + 8*blockWords
)

// blockMemory is what a block takes in memory, in bytes.
const blockMemory = 9472

// Mark identifies the message of an entry: no two have the same, not even in different lives of a queue.
type Mark struct {
	Offset   message.Offset
	Position message.Position
	Time     int64 // store time in ms
}

// block is the verdicts of 65,536 entries. Readers take no lock: a word's bits are there before it is decided, and don't
// change afterwards.
type block struct {
	cover  *Cover
	number int64 // first offset / BlockEntries

	decided [decidedWords]atomic.Uint64
	bits    [blockWords]atomic.Uint64
	used    atomic.Bool // since the cache last looked
	gone    atomic.Bool // taken out of its cover; what is decided now is lost

	mu          sync.Mutex // guards the rest, and is held to decide words
	any         bool       // some word is decided; first and last are valid
	first, last Mark
	dirty       bool // changed since it was written
}

func (b *block) start() message.Offset { return message.Offset(b.number) * BlockEntries }

func (b *block) isDecided(w int) bool { return b.decided[w>>6].Load()&(1<<(w&63)) != 0 }

// errStale says that a block is of an earlier life of its queue.
var errStale = errors.New("the queue has begun anew")

// decide notes the verdicts of word w. first and last mark the word's own first and last entries.
func (b *block) decide(w int, verdicts uint64, first, last Mark) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.any && (last.Offset > b.last.Offset) != (last.Position > b.last.Position) && last.Offset != b.last.Offset {
		return errStale
	}
	if b.any && last.Offset == b.last.Offset && last.Position != b.last.Position {
		return errStale
	}
	if b.isDecided(w) {
		return nil
	}
	b.bits[w].Store(verdicts)
	b.decided[w>>6].Or(1 << (w & 63))
	if !b.any || first.Offset < b.first.Offset {
		b.first = first
	}
	if !b.any || last.Offset > b.last.Offset {
		b.last = last
	}
	b.any, b.dirty = true, true
	return nil
}

// marks returns the first and the last decided entries.
func (b *block) marks() (first, last Mark, any bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first, b.last, b.any
}

// find returns the place of the first entry in [from, to) that is true or not decided; to if all are decided and none is
// true.
func (b *block) find(from, to int) (at int, what Found) {
	first := from >> 6
	for w := first; w<<6 < to; w++ {
		if !b.isDecided(w) {
			return max(from, w<<6), Undecided
		}
		word := b.bits[w].Load()
		if w == first {
			word &= ^uint64(0) << (from & 63)
		}
		if word != 0 {
			if at := w<<6 + bits.TrailingZeros64(word); at < to {
				return at, Match
			}
			break
		}
	}
	return to, Nothing
}

// append adds the bytes of the block's file to dst. Only blocks with a decided word have one.
func (b *block) append(dst []byte, key filter.Key, queue message.QueueID) []byte {
	be := binary.BigEndian
	at := len(dst)
	dst = append(dst, blockMagic...)
	dst = be.AppendUint32(dst, blockVersion)
	dst = be.AppendUint32(dst, 0)
	dst = append(dst, key[:]...)
	dst = be.AppendUint64(dst, uint64(b.start()))
	dst = be.AppendUint32(dst, uint32(queue))
	dst = be.AppendUint32(dst, 0)
	for _, m := range [...]Mark{b.first, b.last} {
		dst = be.AppendUint64(dst, uint64(m.Offset))
		dst = be.AppendUint64(dst, uint64(m.Position))
		dst = be.AppendUint64(dst, uint64(m.Time))
	}
	dst = append(dst, make([]byte, decidedAt-112)...)
	for i := range b.decided {
		dst = be.AppendUint64(dst, b.decided[i].Load())
	}
	for w := range b.bits {
		dst = be.AppendUint64(dst, b.bits[w].Load())
	}
	be.PutUint32(dst[at+12:], checksum(dst[at:]))
	return dst
}

// checksum is that of a block's file, without the field that holds it.
func checksum(b []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(b[:12]), crc32.IEEETable, b[16:])
}

// parse fills b, which is fresh, from a file. It believes nothing.
func (b *block) parse(data []byte, key filter.Key, queue message.QueueID) error {
	be := binary.BigEndian
	switch {
	case len(data) != blockSize:
		return fmt.Errorf("the file has %d bytes, want %d", len(data), blockSize)
	case string(data[:8]) != blockMagic:
		return errors.New("the file doesn't begin with " + blockMagic)
	case be.Uint32(data[8:]) != blockVersion:
		return fmt.Errorf("the file has version %d, want %d", be.Uint32(data[8:]), blockVersion)
	case be.Uint32(data[12:]) != checksum(data):
		return errors.New("the checksum is wrong")
	case filter.Key(data[16:48]) != key:
		return errors.New("the file is another program's")
	case message.Offset(be.Uint64(data[48:])) != b.start() || message.QueueID(be.Uint32(data[56:])) != queue:
		return errors.New("the file is another block's")
	}
	mark := func(at int) Mark {
		return Mark{message.Offset(be.Uint64(data[at:])), message.Position(be.Uint64(data[at+8:])), int64(be.Uint64(data[at+16:]))}
	}
	b.first, b.last = mark(64), mark(88)
	for i := range b.decided {
		b.decided[i].Store(be.Uint64(data[decidedAt+8*i:]))
	}
	for w := range b.bits {
		if word := be.Uint64(data[bitsAt+8*w:]); word != 0 {
			if !b.isDecided(w) {
				return fmt.Errorf("word %d has verdicts and isn't decided", w)
			}
			b.bits[w].Store(word)
		}
	}
	b.any = true
	last, ok := b.lastDecided()
	if !ok || b.last.Offset != b.start()+message.Offset(last*64+63) || b.first.Offset > b.last.Offset || b.first.Offset < b.start() {
		return errors.New("the marks don't fit the decided words")
	}
	return nil
}

// lastDecided returns the number of the last decided word.
func (b *block) lastDecided() (w int, ok bool) {
	for i := decidedWords - 1; i >= 0; i-- {
		if word := b.decided[i].Load(); word != 0 {
			return i*64 + 63 - bits.LeadingZeros64(word), true
		}
	}
	return 0, false
}
