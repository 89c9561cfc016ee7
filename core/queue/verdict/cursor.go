package verdict

import "github.com/weirmq/weir/core/message"

// Found says what a Cursor has come upon.
type Found uint8

const (
	// Nothing: all entries that were looked at are decided, and none is accepted.
	Nothing Found = iota
	// Match: the program accepts the entry.
	Match
	// Undecided: the entry has to be judged.
	Undecided
)

// Cursor walks over the verdicts of a cover. The zero Cursor is closed. It isn't safe for concurrent use.
type Cursor struct {
	cover  *Cover
	b      *block
	number int64
}

// Begin opens the cursor on a cover; nil closes it.
func (u *Cursor) Begin(c *Cover) { *u = Cursor{cover: c, number: -1} }

// Open says whether there is a cover that is still alive.
func (u *Cursor) Open() bool { return u.cover != nil && u.cover.Alive() }

// Cover returns what the cursor is on.
func (u *Cursor) Cover() *Cover { return u.cover }

// pin makes u.b the block that holds o, nil if there is none.
func (u *Cursor) pin(o message.Offset) {
	number := int64(o / BlockEntries)
	if number == u.number && u.b != nil && !u.b.gone.Load() {
		return
	}
	u.b, u.number = u.cover.block(number, false), number
	if u.b != nil && !u.cover.current(u.b) {
		u.cover.covers.stale(u.cover, errStale)
		u.b = nil
	}
}

// Find returns the first entry in [from, to) that is accepted or undecided. It looks at up to blocks blocks; with Nothing
// all before at is decided and not accepted.
func (u *Cursor) Find(from, to message.Offset, blocks int) (at message.Offset, what Found) {
	for ; from < to && blocks > 0; blocks-- {
		u.pin(from)
		what := Undecided
		if u.b != nil {
			start, i := u.b.start(), 0
			i, what = u.b.find(int(from-start), int(min(to-start, BlockEntries)))
			from = start + message.Offset(i)
		}
		if what == Undecided {
			from, what = u.findTail(from, to)
		}
		if what != Nothing {
			return from, what
		}
	}
	return from, Nothing
}

// findTail is Find in the tail. What neither a block nor the tail knows is undecided.
func (u *Cursor) findTail(from, to message.Offset) (message.Offset, Found) {
	t, ok := u.cover.fromTail(from)
	if !ok {
		return from, Undecided
	}
	for end := min(t.end, to); from < end; from++ {
		if t.bits&(1<<(from&63)) != 0 {
			return from, Match
		}
	}
	if from < to && from&63 != 0 {
		return from, Undecided
	}
	return from, Nothing
}

// Load copies the verdicts of entries from from on, n at most, into keep, and returns of how many: up to the first that is
// undecided. Bits behind those are zero.
func (u *Cursor) Load(from message.Offset, n int, keep []uint64) int {
	clear(keep[:(n+63)/64])
	done := 0
	for done < n {
		o := from + message.Offset(done)
		k := min(64-int(o&63), n-done)
		var word uint64
		u.pin(o)
		if w := int(o%BlockEntries) >> 6; u.b != nil && u.b.isDecided(w) {
			word = u.b.bits[w].Load()
		} else if t, ok := u.cover.fromTail(o); ok {
			word, k = t.bits, min(k, int(t.end-o))
		} else {
			break
		}
		word >>= o & 63
		if k < 64 {
			word &= 1<<k - 1
		}
		keep[done>>6] |= word << (done & 63)
		if rest := 64 - done&63; rest < k {
			keep[done>>6+1] |= word >> rest
		}
		done += k
	}
	return done
}

// Gap returns how many of the n entries from from on, the first of which is undecided, are undecided without a decided
// one in between.
func (u *Cursor) Gap(from message.Offset, n int) int {
	for done := 64 - int(from&63); done < n; done += 64 {
		o := from + message.Offset(done)
		if u.pin(o); u.b != nil && u.b.isDecided(int(o%BlockEntries)>>6) {
			return done
		}
	}
	return n
}
