package remoting

import (
	"bytes"
	"slices"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/sdk/wire"
)

// The ext fields that carry credentials. The signature covers all values but its own.
const (
	fieldAccessKey = "AccessKey"
	fieldSignature = "Signature"
	fieldToken     = "SecurityToken"
)

// signed gives the bytes that a request's signature covers: the values of its ext fields in the order of their keys,
// and the body, without anything in between.
type signed struct {
	h    *wire.Header
	body []byte
}

// AppendSigned appends the signed content, leaving out the fields named in without and the signature itself.
func (s *signed) AppendSigned(dst []byte, without ...string) []byte {
	fields := slices.Clone(s.h.Ext)
	slices.SortStableFunc(fields, func(a, b wire.Field) int { return bytes.Compare(a.Key, b.Key) })
	for i, f := range fields {
		repeated := i+1 < len(fields) && bytes.Equal(f.Key, fields[i+1].Key) // the last one counts
		if repeated || string(f.Key) == fieldSignature || slices.Contains(without, string(f.Key)) {
			continue
		}
		dst = append(dst, f.Value...)
	}
	return append(dst, s.body...)
}

// credentials reads what a request shows. s is used when the request shows anything.
func (c *conn) credentials(h *wire.Header, body []byte, s *signed) auth.Credentials {
	cr := auth.Credentials{Remote: c.remote}
	for _, f := range h.Ext {
		switch string(f.Key) {
		case fieldAccessKey:
			cr.AccessKey = f.Value
		case fieldSignature:
			cr.Signature = f.Value
		case fieldToken:
			cr.Token = f.Value
		}
	}
	if len(cr.Signature) > 0 {
		s.h, s.body = h, body
		cr.Signed = s
	}
	return cr
}
