package remoting

import (
	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/sdk/wire"
)

// kept holds what requests that are collected show until the broker has looked at it: the header that they were decoded into is used for the
// next request. It is reused.
type kept struct {
	arena   []byte
	headers []*signedHeader
	n       int    // headers in use
	signed  signed // of the request that is being read
}

// signedHeader is the header of a signed request.
type signedHeader struct {
	h wire.Header
	signed
}

// keep copies v. Growing the arena leaves earlier copies where they are.
func (k *kept) keep(v []byte) []byte {
	at := len(k.arena)
	k.arena = append(k.arena, v...)
	return k.arena[at:len(k.arena):len(k.arena)]
}

// credentials returns what a request shows. A signed one keeps its header.
func (k *kept) credentials(c *conn, h *wire.Header, body []byte) auth.Credentials {
	cr := c.credentials(h, body, &k.signed)
	if cr.AccessKey != nil {
		cr.AccessKey = k.keep(cr.AccessKey)
	}
	if cr.Token != nil {
		cr.Token = k.keep(cr.Token)
	}
	if cr.Signed != nil {
		cr.Signature = k.keep(cr.Signature)
		if k.n == len(k.headers) {
			k.headers = append(k.headers, &signedHeader{})
		}
		own := k.headers[k.n]
		k.n++
		own.h.Reset()
		for _, e := range h.Ext {
			own.h.Ext = append(own.h.Ext, wire.Field{Key: k.keep(e.Key), Value: k.keep(e.Value)})
		}
		own.signed = signed{h: &own.h, body: body}
		cr.Signed = &own.signed
	}
	return cr
}

// drop empties k, so that it holds on to nobody's bytes.
func (k *kept) drop() {
	for _, h := range k.headers[:k.n] {
		h.signed = signed{}
		h.h.Reset()
	}
	k.signed, k.n, k.arena = signed{}, 0, k.arena[:0]
	if cap(k.arena) > spoolKeep {
		k.arena = nil
	}
}
