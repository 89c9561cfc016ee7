package wire

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weirmq/weir/core/message"
)

// The compressed body of REGISTER_BROKER is a zlib stream of
//
//	 i32 n + data version as JSON | i32 count of topics | for each i32 n + text | i32 n + filter servers as JSON list
//
// where the text of a topic is "name readQueues writeQueues perm filterType". The other settings of a topic are lost.

// maxRegister bounds what a compressed body may unpack to; a million topics take a quarter of it.
const maxRegister = 256 << 20

// AppendCompressed appends r to dst in the compressed form.
func (r *RegisterBroker) AppendCompressed(dst []byte) ([]byte, error) {
	var raw []byte
	part := func(text []byte) {
		raw = binary.BigEndian.AppendUint32(raw, uint32(len(text)))
		raw = append(raw, text...)
	}
	version, err := AppendBody(nil, &r.Topics.DataVersion)
	if err != nil {
		return dst, err
	}
	part(version)
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(r.Topics.TopicConfigTable)))
	for _, c := range r.Topics.TopicConfigTable {
		part(fmt.Appendf(nil, "%s %d %d %d %s", c.TopicName, c.ReadQueueNums, c.WriteQueueNums, c.Perm, c.TopicFilterType))
	}
	filters, err := AppendBody(nil, r.FilterServerList)
	if err != nil {
		return dst, err
	}
	part(filters)
	buf := bytes.NewBuffer(dst)
	z := zlib.NewWriter(buf)
	if _, err := z.Write(raw); err != nil {
		return dst, fmt.Errorf("compress broker registration: %w", err)
	}
	if err := z.Close(); err != nil {
		return dst, fmt.Errorf("compress broker registration: %w", err)
	}
	return buf.Bytes(), nil
}

// ParseCompressed reads the compressed form into r. Memory is bounded by 256 MiB however small data is. The error is a
// *message.Error with SystemError.
func (r *RegisterBroker) ParseCompressed(data []byte) error {
	if err := r.parseCompressed(data); err != nil {
		return &message.Error{Code: message.SystemError, Remark: "the compressed registration can't be read: " + err.Error()}
	}
	return nil
}

func (r *RegisterBroker) parseCompressed(data []byte) error {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxRegister+1))
	if err != nil {
		return err
	}
	if len(raw) > maxRegister {
		return fmt.Errorf("it unpacks to more than %d bytes", maxRegister)
	}
	*r = RegisterBroker{Topics: TopicTable{TopicConfigTable: map[string]TopicConfig{}}}
	p := parts{raw}
	text, err := p.next()
	if err != nil {
		return err
	}
	if err := ParseBody(text, &r.Topics.DataVersion); err != nil {
		return err
	}
	n, err := p.i32()
	if err != nil {
		return err
	}
	for range n {
		if text, err = p.next(); err != nil {
			return err
		}
		c, err := parseTopicText(string(text))
		if err != nil {
			return err
		}
		r.Topics.TopicConfigTable[c.TopicName] = c
	}
	if text, err = p.next(); err != nil {
		return err
	}
	return ParseBody(text, &r.FilterServerList)
}

// parts is what is left of an unpacked body.
type parts struct{ b []byte }

func (p *parts) i32() (int, error) {
	if len(p.b) < 4 {
		return 0, io.ErrUnexpectedEOF
	}
	n := int(int32(binary.BigEndian.Uint32(p.b)))
	if p.b = p.b[4:]; n < 0 || n > len(p.b) { // every topic takes more than a byte
		return 0, fmt.Errorf("length or count %d with %d bytes left", n, len(p.b))
	}
	return n, nil
}

func (p *parts) next() ([]byte, error) {
	n, err := p.i32()
	if err != nil {
		return nil, err
	}
	text := p.b[:n]
	p.b = p.b[n:]
	return text, nil
}

func parseTopicText(s string) (TopicConfig, error) {
	var c TopicConfig
	c.SetDefaults()
	f := strings.Split(s, " ")
	if len(f) != 5 {
		return c, fmt.Errorf("topic text %.128q has %d words, want 5", s, len(f))
	}
	c.TopicName = f[0]
	for i, n := range []*int32{&c.ReadQueueNums, &c.WriteQueueNums, &c.Perm} {
		v, err := strconv.ParseInt(f[i+1], 10, 32)
		if err != nil {
			return c, fmt.Errorf("topic text %.128q: %w", s, err)
		}
		*n = int32(v)
	}
	switch {
	case strings.EqualFold(f[4], string(MultiTag)):
		c.TopicFilterType = MultiTag
	case !strings.EqualFold(f[4], string(SingleTag)):
		return c, fmt.Errorf("topic text %.128q: filter type %.32q is none", s, f[4])
	}
	return c, nil
}
