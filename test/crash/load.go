// Package crash kills a broker again and again while it takes messages, and looks for what it had promised.
//
// A load of many senders runs until the broker is killed; each message is sent once and says which it is. After the
// restart, without any help, every acknowledged message must be in its queue, at the offset that its sender was told and
// with its bytes; queues are without gaps; and what could be read before can be read still. A message that was under
// way may be there, once, or not.
//
// Two more loops do so with messages that come later or on a condition: delayed ones, committed and rolled back transactions, and
// retries. They come at least once and never early, or never.
package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/test/internal/raw"
)

// The shape of the load.
const (
	topic       = "CrashTopic"
	queues      = 4
	connections = 4
	senders     = 8 // on each connection
)

// ack is a promise: the message is in the queue at the offset.
type ack struct {
	seq    uint64
	queue  int
	offset int64
}

// load sends messages numbered on from where the last load ended.
type load struct {
	next *atomic.Uint64

	mu   sync.Mutex
	acks []ack
	want int           // acknowledgements until enough is closed
	full chan struct{} // closed then
}

// run sends to the broker until the context or the connections end, and returns every acknowledgement.
func (l *load) run(ctx context.Context, addr string) ([]ack, error) {
	var conns [connections]*raw.Conn
	for i := range conns { // all before the first send, which may be the one that the kill waits for
		conn, err := raw.Dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		conns[i] = conn
	}
	var all sync.WaitGroup
	for _, conn := range conns {
		for range senders {
			all.Go(func() { l.send(ctx, conn) })
		}
	}
	all.Wait()
	return l.acks, nil
}

// send sends one message after the other, one in sixteen times a batch.
func (l *load) send(ctx context.Context, conn *raw.Conn) {
	for {
		count := uint64(1)
		if rand.IntN(16) == 0 {
			count = 2 + rand.Uint64N(8)
		}
		first := l.next.Add(count) - count
		queue := int(first % queues)
		batch := make([]*raw.Message, count)
		for i := range batch {
			seq := first + uint64(i)
			batch[i] = &raw.Message{Topic: topic, Queue: queue, Body: body(seq), Properties: raw.FormatProperties("TAGS", "Tag", "seq", fmt.Sprint(seq), "mod", fmt.Sprint(seq%10))}
		}
		var sent *raw.Sent
		var err error
		if count == 1 {
			sent, err = conn.Send(ctx, batch[0])
		} else {
			sent, err = conn.SendBatch(ctx, batch)
		}
		if err != nil {
			return // the broker is gone, or says no because it is going
		}
		l.note(first, int(count), sent)
	}
}

func (l *load) note(first uint64, count int, sent *raw.Sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range count {
		l.acks = append(l.acks, ack{seq: first + uint64(i), queue: sent.Queue, offset: sent.Offset + int64(i)})
	}
	before := l.want
	l.want -= count
	if before > 0 && l.want <= 0 {
		close(l.full)
	}
}

// body is the number of a message and then up to 2,000 bytes that follow from it.
func body(seq uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, seq)
	length := 8 + int(seq*2654435761%2000)
	var pattern [8]byte
	binary.LittleEndian.PutUint64(pattern[:], seq*0x9E3779B97F4A7C15)
	for len(b) < length {
		b = append(b, pattern[:]...)
	}
	return b[:length]
}

// sequence reads the number of a message and checks its bytes.
func sequence(b []byte) (uint64, error) {
	if len(b) < 8 {
		return 0, fmt.Errorf("body of %d bytes", len(b))
	}
	seq := binary.BigEndian.Uint64(b)
	if !bytes.Equal(b, body(seq)) {
		return 0, fmt.Errorf("body that starts with number %d has other bytes than were sent", seq)
	}
	return seq, nil
}
