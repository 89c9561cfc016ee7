package consumequeue

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/segment"
)

// ExtDirName is the directory below the store's root that holds the extension files. It is RocketMQ's and must not change.
const ExtDirName = "consumequeue_ext"

// DefaultExtSize is the size in bytes of an extension file where there is none yet: RocketMQ's default.
const DefaultExtSize = 48 << 20

// extRest is how many bytes at least stay free at the end of an extension file. It is RocketMQ's and must not change.
const extRest = 4

// ext is the extension file of a queue: units one behind the other, see message.ExtUnit, in files of a fixed size. A unit
// that doesn't fit into a file any more begins the next one, and the size -1 is in its place.
//
// RocketMQ finds the end by walking over the units, and truncates there. So there is never a gap between two units.
type ext struct {
	files *segment.Files
	doubt bool         // bitmaps that recovery finds may be torn: bits may be missing, and no checksum tells
	end   atomic.Int64 // behind the last unit that may be read

	flushed int64 // all units before are on the disk; guarded by the queue's flushMu

	// Of the goroutine that adds:
	next    int64          // end, with what is pending
	pending []byte         // [next-len, next), not written yet
	broken  bool           // entries name units that are gone: no place is known where one may be put
	last    message.Offset // no entry behind has a unit
}

// ExtDir returns the directory of a queue's extension files below the store's root.
func ExtDir(root string, key message.QueueKey) string {
	return filepath.Join(root, ExtDirName, key.Topic, strconv.Itoa(int(key.ID)))
}

// FindExtSize returns the size in bytes of the extension files of a store: of the first that is found, else the default.
// A Java broker doesn't start when one has another size than the rest.
func FindExtSize(fsys vfs.FS, root string) (int64, error) {
	base := filepath.Join(root, ExtDirName)
	topics, err := fsys.ReadDir(base)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return 0, fmt.Errorf("list the extension files: %w", err)
	}
	for _, topic := range topics {
		if !topic.IsDir {
			continue
		}
		ids, err := fsys.ReadDir(filepath.Join(base, topic.Name))
		if err != nil {
			return 0, fmt.Errorf("list the extension files of %s: %w", topic.Name, err)
		}
		for _, id := range ids {
			if !id.IsDir {
				continue
			}
			files, err := fsys.ReadDir(filepath.Join(base, topic.Name, id.Name))
			if err != nil {
				return 0, fmt.Errorf("list the extension files of %s: %w", topic.Name, err)
			}
			if len(files) > 0 && !files[0].IsDir && files[0].Size > message.MinExtUnitSize && files[0].Size <= math.MaxInt32 {
				return files[0].Size, nil
			}
		}
	}
	return DefaultExtSize, nil
}

// openExt opens a queue's extension files. Without any it is nil, unless they are to be written.
func openExt(fsys vfs.FS, root string, key message.QueueKey, l Layout) (*ext, error) {
	files, err := segment.OpenDir(fsys, ExtDir(root, key), l.ExtSize, segment.Options{DeferNames: true})
	if err != nil {
		return nil, err
	}
	if !l.WriteExt && files.Last() == nil {
		return nil, files.Close()
	}
	return &ext{files: files, doubt: l.Unclean}, nil
}

// put adds a unit, pending until commit, and returns its address. It fails when the unit has no room in a file.
func (x *ext) put(u message.ExtUnit) (address int64, ok bool) {
	size := int64(message.MinExtUnitSize + len(u.Bitmap))
	if x.broken || size > min(message.MaxExtUnitSize, x.files.Size()-extRest) {
		return 0, false
	}
	if rest := x.rest(); size+extRest > rest {
		x.fill(rest)
	}
	if x.next+size > message.MaxExtAddress-math.MinInt64 {
		return 0, false
	}
	address = message.ExtAddress(x.next)
	x.pending = message.AppendExtUnit(x.pending, u)
	x.next += size
	return address, true
}

// rest returns how many bytes of the file are behind the last unit.
func (x *ext) rest() int64 { return x.files.Size() - x.next%x.files.Size() }

// fill ends a file.
func (x *ext) fill(rest int64) {
	x.pending = append(x.pending, 0xff, 0xff)
	x.pending = append(x.pending, make([]byte, rest-2)...)
	x.next += rest
}

