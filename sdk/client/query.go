package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// KeyQuery asks one broker for messages of a topic by key.
type KeyQuery struct {
	Topic string
	Key   string
	// Unique says that Key is a producer's message id.
	Unique bool
	Max    int   // most messages; 32 when 0. A broker has a bound of its own, 64 by default, and 32 for unique keys
	Begin  int64 // earliest store time in ms
	End    int64 // latest store time in ms
}

// QueryMessages returns the messages of one broker that have a key, in the order of its log; none is no error. The broker finds them by a
// hash, so its answer may hold others, which are left out here as RocketMQ's clients do.
func (c *Client) QueryMessages(ctx context.Context, broker, addr string, q KeyQuery) ([]*Received, error) {
	h := &wire.QueryMessageHeader{Topic: q.Topic, Key: q.Key, MaxNum: int32(q.Max), BeginTimestamp: q.Begin, EndTimestamp: q.End, UniqueKey: q.Unique}
	if q.Max <= 0 {
		h.MaxNum = 32
	}
	r, err := c.Call(ctx, addr, wire.CodeQueryMessage, h, nil)
	var said *message.Error
	if errors.As(err, &said) && said.Code == message.QueryNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*Received
	for body := r.Body; len(body) > 0; {
		rec, n, err := message.ParseRecord(body)
		if err != nil {
			return nil, fmt.Errorf("messages by key from %s: %d bytes before the end of the answer: %w", addr, len(body), err)
		}
		body = body[n:]
		m := receive(rec, Queue{Topic: string(rec.Topic()), Broker: broker, Addr: addr, ID: int32(rec.QueueID())})
		if m.Topic == q.Topic && m.hasKey(q.Key, q.Unique) {
			out = append(out, m)
		}
	}
	return out, nil
}

func (m *Received) hasKey(key string, unique bool) bool {
	if unique {
		return m.Properties[message.PropUniqKey] == key
	}
	return slices.Contains(strings.Fields(m.Properties[message.PropKeys]), key)
}

// MessageAt returns the message at a position of one broker's commit log.
func (c *Client) MessageAt(ctx context.Context, broker, addr string, at message.Position) (*Received, error) {
	rec, err := c.ViewMessage(ctx, addr, at)
	if err != nil {
		return nil, err
	}
	return receive(rec, Queue{Topic: string(rec.Topic()), Broker: broker, Addr: addr, ID: int32(rec.QueueID())}), nil
}
