package remoting

import (
	"errors"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// request is one request while it is served: what came, who asks, and the answer as far as it is known. It is reused.
type request struct {
	c      *conn
	h      wire.Header
	body   []byte // nil for none
	caller transport.Caller
	signed signed

	answer  wire.Header // ext fields of the answer
	buf     []byte      // room for an answer's body
	records *lentRecords
	frame   []byte // copy of the frame, of a slow request
}

// errParked is what a serve function returns when the answer will come, or has come, by another way.
var errParked = errors.New("the answer comes later")

// begin makes r the request of a decoded header.
func (r *request) begin(c *conn, body []byte) {
	r.c, r.body, r.records = c, body, nil
	r.answer.Reply(&r.h, 0)
	r.caller = transport.Caller{
		Session:     c,
		Language:    r.h.Language.String(),
		Version:     r.h.Version,
		Credentials: c.credentials(&r.h, body, &r.signed),
	}
}

// drop lets go of the request's bytes before it rests.
func (r *request) drop() {
	r.c, r.body, r.records, r.frame = nil, nil, nil, nil
	r.caller, r.signed = transport.Caller{}, signed{}
	r.h.Reset()
	r.answer.Reset()
	if cap(r.buf) > spoolKeep {
		r.buf = nil
	}
}

// fail answers with an error, if an answer is wanted.
func (r *request) fail(err error) {
	r.answer.Reply(&r.h, 0)
	code, remark := errorAnswer(err)
	r.answer.Code = int32(code)
	r.answer.SetRemark(remark)
	r.send(nil)
}

// send answers with r.answer and a body, if an answer is wanted.
func (r *request) send(body []byte) {
	if r.h.IsOneway() {
		if r.records != nil {
			r.records.release()
		}
		return
	}
	r.c.answer(&r.answer, body, r.records)
}

// json encodes the body of an answer.
func (r *request) json(v any) ([]byte, error) {
	b, err := wire.AppendBody(r.buf[:0], v)
	if err != nil {
		return nil, err
	}
	r.buf = b
	return b, nil
}

// errorAnswer returns the code and remark that tell a client about err.
func errorAnswer(err error) (message.Code, string) {
	var e *message.Error
	if errors.As(err, &e) {
		return e.Code, e.Remark
	}
	return message.SystemError, err.Error()
}

// refuse makes the error that answers with code and remark.
func refuse(code message.Code, remark string) error {
	return &message.Error{Code: code, Remark: remark}
}

// answer queues one answer. records, if not nil, follow the body and are released when they have been written.
func (c *conn) answer(h *wire.Header, body []byte, records *lentRecords) {
	s := c.out.begin()
	if s == nil {
		c.out.end()
		if records != nil {
			records.release()
		}
		return
	}
	c.e.appendAnswer(s, h, body, records)
	c.out.end()
}

// appendAnswer appends a frame to s. An answer that is too long to be read by anybody becomes an error.
func (e *endpoint) appendAnswer(s *spool, h *wire.Header, body []byte, records *lentRecords) {
	size := len(body)
	if records != nil {
		size += records.Size
	}
	b, err := wire.AppendHead(s.b, h, size)
	if err != nil {
		if records != nil {
			records.release()
		}
		h.Ext, h.Code = nil, int32(message.SystemError)
		h.SetRemark(err.Error())
		if b, err = wire.AppendHead(s.b, h, 0); err == nil {
			s.b = b
		}
		return
	}
	s.b = append(b, body...)
	if records != nil && s.take(&records.Records) {
		s.hold(records)
	}
	e.metrics.answered(h.Code)
}

// lentRecords are records on their way from the store to the peer.
type lentRecords struct{ transport.Records }

func (l *lentRecords) release() { l.Release() }