// take adds the unit that the files have at an address already, if it is the next one, and u but for the bitmap. A bitmap
// that may be torn isn't taken: a bit that isn't set costs a message.
func (x *ext) take(address int64, u message.ExtUnit) bool {
	at, ok := message.ExtOffset(address)
	if !ok || x.broken {
		return false
	}
	rest := x.rest()
	if at != x.next && (at != x.next+rest || rest > message.MaxExtUnitSize+extRest) {
		return false
	}
	is, ref, ok := x.read(at)
	if !ok {
		return false
	}
	defer ref.Release()
	if is.TagsCode != u.TagsCode || is.StoreTimestamp != u.StoreTimestamp || x.doubt && len(is.Bitmap) > 0 {
		return false
	}
	if at != x.next {
		x.fill(rest)
	}
	x.pending = message.AppendExtUnit(x.pending, is)
	x.next = at + int64(message.MinExtUnitSize+len(is.Bitmap))
	return true
}

// read lends the unit at an offset, whatever the end is. The caller releases the segment if there is one.
func (x *ext) read(at int64) (u message.ExtUnit, seg *segment.Segment, ok bool) {
	v, err := x.files.ViewUpTo(at, message.MaxExtUnitSize)
	if err != nil {
		return u, nil, false
	}
	if u, _, ok = message.DecodeExtUnit(v.Bytes()); !ok {
		v.Release()
		return u, nil, false
	}
	return u, v.Segment(), true
}

// commit writes what is pending. With checks, only what isn't there already.
func (x *ext) commit(checks bool) error {
	at, rest := x.next-int64(len(x.pending)), x.pending
	for len(rest) > 0 {
		n := min(int64(len(rest)), x.files.Size()-at%x.files.Size())
		if _, err := x.files.Ensure(at); err != nil {
			return err
		}
		if !checks || !x.holds(at, rest[:n]) {
			if err := x.files.WriteAt(at, rest[:n]); err != nil {
				return err
			}
		}
		at, rest = at+n, rest[n:]
	}
	if cap(x.pending) > pendingKeep {
		x.pending = nil
	}
	x.pending = x.pending[:0]
	x.end.Store(x.next)
	return nil
}

// holds says whether the files have b at a position.
func (x *ext) holds(at int64, b []byte) bool {
	v, err := x.files.View(at, len(b))
	if err != nil {
		return false
	}
	defer v.Release()
	return bytes.Equal(v.Bytes(), b)
}

// begin puts the end at an offset, behind which nothing is trusted.
func (x *ext) begin(at int64) {
	x.pending, x.next, x.broken = x.pending[:0], at, false
	x.end.Store(at)
	x.flushed = at
}

// follow puts the end behind the last unit that an entry names, which is at an offset. When that can't be read, nothing
// may be put where it is, nor before.
func (x *ext) follow(at int64) {
	u, ref, ok := x.read(at)
	switch {
	case ok:
		ref.Release()
		x.begin(at + int64(message.MinExtUnitSize+len(u.Bitmap)))
	case at < x.files.End():
		x.begin(x.files.End())
	default:
		x.begin(x.files.End())
		x.broken = true
	}
}

// walk puts the end behind the last unit of the last file.
func (x *ext) walk() {
	last := x.files.Last()
	if last == nil {
		x.begin(0)
		return
	}
	at := last.Start()
	for at < last.End() {
		u, ref, ok := x.read(at)
		if !ok {
			break
		}
		ref.Release()
		at += int64(message.MinExtUnitSize + len(u.Bitmap))
	}
	x.begin(at)
}

// finish removes what is behind the end, and with resync makes the rest durable from where it isn't known to be.
func (x *ext) finish(resync bool) error {
	if x.broken {
		return nil
	}
	if err := x.files.TruncateTo(x.next); err != nil {
		return err
	}
	if err := zeroFrom(x.files, x.next); err != nil {
		return err
	}
	trusted := x.flushed
	x.flushed = x.next
	if !resync || trusted >= x.next {
		return nil
	}
	return x.files.Resync(trusted, x.next)
}

// flush makes all units durable that can be read.
func (x *ext) flush() error {
	to := x.end.Load()
	if to <= x.flushed {
		return nil
	}
	if err := x.files.Datasync(x.flushed, to); err != nil {
		return err
	}
	x.flushed = to
	return nil
}

// reset removes all files.
func (x *ext) reset() error {
	x.begin(0)
	x.last = -1
	return x.files.DropFrom(0)
}
