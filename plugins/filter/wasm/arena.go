package wasm

import (
	"encoding/binary"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// The batch layout, version 1. All numbers are little-endian, all columns 8-aligned. It must not change: guests depend on it.
//
//	 0     4      6      8       12     16     20         24          28           32          36             44       48
//	+-----+------+------+-------+------+------+----------+-----------+------------+-----------+--------------+--------+----+
//	|MQB1 |minor |flags |length |n     |slots |directory |meta       |body refs   |raw refs   |topic: at,len |queue id|0…  |
//	+-----+------+------+-------+------+------+----------+-----------+------------+-----------+--------------+--------+----+
//
//	directory, 16 bytes a slot: text refs u32 | typed column u32 | type u8 | flags u8 | 0…
//	text refs, body refs, raw refs: n × (offset u32, length u32); a missing text is (0xFFFFFFFF, 0)
//	typed column: n × status u8 (0 missing, 1 value, 2 not parsable), padded to 8, n × value of 8 bytes
//	meta: queue offset i64, store time i64, born time i64, tags hash i64, body length u32, reconsume u32, sys flag u32
//	behind the last text 8 zero bytes, which length counts
const (
	headerSize     = 64
	slotSize       = 16
	refSize        = 8
	metaSize       = 4*8 + 3*4
	paddingSize    = 8
	layoutMinor    = 1
	flagMeta       = 1
	flagBody       = 2
	flagRawProps   = 4
	missingOffset  = 0xFFFFFFFF
	statusMissing  = 0
	statusValue    = 1
	statusUnparsed = 2

	atFlags     = 6
	atLength    = 8
	atCount     = 12
	atSlots     = 16
	atDirectory = 20
	atMeta      = 24
	atBodies    = 28
	atRaw       = 32
	atTopic     = 36
	atQueue     = 44
)

var le = binary.LittleEndian

func pad8(n int) int { return (n + 7) &^ 7 }

// rows are messages to be laid out by columns.
type rows struct {
	layout  *layout
	needs   needs
	topic   string
	queue   message.QueueID
	codes   []int64 // tags codes
	records []message.Record
	values  [][]byte // of each record, one for each name of the layout
	texts   int      // bytes of all texts, bodies and raw properties
}

// needs are the parts of a batch beside properties.
type needs struct {
	meta, body, raw bool
	bodyCap         int
}

func (m *Manifest) batchNeeds() needs {
	return needs{meta: m.has("meta"), body: m.has("body"), raw: m.has("raw_props"), bodyCap: m.bodyCap()}
}

// reset empties r and lets go of what it borrowed.
func (r *rows) reset() {
	clear(r.records)
	clear(r.values)
	r.records, r.values, r.codes, r.texts = r.records[:0], r.values[:0], r.codes[:0], 0
}

// begin makes r ready for messages of a batch.
func (r *rows) begin(b *filter.Batch) {
	r.reset()
	r.topic, r.queue = b.Topic, b.Queue
}

// add takes one message in, unless the batch would exceed most bytes then; the first one always fits.
func (r *rows) add(rec message.Record, code int64, most int) bool {
	n, k := len(r.records), len(r.layout.names)
	for len(r.values) < (n+1)*k {
		r.values = append(r.values, nil)
	}
	values := r.values[n*k : (n+1)*k]
	props := rec.Properties()
	r.layout.gather(props, values)
	size := 0
	for i := range r.layout.slots {
		if s := &r.layout.slots[i]; s.text {
			size += len(values[s.name])
		}
	}
	if r.needs.body {
		size += min(len(rec.Body()), r.needs.bodyCap)
	}
	if r.needs.raw {
		size += len(props)
	}
	if n > 0 && r.fixed(n+1)+r.texts+size > most {
		return false
	}
	r.records, r.codes, r.texts = append(r.records, rec), append(r.codes, code), r.texts+size
	return true
}

// fixed is the size of n messages without their texts.
func (r *rows) fixed(n int) int {
	size := headerSize + slotSize*len(r.layout.slots) + pad8(len(r.topic)) + paddingSize + 8
	for i := range r.layout.slots {
		s := &r.layout.slots[i]
		if s.text {
			size += refSize * n
		}
		if s.number != SlotText {
			size += pad8(n) + 8*n
		}
	}
	if r.needs.meta {
		size += 4*8*n + 3*pad8(4*n)
	}
	if r.needs.body {
		size += refSize * n
	}
	if r.needs.raw {
		size += refSize * n
	}
	return size
}

// size bounds what write needs.
func (r *rows) size() int { return r.fixed(len(r.records)) + r.texts }

// resultSize is the room for three bitmaps of n messages.
func resultSize(n int) int { return 3 * 8 * ((n + 63) / 64) }

// writer puts columns one behind the other into an area.
type writer struct {
	b  []byte
	at int
}

// column takes n bytes, 8-aligned, without clearing them.
func (w *writer) column(n int) (at int, b []byte) {
	at = w.at
	w.at += pad8(n)
	clear(w.b[at+n : w.at])
	return at, w.b[at : at+n]
}

// write lays r out in area, which has at least size bytes, and returns the batch's length.
func (r *rows) write(area []byte) int {
	n := len(r.records)
	w := &writer{b: area}
	_, head := w.column(headerSize)
	clear(head)
	copy(head, "MQB1")
	le.PutUint16(head[4:], layoutMinor)
	le.PutUint32(head[atCount:], uint32(n))
	le.PutUint32(head[atSlots:], uint32(len(r.layout.slots)))
	directory, entries := w.column(slotSize * len(r.layout.slots))
	le.PutUint32(head[atDirectory:], uint32(directory))
	topic, name := w.column(len(r.topic))
	copy(name, r.topic)
	le.PutUint32(head[atTopic:], uint32(topic))
	le.PutUint32(head[atTopic+4:], uint32(len(r.topic)))
	le.PutUint32(head[atQueue:], uint32(r.queue))
	flags := uint16(0)
	if r.needs.meta {
		flags |= flagMeta
		le.PutUint32(head[atMeta:], uint32(w.at))
		r.writeMeta(w)
	}
	var bodies, raws []byte
	if r.needs.body {
		flags |= flagBody
		le.PutUint32(head[atBodies:], uint32(w.at))
		_, bodies = w.column(refSize * n)
	}
	if r.needs.raw {
		flags |= flagRawProps
		le.PutUint32(head[atRaw:], uint32(w.at))
		_, raws = w.column(refSize * n)
	}
	le.PutUint16(head[atFlags:], flags)
	r.writeSlots(w, entries)
	for i, rec := range r.records {
		if r.needs.body {
			body := rec.Body()
			putText(w, bodies[refSize*i:], body[:min(len(body), r.needs.bodyCap)])
		}
		if r.needs.raw {
			putText(w, raws[refSize*i:], rec.Properties())
		}
	}
	end := pad8(w.at) + paddingSize
	clear(w.b[w.at:end])
	le.PutUint32(head[atLength:], uint32(end))
	return end
}

// writeSlots writes first all columns of fixed size, then the texts.
func (r *rows) writeSlots(w *writer, entries []byte) {
	n, k := len(r.records), len(r.layout.names)
	clear(entries)
	for i := range r.layout.slots {
		s, entry := &r.layout.slots[i], entries[slotSize*i:]
		if s.text {
			at, _ := w.column(refSize * n)
			le.PutUint32(entry, uint32(at))
		}
		if s.number == SlotText {
			continue
		}
		entry[8] = byte(s.number)
		at, status := w.column(n)
		le.PutUint32(entry[4:], uint32(at))
		_, values := w.column(8 * n)
		r.writeTyped(status, values, s, k)
	}
	for i := range r.layout.slots {
		s := &r.layout.slots[i]
		if !s.text {
			continue
		}
		at := int(le.Uint32(entries[slotSize*i:]))
		refs := w.b[at : at+refSize*n]
		for j := range n {
			if v := r.values[j*k+s.name]; v != nil {
				putText(w, refs[refSize*j:], v)
				continue
			}
			le.PutUint32(refs[refSize*j:], missingOffset)
			le.PutUint32(refs[refSize*j+4:], 0)
		}
	}
}

func (r *rows) writeTyped(status, values []byte, s *slot, k int) {
	for j := range status {
		v := r.values[j*k+s.name]
		bits, ok := uint64(0), false
		switch {
		case v == nil:
			status[j] = statusMissing
		default:
			status[j] = statusUnparsed
			if bits, ok = parse(v, s.number); ok {
				status[j] = statusValue
			} else {
				bits = 0
			}
		}
		le.PutUint64(values[8*j:], bits)
	}
}

// putText writes a text behind everything before it and a reference to it.
func putText(w *writer, ref []byte, text []byte) {
	le.PutUint32(ref, uint32(w.at))
	le.PutUint32(ref[4:], uint32(len(text)))
	copy(w.b[w.at:], text)
	w.at += len(text)
}

func (r *rows) writeMeta(w *writer) {
	n := len(r.records)
	_, offsets := w.column(8 * n)
	_, stored := w.column(8 * n)
	_, born := w.column(8 * n)
	_, tags := w.column(8 * n)
	_, bodies := w.column(4 * n)
	_, reconsumes := w.column(4 * n)
	_, flags := w.column(4 * n)
	for i, rec := range r.records {
		le.PutUint64(offsets[8*i:], uint64(rec.QueueOffset()))
		le.PutUint64(stored[8*i:], uint64(rec.StoreTimestamp()))
		le.PutUint64(born[8*i:], uint64(rec.BornTimestamp()))
		le.PutUint64(tags[8*i:], uint64(r.codes[i]))
		le.PutUint32(bodies[4*i:], uint32(len(rec.Body())))
		le.PutUint32(reconsumes[4*i:], uint32(rec.ReconsumeTimes()))
		le.PutUint32(flags[4*i:], uint32(rec.SysFlag()))
	}
}

// writeConfig lays the settings of a module out: a batch of one record whose slots are the settings.
func writeConfig(m *Manifest, values []value) []byte {
	var r rows
	r.layout = &layout{}
	for i, s := range m.Config { // a name for each: settings have distinct names
		r.layout.names = append(r.layout.names, s.Name)
		r.layout.slots = append(r.layout.slots, slot{name: i, text: s.Type == SlotText, number: s.Type})
		r.values = append(r.values, nil)
		if values[i].set {
			r.values[i] = append([]byte{}, values[i].text...)
			r.texts += len(values[i].text)
		}
	}
	r.records = make([]message.Record, 1)
	area := make([]byte, r.size()+resultSize(1))
	return area[:r.write(area)]
}
