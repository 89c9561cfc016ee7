//go:build wasip1

package mqf

import "unsafe"

const (
	slotsMax = 64
	magic    = 0x3142514d
	missing  = 0xFFFFFFFF
)

type header struct {
	magic                                         uint32
	minor, flags                                  uint16
	length, count, slots, directory, meta, bodies uint32
	raw, topic, topicLength, queue                uint32
	_                                             [16]uint8
}

type slotEntry struct {
	texts, typed uint32
	kind, flags  uint8
	_            uint16
	_            uint32
}

type ref struct{ at, length uint32 }

// Batch is a batch of messages as the broker laid it out. It and all slices from it are valid during one call.
type Batch struct {
	base   unsafe.Pointer
	header *header
	slots  []slotEntry
}

// state is what an instance keeps. The areas are kept for the collector's sake.
var state struct {
	filter    Filter
	functions []Function
	area      []uint64
	batch     Batch
	verdicts  Verdicts
	answers   answers
	failure   []byte
}

// Run hands the filter over. Call it in an init function.
func Run(f Filter) { state.filter = f }

func (b *Batch) open(at unsafe.Pointer, length uint32) int32 {
	h := (*header)(at)
	if length < uint32(unsafe.Sizeof(header{})) || h.magic != magic || h.length != length || h.slots > slotsMax {
		return -2
	}
	if h.minor < 1 {
		return -3
	}
	b.base, b.header = at, h
	b.slots = unsafe.Slice((*slotEntry)(unsafe.Add(at, h.directory)), h.slots)
	return 0
}

// Len returns the number of messages.
func (b *Batch) Len() int { return int(b.header.count) }

// Topic returns the topic of all messages.
func (b *Batch) Topic() string { return b.text(ref{b.header.topic, b.header.topicLength}) }

func (b *Batch) text(r ref) string {
	return unsafe.String((*byte)(unsafe.Add(b.base, r.at)), int(r.length))
}

// Texts is a column of texts.
type Texts struct {
	b    *Batch
	refs []ref
}

// At returns the text of message i. It is valid during the call; keep a copy.
func (t Texts) At(i int) (string, bool) {
	r := t.refs[i]
	if r.at == missing {
		return "", false
	}
	return t.b.text(r), true
}

// Texts returns the texts of a slot, which must be text.
func (b *Batch) Texts(slot int) Texts {
	return Texts{b, unsafe.Slice((*ref)(unsafe.Add(b.base, b.slots[slot].texts)), b.header.count)}
}

// typed returns the two parts of a typed column.
func (b *Batch) typed(slot int) (status []Status, values unsafe.Pointer) {
	at := unsafe.Add(b.base, b.slots[slot].typed)
	return unsafe.Slice((*Status)(at), b.header.count), unsafe.Add(at, (b.header.count+7)&^7)
}

// Doubles returns a slot of type double.
func (b *Batch) Doubles(slot int) (status []Status, values []float64) {
	status, at := b.typed(slot)
	return status, unsafe.Slice((*float64)(at), b.header.count)
}

// Ints returns a slot of type int32, int64 or boolean, where 1 is true.
func (b *Batch) Ints(slot int) (status []Status, values []int64) {
	status, at := b.typed(slot)
	return status, unsafe.Slice((*int64)(at), b.header.count)
}

// Bodies returns the bodies, cut at the manifest's body_cap. The manifest must need "body".
func (b *Batch) Bodies() Texts {
	return Texts{b, unsafe.Slice((*ref)(unsafe.Add(b.base, b.header.bodies)), b.header.count)}
}

// Verdicts takes the verdicts of one batch. Messages of which nothing is said are false.
type Verdicts struct{ isTrue, unknown, raise []uint64 }

// True says that message i matches.
func (v *Verdicts) True(i int) { v.isTrue[i>>6] |= 1 << (i & 63) }

// Unknown says that nothing can be said of message i.
func (v *Verdicts) Unknown(i int) { v.unknown[i>>6] |= 1 << (i & 63) }

// Raise says that message i can't be judged.
func (v *Verdicts) Raise(i int) { v.raise[i>>6] |= 1 << (i & 63) }

// Set says any of these.
func (v *Verdicts) Set(i int, verdict Verdict) {
	switch verdict {
	case True:
		v.True(i)
	case Unknown:
		v.Unknown(i)
	case Raise:
		v.Raise(i)
	}
}

// Each judges every message by a function. See the package comment for its price.
func Each(b *Batch, v *Verdicts, judge func(i int) Verdict) {
	for i := range b.Len() {
		v.Set(i, judge(i))
	}
}

// NeedProp asks for a property, in Start only. It returns its slot, or false when there are too many.
func NeedProp(name string, t Type) (slot int, ok bool) {
	n := hostNeedProp(unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)), int32(t))
	return int(n), n >= 0
}

// Level is that of a line in the log.
type Level int32

// The levels.
const (
	LevelDebug Level = iota - 1
	LevelInfo
	LevelWarn
	LevelError
)

// Log writes a line to the broker's log: some tens a second at most, the rest is counted.
func Log(l Level, text string) {
	hostLog(int32(l), unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

//go:wasmimport mqf_v1 need_prop
func hostNeedProp(name unsafe.Pointer, length uint32, kind int32) int32

//go:wasmimport mqf_v1 log
func hostLog(level int32, text unsafe.Pointer, length uint32)

//go:wasmexport mqf_abi_1
func abi() {}

//go:wasmexport mqf_buffer
func buffer(size uint32) unsafe.Pointer {
	if n := int(size+7) / 8; n > len(state.area) {
		state.area = make([]uint64, n)
	}
	return unsafe.Pointer(unsafe.SliceData(state.area))
}

//go:wasmexport mqf_init
func start(config unsafe.Pointer, length uint32) int32 {
	if state.filter == nil && state.functions == nil {
		return fail(-1, "neither a filter nor functions: call mqf.Run or mqf.Functions in an init function")
	}
	if code := state.batch.open(config, length); code != 0 {
		return code
	}
	if state.filter == nil {
		return 0
	}
	if err := state.filter.Start(&state.batch); err != nil {
		return fail(-4, err.Error())
	}
	return 0
}

//go:wasmexport mqf_filter
func judge(batch unsafe.Pointer, length uint32, out unsafe.Pointer) int32 {
	b, v := &state.batch, &state.verdicts
	if code := b.open(batch, length); code != 0 {
		return code
	}
	if state.filter == nil {
		return fail(-1, "no filter: call mqf.Run in an init function")
	}
	words := (b.Len() + 63) / 64
	all := unsafe.Slice((*uint64)(out), 3*words)
	v.isTrue, v.unknown, v.raise = all[:words], all[words:2*words], all[2*words:]
	state.filter.Batch(b, v)
	return int32(b.Len())
}

//go:wasmexport mqf_error
func failure() uint64 {
	if len(state.failure) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(state.failure))))<<32 | uint64(len(state.failure))
}
