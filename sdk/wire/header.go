package wire

import (
	"bytes"
	"strconv"
)

// Bits of Header.Flag.
const (
	FlagResponse int32 = 1
	FlagOneway   int32 = 2
)

// Header is what every request and reply has. Its zero value is an empty JSON request. A Header may be used again and
// again, and should be: it keeps the memory of its fields. It is not safe for concurrent use.
type Header struct {
	Type     Type
	Code     int32 // request code, or response code in a reply
	Language Language
	Version  int32
	Opaque   int32 // correlates request and reply
	Flag     int32
	Remark   []byte // nil for none
	Ext      []Field

	scratch []byte // unescaped text, and what Set… added
}

// Field is one ext field. A nil Value is Java's null: it counts as absent and isn't written.
type Field struct {
	Key, Value []byte
}

// keptScratch bounds the memory that a resting Header holds on to.
const keptScratch = 4 << 10

// Reset empties h but keeps its memory for the next use.
func (h *Header) Reset() {
	scratch, ext := h.scratch[:0], h.Ext[:0]
	if cap(scratch) > keptScratch {
		scratch = nil
	}
	*h = Header{Ext: ext, scratch: scratch}
}

// IsResponse says whether h belongs to a reply.
func (h *Header) IsResponse() bool { return h.Flag&FlagResponse != 0 }

// IsOneway says whether no reply is expected.
func (h *Header) IsOneway() bool { return h.Flag&FlagOneway != 0 }

// Get returns the value of an ext field; of repeated ones the last. ok is false if it is absent or null.
func (h *Header) Get(key string) (value []byte, ok bool) {
	for i := len(h.Ext) - 1; i >= 0; i-- {
		if string(h.Ext[i].Key) == key {
			v := h.Ext[i].Value
			return v, v != nil
		}
	}
	return nil, false
}

// Unique drops ext fields that are repeated later and null ones, keeping the order of the rest.
// Decode leaves them, as nobody who looks fields up by name is disturbed; who walks all of them should call it first.
func (h *Header) Unique() {
	kept := h.Ext[:0]
	for i, f := range h.Ext {
		if f.Value == nil || repeatedLater(h.Ext[i+1:], f.Key) {
			continue
		}
		kept = append(kept, f)
	}
	h.Ext = kept
}

func repeatedLater(rest []Field, key []byte) bool {
	for _, f := range rest {
		if bytes.Equal(f.Key, key) {
			return true
		}
	}
	return false
}

// Reply makes h the header of the reply to req: same encoding and opaque, this server's language and version, no ext fields.
func (h *Header) Reply(req *Header, code int32) {
	t, opaque := req.Type, req.Opaque // req may be h itself
	h.Reset()
	h.Type, h.Opaque, h.Code = t, opaque, code
	h.Flag, h.Language, h.Version = FlagResponse, LanguageGo, Version
}

// Request makes h the header of a request of this program, in JSON, which every peer reads.
func (h *Header) Request(code, opaque int32) {
	h.Reset()
	h.Code, h.Opaque, h.Language, h.Version = code, opaque, LanguageGo, Version
}

// SetRemark copies text into h as the remark; an empty text means none.
func (h *Header) SetRemark(text string) {
	h.Remark = nil
	if text != "" {
		h.Remark = h.keep(text)
	}
}

// keep copies s into h's scratch. Growing scratch leaves earlier copies where they were, so they stay valid.
func (h *Header) keep(s string) []byte {
	at := len(h.scratch)
	h.scratch = append(h.scratch, s...)
	return h.scratch[at:len(h.scratch):len(h.scratch)]
}

func (h *Header) keepBytes(b []byte) []byte {
	at := len(h.scratch)
	h.scratch = append(h.scratch, b...)
	return h.scratch[at:len(h.scratch):len(h.scratch)]
}

// SetString adds an ext field, copying both texts. The Set methods don't look whether the key is there already: the last one counts.
func (h *Header) SetString(key, value string) {
	h.Ext = append(h.Ext, Field{h.keep(key), h.keep(value)})
}

// SetBytes adds an ext field, copying both texts.
func (h *Header) SetBytes(key string, value []byte) {
	h.Ext = append(h.Ext, Field{h.keep(key), h.keepBytes(value)})
}

// SetInt adds an ext field with a number in decimal.
func (h *Header) SetInt(key string, value int64) {
	k := h.keep(key)
	at := len(h.scratch)
	h.scratch = strconv.AppendInt(h.scratch, value, 10)
	h.Ext = append(h.Ext, Field{k, h.scratch[at:len(h.scratch):len(h.scratch)]})
}

// SetBool adds an ext field that is true or false.
func (h *Header) SetBool(key string, value bool) {
	if value {
		h.SetString(key, "true")
	} else {
		h.SetString(key, "false")
	}
}

// sortExt brings the ext fields into the order of their keys, repeated ones in the order they had. Few fields, mostly
// in order already: an insertion sort beats a call of sort.
func (h *Header) sortExt() {
	for i := 1; i < len(h.Ext); i++ {
		for j := i; j > 0 && bytes.Compare(h.Ext[j].Key, h.Ext[j-1].Key) < 0; j-- {
			h.Ext[j], h.Ext[j-1] = h.Ext[j-1], h.Ext[j]
		}
	}
}
