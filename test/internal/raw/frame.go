// Package raw is the judges' own small client of the RocketMQ remoting protocol.
//
// It shares no code with weir: a mistake in weir's codec must not hide itself by being made on both sides. It speaks
// JSON headers only, knows just the requests that tests need, and is built for asserting, not for speed: codes and
// remarks come back as they were sent, an error means that the connection failed.
package raw

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Frame is a request or a response.
type Frame struct {
	Code   int               `json:"code"`
	Flag   int               `json:"flag"`
	Opaque int32             `json:"opaque"`
	Remark string            `json:"remark,omitempty"`
	Ext    map[string]string `json:"extFields,omitempty"`

	Language string `json:"language"`
	Version  int    `json:"version"`

	Body []byte `json:"-"`
}

// Bits of Frame.Flag.
const (
	flagResponse = 1
	flagOneWay   = 2
)

// What we say we are: a Go client of 4.9.7.
const (
	language = "GO"
	version  = 407
)

const maxFrame = 16 << 20

// encode lays out length, header length (the highest byte, 0, means JSON), header and body.
func (f *Frame) encode() ([]byte, error) {
	header, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode request %d: %w", f.Code, err)
	}
	b := make([]byte, 8, 8+len(header)+len(f.Body))
	binary.BigEndian.PutUint32(b, uint32(4+len(header)+len(f.Body)))
	binary.BigEndian.PutUint32(b[4:], uint32(len(header)))
	b = append(b, header...)
	return append(b, f.Body...), nil
}

func readFrame(r io.Reader) (*Frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	header := int(binary.BigEndian.Uint32(head[4:]))
	if length < 4 || length > maxFrame || header > length-4 {
		return nil, fmt.Errorf("read frame: length %d with header length %#x", length, header)
	}
	rest := make([]byte, length-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return nil, err
	}
	f := &Frame{}
	if err := json.Unmarshal(rest[:header], f); err != nil {
		return nil, fmt.Errorf("read frame: header %q: %w", rest[:header], err)
	}
	f.Body = rest[header:]
	return f, nil
}
