package bench

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// Queue is one queue of the topic under test.
type Queue struct {
	Addr string // of the broker
	ID   int32
}

// content says what messages look like.
type content struct {
	topic, group string
	size, batch  int
	tag, other   string // two tags, or none; other is of the messages outside the share
	share        float64
	props        []Property
	header       wire.Type
	oneWay       bool
	stamped      bool // the body begins with the time of sending
	unique       bool // messages carry a UNIQ_KEY, as those of RocketMQ's clients do
	delay        int  // level
	half         bool // half messages
	born         int64
}

// kinds is how many different requests are made for a queue: one with each tag or, of batches, enough for the share.
func (c *content) kinds() int {
	switch {
	case c.varied(), c.batch > 1 && c.tag != "" && c.share < 1:
		return 64
	case c.tag == "" || c.share >= 1:
		return 1
	}
	return 2
}

// request is a frame and the places in it that change from one sending to the next.
type request struct {
	frame  *client.Frame
	stamps []int // where the times in bodies are
	keys   []int // where the counters of unique keys are
}

// requestsFor makes the requests of one queue.
func (c *content) requestsFor(queue int32, prefix string) ([]request, error) {
	deal := share{f: c.share}
	out := make([]request, c.kinds())
	for k := range out {
		tag := func() string {
			switch {
			case c.tag == "" || c.share >= 1:
				return c.tag
			case c.batch > 1, c.varied():
				if deal.next() {
					return c.tag
				}
				return c.other
			case k == 0:
				return c.tag
			}
			return c.other
		}
		var err error
		if out[k], err = c.request(queue, prefix, tag); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batchItemHead is what stands before the body of an item of a batch: size, magic, CRC, flag, length.
const batchItemHead = 5 * 4

// request makes one frame. prefix begins the unique keys of its lane.
func (c *content) request(queue int32, prefix string, tag func() string) (request, error) {
	var h wire.Header
	code := wire.CodeSendMessageV2
	var body []byte
	bodies := []int{0}
	props := c.properties(prefix, tag, c.batch <= 1)
	if c.batch > 1 {
		code = wire.CodeSendBatchMessage
		var b message.Batch
		bodies = nil
		for range c.batch {
			var err error
			bodies = append(bodies, len(b)+batchItemHead)
			if b, err = message.AppendBatchItem(b, 0, c.body(), c.properties(prefix, tag, true)); err != nil {
				return request{}, fmt.Errorf("make a batch: %w", err)
			}
		}
		body, props = b, nil
	} else {
		body = c.body()
	}
	h.Request(code, 0)
	h.Type = c.header
	if c.oneWay {
		h.Flag |= wire.FlagOneway
	}
	sys := int32(0)
	if c.half {
		sys = message.FlagPrepared
	}
	(&wire.SendHeader{SysFlag: sys, ProducerGroup: []byte(c.group), Topic: []byte(c.topic), DefaultTopic: []byte(message.TopicAutoCreate),
		DefaultTopicQueueNums: 4, QueueID: queue, BornTimestamp: c.born, Properties: props, Batch: c.batch > 1}).Encode(&h)
	f, err := client.NewFrame(&h, body)
	if err != nil {
		return request{}, err
	}
	r := request{frame: f}
	if c.stamped {
		for _, at := range bodies {
			r.stamps = append(r.stamps, len(f.Bytes())-len(body)+at)
		}
	}
	for at, b := 0, f.Bytes(); c.unique; {
		i := bytes.Index(b[at:], []byte(prefix))
		if i < 0 {
			break
		}
		at += i + len(prefix)
		r.keys = append(r.keys, at)
	}
	return r, nil
}

// body makes bytes that don't compress, so that nothing on the way gets an easy time.
func (c *content) body() []byte {
	b := make([]byte, c.size)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func (c *content) properties(prefix string, tag func() string, has bool) message.Properties {
	if !has {
		return nil
	}
	var p message.Properties
	if c.unique {
		p = message.AppendProperty(p, message.PropUniqKey, prefix+"00000000")
	}
	p = message.AppendProperty(p, message.PropWait, "true")
	if t := tag(); t != "" {
		p = message.AppendProperty(p, message.PropTags, t)
	}
	if c.delay > 0 {
		p = message.AppendProperty(p, message.PropDelay, strconv.Itoa(c.delay))
	}
	if c.half {
		p = message.AppendProperty(p, message.PropTransaction, "true")
		p = message.AppendProperty(p, message.PropProducerGroup, c.group)
	}
	for i := range c.props {
		p = message.AppendProperty(p, c.props[i].Name, c.props[i].value())
	}
	return p
}

// varied says whether messages have properties that differ.
func (c *content) varied() bool {
	return slices.ContainsFunc(c.props, func(p Property) bool { return p.Range })
}

// Property is one that messages have: a text and, with Range, a random whole number from Low to High behind it.
type Property struct {
	Name, Text string
	Range      bool
	Low, High  int64
}

func (p *Property) value() string {
	if !p.Range {
		return p.Text
	}
	return p.Text + strconv.FormatInt(p.Low+rand.Int64N(p.High-p.Low+1), 10)
}

// keyPrefix begins the unique keys of one lane: 24 of their 32 digits.
func keyPrefix(lane int) string {
	var b [12]byte
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	b[11] = byte(lane)
	return string(bytes.ToUpper([]byte(hex.EncodeToString(b[:]))))
}

const hexDigits = "0123456789ABCDEF"

// patch makes the request differ from the last one that was sent from this frame.
func (r *request) patch(counter *uint32, now int64) {
	b := r.frame.Bytes()
	for _, at := range r.keys {
		n := *counter
		*counter++
		for i := 7; i >= 0; i-- {
			b[at+i] = hexDigits[n&15]
			n >>= 4
		}
	}
	for _, at := range r.stamps {
		putTime(b[at:], now)
	}
}
