package transaction

import (
	"sync"

	"github.com/weirmq/weir/core/message"
)

// window is how many finished half messages before the oldest undecided one are remembered, so that a decision that comes twice isn't carried out
// twice.
const window = 1 << 20

// table knows which half messages are finished. It is derived from the op messages.
type table struct {
	mu       sync.Mutex // guards all below
	base     message.Offset
	finished []uint64 // a bit for each offset from base, a multiple of 64, on
	// ending are half messages that are being committed or rolled back.
	ending map[message.Offset]bool
	// newer has, for half messages that were stored anew, the offset of the next copy. parked are those that were put aside. Both are finished.
	newer  map[message.Offset]message.Offset
	parked map[message.Offset]bool
	// decided are copies whose original was decided while it was being stored anew.
	decided map[message.Offset]bool
	// uncounted are copies that count a check which couldn't be sent.
	uncounted map[message.Offset]bool
}

func (t *table) init(base message.Offset) {
	t.base = base &^ 63
	t.ending, t.newer, t.parked = map[message.Offset]bool{}, map[message.Offset]message.Offset{}, map[message.Offset]bool{}
	t.decided, t.uncounted = map[message.Offset]bool{}, map[message.Offset]bool{}
}

func (t *table) hasLocked(o message.Offset) bool {
	i := int64(o-t.base) / 64
	return o >= t.base && i < int64(len(t.finished)) && t.finished[i]>>(uint64(o)%64)&1 != 0
}

func (t *table) setLocked(o message.Offset) {
	if o < t.base {
		return
	}
	i := int64(o-t.base) / 64
	for int64(len(t.finished)) <= i {
		t.finished = append(t.finished, 0)
	}
	t.finished[i] |= 1 << (uint64(o) % 64)
}

// finish notes that a half message is finished.
func (t *table) finish(o message.Offset) {
	t.mu.Lock()
	t.setLocked(o)
	t.mu.Unlock()
}

// open says whether a half message is undecided, and nobody is deciding it.
func (t *table) open(o message.Offset) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.hasLocked(o) && !t.ending[o]
}

// advance returns the first offset from o on, below end, that isn't finished.
func (t *table) advance(o, end message.Offset) message.Offset {
	t.mu.Lock()
	defer t.mu.Unlock()
	for o < end && t.hasLocked(o) {
		if i := int64(o-t.base) / 64; o%64 == 0 && t.finished[i] == ^uint64(0) {
			o += 64
			continue
		}
		o++
	}
	return min(o, end)
}

// trim forgets what is far before the oldest undecided half message.
func (t *table) trim(cursor message.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	base := (cursor - window) &^ 63
	if base-t.base < window {
		return
	}
	t.finished = append([]uint64(nil), t.finished[min(int64(len(t.finished)), int64(base-t.base)/64):]...)
	t.base = base
	for _, m := range []map[message.Offset]bool{t.parked, t.decided, t.uncounted} {
		for o := range m {
			if o < base {
				delete(m, o)
			}
		}
	}
	for o, n := range t.newer {
		if n < base {
			delete(t.newer, o)
		}
	}
}

// beginEnd marks a half message as one that is being ended, and returns its newest copy, which has to be finished by an op message; needsOp is false
// when it was put aside, and has one. ok is false when it is decided already, or just being decided.
func (t *table) beginEnd(o message.Offset) (newest message.Offset, needsOp, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest = o
	for {
		next, moved := t.newer[newest]
		if !moved {
			break
		}
		newest = next
	}
	aside := t.parked[newest]
	if t.ending[newest] || t.decided[newest] || t.hasLocked(newest) && !aside {
		return newest, false, false
	}
	t.ending[newest] = true
	return newest, !aside, true
}

// endEnd is told what became of the end of a half message: whether it is stored.
func (t *table) endEnd(newest message.Offset, stored bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ending, newest)
	next, moved := t.newer[newest] // it was stored anew meanwhile: that copy has no say
	if moved {
		delete(t.ending, next)
	}
	if !stored {
		return
	}
	t.setLocked(newest)
	delete(t.parked, newest)
	if moved {
		t.decided[next] = true
	}
}

// moved notes that a half message was stored anew, counting a check that is still to be sent.
func (t *table) moved(o, to message.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hasLocked(o) {
		t.decided[to] = true
	}
	if t.ending[o] {
		t.ending[to] = true
	}
	t.setLocked(o)
	t.newer[o] = to
	delete(t.uncounted, o)
}

// copied notes that an undecided half message is the copy of another one.
func (t *table) copied(o, to message.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newer[o] = to
	delete(t.parked, o)
}

// putAside notes that a half message is in TRANS_CHECK_MAX_TIME_TOPIC now.
func (t *table) putAside(o message.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hasLocked(o) {
		t.setLocked(o)
		t.parked[o] = true
	}
}

func (t *table) isDecided(o message.Offset) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decided[o]
}

// setUncounted notes that the check which a copy counts was never sent.
func (t *table) setUncounted(o message.Offset) {
	t.mu.Lock()
	t.uncounted[o] = true
	t.mu.Unlock()
}

func (t *table) isUncounted(o message.Offset) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.uncounted[o]
}
