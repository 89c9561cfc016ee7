package differ

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sort"
)

// frame is a request or response as it is on the wire, in either of the two header encodings.
//
//	4 length | 1 type | 3 header length | header | body
//	binary header: 2 code | 1 language | 2 version | 4 opaque | 4 flag | 4+n remark | 4+n fields (2+n name, 4+n value)
type frame struct {
	binary   bool
	code     int
	language string
	version  int
	opaque   int32
	flag     int
	remark   string
	ext      map[string]string
	body     []byte
}

const (
	flagResponse = 1
	flagOneWay   = 2
)

// header is the JSON form of a frame's header. Java's fields of answers are strings; others would show as an error.
type header struct {
	Code     int               `json:"code"`
	Flag     int               `json:"flag"`
	Opaque   int32             `json:"opaque"`
	Remark   string            `json:"remark,omitempty"`
	Ext      map[string]string `json:"extFields,omitempty"`
	Language string            `json:"language"`
	Version  int               `json:"version"`
}

func (f *frame) encode() []byte {
	if f.binary {
		return pack(1, f.binaryHeader(), f.body)
	}
	text, err := json.Marshal(header{f.code, f.flag, f.opaque, f.remark, f.ext, f.language, f.version})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return pack(0, text, f.body)
}

func pack(kind byte, head, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(head)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(kind)<<24|uint32(len(head)))
	b = append(b, head...)
	return append(b, body...)
}

func (f *frame) binaryHeader() []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(f.code))
	b = append(b, 9) // GO
	b = binary.BigEndian.AppendUint16(b, uint16(f.version))
	b = binary.BigEndian.AppendUint32(b, uint32(f.opaque))
	b = binary.BigEndian.AppendUint32(b, uint32(f.flag))
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.remark)))
	b = append(b, f.remark...)
	var fields []byte
	for _, key := range sortedKeys(f.ext) {
		fields = binary.BigEndian.AppendUint16(fields, uint16(len(key)))
		fields = append(fields, key...)
		fields = binary.BigEndian.AppendUint32(fields, uint32(len(f.ext[key])))
		fields = append(fields, f.ext[key]...)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(fields)))
	return append(b, fields...)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func readFrame(r *bufio.Reader) (*frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	size := int(binary.BigEndian.Uint32(head[4:]) & 0xFFFFFF)
	if length < 4 || length > 64<<20 || size > length-4 {
		return nil, fmt.Errorf("a frame of length %d with a header of %d", length, size)
	}
	rest := make([]byte, length-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, err
	}
	f := &frame{binary: head[4] == 1, body: rest[size:]}
	if f.binary {
		return f, f.decodeBinary(rest[:size])
	}
	var h header
	if err := json.Unmarshal(rest[:size], &h); err != nil {
		return nil, fmt.Errorf("header %q: %w", rest[:size], err)
	}
	f.code, f.flag, f.opaque, f.remark, f.ext, f.language, f.version = h.Code, h.Flag, h.Opaque, h.Remark, h.Ext, h.Language, h.Version
	return f, nil
}

func (f *frame) decodeBinary(b []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("binary header %x is cut off", b)
		}
	}()
	take := func(n int) []byte { v := b[:n]; b = b[n:]; return v }
	u32 := func() int { return int(int32(binary.BigEndian.Uint32(take(4)))) }
	f.code = int(int16(binary.BigEndian.Uint16(take(2))))
	take(1)
	f.version = int(int16(binary.BigEndian.Uint16(take(2))))
	f.opaque, f.flag = int32(u32()), u32()
	f.remark = string(take(u32()))
	fields := take(u32())
	for b = fields; len(b) > 0; {
		if f.ext == nil {
			f.ext = map[string]string{}
		}
		key := string(take(int(binary.BigEndian.Uint16(take(2)))))
		f.ext[key] = string(take(u32()))
	}
	return nil
}
