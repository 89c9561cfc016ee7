package store

import (
	"github.com/weirmq/weir/core/message"
)

// tail is what was appended and not written yet: bytes, where they go, and the batches that wait for them.
//
//	bytes   |record record record|blank header|record record |
//	runs    |       0            :            |      1       |      a run is contiguous in one segment
//
// Between run 0 and run 1 is the rest of the segment that the blank record stands for; it is not written.
type tail struct {
	segment int64 // size of a segment
	bytes   []byte
	runs    []run
	start   message.Position // of the first byte
	end     message.Position // where the next record goes
	first   *Batch           // in order of Append
	last    *Batch
	count   int   // messages
	time    int64 // store time of the last record, ms
}

// run is a part of the bytes that is contiguous in the log.
type run struct {
	pos      message.Position
	from, to int
}

// reset empties t, to go on at position at. Room that one huge batch took is given back.
func (t *tail) reset(at message.Position, keep int) {
	if cap(t.bytes) > keep {
		t.bytes = nil
	}
	t.bytes, t.runs = t.bytes[:0], t.runs[:0]
	t.start, t.end = at, at
	t.first, t.last, t.count = nil, nil, 0
}

func (t *tail) empty() bool { return t.first == nil }

// roll puts a blank record in front of end if need bytes, and the 8 of a blank record, don't fit into the segment.
func (t *tail) roll(need int) {
	left := t.segment - int64(t.end)%t.segment
	if int64(need)+message.BlankHeaderSize <= left {
		return
	}
	at := len(t.bytes)
	t.bytes = message.AppendBlank(t.bytes, int(left))
	t.extend(at)
	t.end += message.Position(left)
}

// add copies one record behind the others and returns the copy.
func (t *tail) add(record []byte) message.Record {
	at := len(t.bytes)
	t.bytes = append(t.bytes, record...)
	t.extend(at)
	t.end += message.Position(len(record))
	t.count++
	return message.Record(t.bytes[at:])
}

// extend makes bytes from at on part of the last run, or a new run when they don't follow it in the log.
func (t *tail) extend(at int) {
	if n := len(t.runs); n > 0 && int64(t.end)%t.segment != 0 {
		r := &t.runs[n-1]
		if r.pos+message.Position(r.to-r.from) == t.end {
			r.to = len(t.bytes)
			return
		}
	}
	t.runs = append(t.runs, run{pos: t.end, from: at, to: len(t.bytes)})
}

// push adds b to the list of those that wait.
func (t *tail) push(b *Batch) {
	b.next = nil
	if t.last == nil {
		t.first = b
	} else {
		t.last.next = b
	}
	t.last = b
}
