package wasm

import (
	"sync"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// Bounds of uploads. They lie in memory, each at most limits.size.
const (
	uploadsMax  = 4
	uploadPause = time.Minute // after which an upload that nobody goes on with makes room
)

// uploads are the modules that are on their way, by their hash.
type uploads struct {
	mu   sync.Mutex // guards all below
	list map[string]*upload
}

type upload struct {
	data    []byte
	size    int64
	touched time.Time
}

// add takes a part and returns how much there is, and the whole module with its last part. A part that doesn't belong where
// the last one ended is not taken; the sender goes on where received says. A first part begins anew.
func (u *uploads) add(p *filter.ModulePart, now time.Time) (received int64, whole []byte, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x := u.list[p.SHA256]
	if x == nil || p.Offset == 0 || x.size != p.Size {
		if p.Offset != 0 {
			return 0, nil, nil
		}
		if x == nil && !u.roomLocked(now) {
			return 0, nil, fault(filter.ErrModuleRefused, "%d uploads are under way; try again in a minute", uploadsMax)
		}
		x = &upload{size: p.Size}
		if u.list == nil {
			u.list = map[string]*upload{}
		}
		u.list[p.SHA256] = x
	}
	x.touched = now
	if p.Offset != int64(len(x.data)) {
		return int64(len(x.data)), nil, nil
	}
	if int64(len(p.Data)) > x.size-p.Offset {
		return 0, nil, fault(ErrTooLarge, "the part at %d goes beyond the end at %d", p.Offset, x.size)
	}
	x.data = append(x.data, p.Data...)
	if received = int64(len(x.data)); received < x.size {
		return received, nil, nil
	}
	delete(u.list, p.SHA256)
	return received, x.data, nil
}

// roomLocked makes room for one more upload, at the cost of one that nobody goes on with.
func (u *uploads) roomLocked(now time.Time) bool {
	if len(u.list) < uploadsMax {
		return true
	}
	for hash, x := range u.list {
		if now.Sub(x.touched) >= uploadPause {
			delete(u.list, hash)
			return true
		}
	}
	return false
}
