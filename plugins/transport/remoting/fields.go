package remoting

import (
	"github.com/weirmq/weir/core/message"
)

// fieldReader reads a request's ext fields one by one and keeps the first error, so that a serve function asks once.
type fieldReader struct {
	r   *request
	err error
}

func (r *request) fields() fieldReader { return fieldReader{r: r} }

func (f *fieldReader) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// text returns a required text.
func (f *fieldReader) text(key string) string {
	s, err := f.r.h.Text(key)
	f.note(err)
	return s
}

// name returns a required text that comes again and again.
func (f *fieldReader) name(key string) string {
	b, err := f.r.h.Bytes(key)
	f.note(err)
	if f.r.frame != nil { // the interner is the reader's
		return string(b)
	}
	return f.r.c.names.text(b)
}

// opt returns an optional field, nil when it is absent.
func (f *fieldReader) opt(key string) []byte {
	b, _ := f.r.h.Get(key)
	return b
}

func (f *fieldReader) int32(key string) int32 {
	n, err := f.r.h.Int32(key)
	f.note(err)
	return n
}

func (f *fieldReader) optInt32(key string, def int32) int32 {
	n, err := f.r.h.OptInt32(key, def)
	f.note(err)
	return n
}

func (f *fieldReader) int64(key string) int64 {
	n, err := f.r.h.Int64(key)
	f.note(err)
	return n
}

// queue returns the queue that the fields topic and queueId name.
func (f *fieldReader) queue() message.QueueKey {
	return message.QueueKey{Topic: f.name("topic"), ID: message.QueueID(f.int32("queueId"))}
}
