package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// Consume says what to read. One pull is in flight for each queue, as RocketMQ's consumers do it.
type Consume struct {
	Client       *client.Client // makes the connections
	Topic, Group string
	Queues       []Position
	Connections  int
	Batch        int32  // most messages in an answer
	Filter       string // expression, * for everything
	FilterType   string // TAG or SQL92
	Rounds       int    // read everything so often; 1 when 0
	Follow       bool   // wait for more at the end, until Duration is over or Count reached
	Binary       bool
	Duration     time.Duration // 0 for until the end
	Count        int64         // messages; 0 for all
	PID          int

	endToEnd bool // bodies begin with the time of sending
	clock    clock
	warm     int64
}

// Position is where reading of a queue begins and ends.
type Position struct {
	Queue
	From, To int64
}

// Settings describes the run.
func (c *Consume) Settings() map[string]any {
	s := map[string]any{"topic": c.Topic, "queues": len(c.Queues), "connections": c.Connections, "batch": c.Batch}
	if c.Filter != "" && c.Filter != message.SubscribeAll {
		s["filter"], s["filter_type"] = c.Filter, c.FilterType
	}
	return s
}

// Pulls that find nothing are held this long when following; a pull may be answered this much later.
const (
	holdTime    = 2 * time.Second
	pullTimeout = 30 * time.Second
)

// consumer is one lane: a connection and the queues that are pulled over it. Replies come on the connection's reading
// goroutine, one at a time, so nothing but the start needs the lock.
type consumer struct {
	plan   *Consume
	phases *phases
	clock  clock
	conn   *client.Conn

	mu     sync.Mutex
	queues []*reading
	active int
	tally  tally
	e2e    *hdrhistogram.Histogram
	idle   chan struct{}
}

// reading is one queue's progress.
type reading struct {
	Position
	frame  *client.Frame // of the next pull
	digits []byte        // where it has the offset
	offset int64
	round  int
	asked  int64 // when the pull was sent
}

// Run reads and returns what was measured.
func (c *Consume) Run(ctx context.Context) (*Result, error) {
	if c.clock == (clock{}) {
		c.clock = clock{time.Now()}
	}
	c.Connections, c.Rounds, c.Batch = max(1, c.Connections), max(1, c.Rounds), max(1, c.Batch)
	ph := &phases{limited: c.Count > 0, warm: c.warm}
	ph.left.Store(c.Count)
	lanes, err := c.lanes(ctx, ph)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, l := range lanes {
			_ = l.conn.Close()
		}
	}()
	return c.measure(ctx, ph, lanes)
}

func (c *Consume) lanes(ctx context.Context, ph *phases) ([]*consumer, error) {
	if len(c.Queues) == 0 {
		return nil, errors.New("the topic has no queue that can be read")
	}
	byAddr := map[string][]*consumer{}
	turn := map[string]int{}
	var lanes []*consumer
	for _, q := range c.Queues {
		if byAddr[q.Addr] == nil {
			for range c.Connections {
				conn, err := c.Client.Dial(ctx, q.Addr, client.ConnOptions{Window: max(len(c.Queues), 16)})
				if err != nil {
					return nil, err
				}
				l := &consumer{plan: c, phases: ph, clock: c.clock, conn: conn, tally: newTally(), e2e: newHistogram(), idle: make(chan struct{})}
				byAddr[q.Addr] = append(byAddr[q.Addr], l)
				lanes = append(lanes, l)
			}
		}
		l := byAddr[q.Addr][turn[q.Addr]%c.Connections]
		turn[q.Addr]++
		r := &reading{Position: q, offset: q.From}
		var err error
		if r.frame, r.digits, err = c.pull(q.ID); err != nil {
			return nil, err
		}
		l.queues = append(l.queues, r)
	}
	return lanes, nil
}

// offsetDigits is how many digits a pull's offset is written with, leading zeros included, so that it can be put into a
// frame that was made in advance. Every broker reads them as a number.
const offsetDigits = 19

// pull makes the frame of a queue's pulls, and finds the offset in it.
func (c *Consume) pull(queue int32) (*client.Frame, []byte, error) {
	var h wire.Header
	h.Request(wire.CodePullMessage, 0)
	if c.Binary {
		h.Type = wire.Binary
	}
	p := wire.PullHeader{ConsumerGroup: []byte(c.Group), Topic: []byte(c.Topic), QueueID: queue, QueueOffset: math.MaxInt64,
		MaxMsgNums: c.Batch, SysFlag: message.PullSubscription, Subscription: []byte(c.Filter),
		SuspendTimeoutMillis: holdTime.Milliseconds()}
	if c.Follow {
		p.SysFlag |= message.PullSuspend
	}
	if c.FilterType != "" && c.FilterType != message.ExpressionTag {
		p.ExpressionType = []byte(c.FilterType)
	}
	p.Encode(&h)
	f, err := client.NewFrame(&h, nil)
	if err != nil {
		return nil, nil, err
	}
	at := bytes.Index(f.Bytes(), strconv.AppendInt(nil, math.MaxInt64, 10))
	if at < 0 {
		return nil, nil, errors.New("make a pull: the offset is not in it")
	}
	return f, f.Bytes()[at : at+offsetDigits], nil
}

// putOffset writes n into the digits of a frame.
func putOffset(digits []byte, n int64) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}

func (c *Consume) measure(ctx context.Context, ph *phases, lanes []*consumer) (*Result, error) {
	s := sampler{pid: c.PID}
	if wait := c.warm - c.clock.now(); !c.endToEnd && wait > 0 {
		return nil, errors.New("a drain has no warm-up")
	}
	s.begin()
	began := c.clock.now()
	if c.Duration > 0 {
		ph.end.Store(began + int64(c.Duration))
	}
	for _, l := range lanes {
		l.start()
	}
	for _, l := range lanes {
		select {
		case <-l.idle:
		case <-ctx.Done():
			ph.end.Store(c.clock.now())
			<-l.idle
		}
	}
	total, e2e := newTally(), newHistogram()
	usage := &Result{}
	sampled := s.end(usage)
	for _, l := range lanes {
		l.mu.Lock()
		total.merge(&l.tally)
		e2e.Merge(l.e2e)
		l.mu.Unlock()
	}
	seconds := float64(total.last-began) / 1e9
	if c.warm > 0 {
		seconds = float64(total.last-c.warm) / 1e9
	}
	r := total.result("consume", seconds)
	r.Settings, r.Broker, r.Client = c.Settings(), usage.Broker, usage.Client
	perMessage(r)
	if c.endToEnd {
		e := latencyOf(e2e)
		r.EndToEnd = &e
	}
	return r, sampled
}

// start sends the first pull of each queue.
func (l *consumer) start() {
	l.conn.Hold()
	l.mu.Lock()
	for i := range l.queues {
		l.active++
		l.pullLocked(uint64(i))
	}
	if l.active == 0 {
		l.endLocked()
	}
	l.mu.Unlock()
	l.conn.Release()
}

// pullLocked asks for the next messages of a queue, or ends it.
func (l *consumer) pullLocked(token uint64) {
	q := l.queues[token]
	now := l.clock.now()
	end := l.phases.end.Load()
	if end != 0 && now >= end || l.phases.limited && l.phases.left.Load() <= 0 {
		l.endLocked()
		return
	}
	if q.offset >= q.To && !l.plan.Follow {
		if q.round++; q.round >= l.plan.Rounds {
			l.endLocked()
			return
		}
		q.offset = q.From
	}
	putOffset(q.digits, q.offset)
	q.asked = now
	if err := l.conn.SubmitFrame(q.frame, l, token, pullTimeout); err != nil {
		l.tally.fail(what(err), 0)
		l.endLocked()
	}
}

// endLocked ends one queue.
func (l *consumer) endLocked() {
	if l.active > 0 {
		l.active--
	}
	if l.active > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}

// Reply counts what a pull brought and sends the next one.
func (l *consumer) Reply(token uint64, r *client.Reply) {
	now := l.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[token]
	if err := r.Err(); err != nil {
		l.tally.fail(what(err), 0)
		if errors.Is(err, client.ErrTimeout) {
			l.pullLocked(token)
			return
		}
		l.endLocked()
		return
	}
	switch message.Code(r.Code()) {
	case message.Success, message.PullNotFound, message.PullRetryImmediately, message.PullOffsetMoved:
	default:
		l.tally.fail(what(r.Failure()), 0)
		l.endLocked() // the same question would get the same answer
		return
	}
	next, err := r.Int64("nextBeginOffset")
	if err != nil {
		l.tally.fail(err.Error(), 0)
		l.endLocked()
		return
	}
	if message.Code(r.Code()) == message.Success || next > q.offset {
		l.countLocked(q, r, next, now)
	} else if !l.plan.Follow {
		q.offset, next = q.To, q.To // the end came earlier than thought
	}
	q.offset = next
	l.pullLocked(token)
}

// countLocked walks the records of an answer.
func (l *consumer) countLocked(q *reading, r *client.Reply, next, now int64) {
	body := r.Body()
	n, bad := l.walk(body, now)
	if bad {
		l.tally.fail("BAD_RECORD", 1)
	}
	if l.phases.limited {
		l.phases.left.Add(-n)
	}
	if !l.phases.counted(now) {
		return
	}
	l.tally.record(now, q.asked, n, int64(len(body)))
	l.tally.entries += next - q.offset
}

// walk counts records by their sizes.
func (l *consumer) walk(body []byte, now int64) (n int64, bad bool) {
	for len(body) > 0 {
		if len(body) < message.MinRecordSize {
			return n, true
		}
		size := int(binary.BigEndian.Uint32(body))
		if size < message.MinRecordSize || size > len(body) {
			return n, true
		}
		if l.plan.endToEnd && l.phases.counted(now) {
			l.timeOf(message.Record(body[:size]), now)
		}
		n++
		body = body[size:]
	}
	return n, false
}

// timeOf records how long a message took from the producer's patch to here.
func (l *consumer) timeOf(r message.Record, now int64) {
	if b := r.Body(); len(b) >= 8 {
		sent := int64(binary.BigEndian.Uint64(b))
		_ = l.e2e.RecordValue(max(lowest, min(now-sent, highest)))
	}
}
