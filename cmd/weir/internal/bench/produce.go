package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// requestTimeout is after how long a request counts as failed.
const requestTimeout = 10 * time.Second

// Produce says what to send and how fast.
type Produce struct {
	Client       *client.Client // makes the connections
	Topic, Group string
	Queues       []Queue
	Connections  int
	InFlight     int     // requests, over all connections
	Rate         float64 // messages per second of an open loop; 0 for a closed one
	Size         int     // bytes of a body
	Batch        int     // messages in a request
	Tag          string  // of Share of the messages; the others have OtherTag
	OtherTag     string
	Share        float64
	Properties   []Property
	OneWay       bool
	Binary       bool // headers in RocketMQ's binary encoding
	NoUniqueKey  bool // leave out the UNIQ_KEY that RocketMQ's clients add
	DelayLevel   int  // of the messages, 0 for none
	Transactions bool // each message is a half message, which is committed when it is stored
	// Returned are stored messages that Group gives back, over and over, in place of sending; DelayLevel says for how long.
	Returned []Stored
	// Queried are stored messages that are looked up by their unique keys, over and over, in place of sending.
	Queried  []Stored
	Warmup   time.Duration
	Duration time.Duration
	Count    int64 // messages; 0 for as many as Duration brings
	PID      int   // of the broker, to sample; 0 for none
	// Ended returns how many messages the queues hold, to compare before and after. May be nil.
	Ended func(context.Context) (int64, error)

	stamped bool // for RunBoth
	clock   clock
}

// Settings describes the run.
func (p *Produce) Settings() map[string]any {
	s := map[string]any{"topic": p.Topic, "queues": len(p.Queues), "connections": p.Connections, "size": p.Size,
		"batch": p.Batch, "one_way": p.OneWay, "header": p.headerType().String(), "warmup_s": p.Warmup.Seconds()}
	if p.Rate > 0 {
		s["rate"] = p.Rate
	} else {
		s["in_flight"] = p.InFlight
	}
	if p.Tag != "" {
		s["tag"], s["tag_share"] = p.Tag, p.Share
	}
	if p.DelayLevel != 0 {
		s["delay_level"] = p.DelayLevel
	}
	if p.Transactions {
		s["transactions"] = true
	}
	return s
}

func (p *Produce) headerType() wire.Type {
	if p.Binary {
		return wire.Binary
	}
	return wire.JSON
}

func putTime(b []byte, t int64) { binary.BigEndian.PutUint64(b, uint64(t)) }

// producer is one lane.
type producer struct {
	plan    *Produce
	phases  *phases
	clock   clock
	conn    *client.Conn
	commits *commits // nil without transactions

	mu       sync.Mutex // guards what follows; uncontended in a closed loop
	requests [][]request
	queue    int
	deal     share
	kind     int
	counter  uint32
	each     int64   // messages in a request
	begun    []int64 // by token: when the request was due
	free     []uint32
	flying   int
	over     bool
	tally    tally
	idle     chan struct{} // closed when the run is over and nothing is in flight

	// Of an open loop.
	every float64 // ns between requests
	due   int64   // requests sent, which gives the time of the next
}

// Run sends and returns what was measured.
func (p *Produce) Run(ctx context.Context) (*Result, error) {
	p.defaults()
	var before int64
	if p.Ended != nil {
		var err error
		if before, err = p.Ended(ctx); err != nil {
			return nil, err
		}
	}
	ph := &phases{warm: int64(p.Warmup), limited: p.Count > 0}
	ph.left.Store(p.Count)
	lanes, err := p.lanes(ctx, ph)
	if err != nil {
		return nil, err
	}
	defer closeAll(lanes)
	r, err := p.measure(ctx, ph, lanes)
	if err != nil {
		return nil, err
	}
	if p.Ended != nil {
		after, err := p.settled(ctx, before+r.Messages)
		if err != nil {
			return nil, err
		}
		r.Stored = after - before
	}
	return r, nil
}

// settled asks how many messages there are until all that were acknowledged are counted and no more come: brokers make
// messages visible a moment after they have answered.
func (p *Produce) settled(ctx context.Context, least int64) (int64, error) {
	last := int64(-1)
	for tries := 0; ; tries++ {
		n, err := p.Ended(ctx)
		if err != nil || n == last && (n >= least || tries > 50) {
			return n, err
		}
		last = n
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *Produce) defaults() {
	p.Connections = max(1, p.Connections)
	p.InFlight = max(p.Connections, p.InFlight)
	p.Batch = max(1, p.Batch)
	if p.Tag != "" && p.Share == 0 {
		p.Share = 1
	}
	if p.clock == (clock{}) {
		p.clock = clock{time.Now()}
	}
}

func closeAll(lanes []*producer) {
	for _, l := range lanes {
		_ = l.conn.Close()
	}
}

// lanes makes the connections and their frames. Each is of one broker; with more brokers than connections there is one
// for each.
func (p *Produce) lanes(ctx context.Context, ph *phases) ([]*producer, error) {
	byAddr := map[string][]Queue{}
	var addrs []string
	for _, q := range p.Queues {
		if byAddr[q.Addr] == nil {
			addrs = append(addrs, q.Addr)
		}
		byAddr[q.Addr] = append(byAddr[q.Addr], q)
	}
	if len(addrs) == 0 {
		return nil, errors.New("the topic has no queue that can be written to")
	}
	n := max(p.Connections, len(addrs))
	window := (p.InFlight + n - 1) / n
	if p.Rate > 0 {
		window = min(client.MaxWindow, 1<<15)
	}
	c := content{topic: p.Topic, group: p.Group, size: p.Size, batch: p.Batch, tag: p.Tag, other: p.OtherTag, share: p.Share, props: p.Properties,
		header: p.headerType(), oneWay: p.OneWay, stamped: p.stamped, unique: !p.NoUniqueKey, delay: p.DelayLevel, half: p.Transactions,
		born: time.Now().UnixMilli()}
	if c.stamped {
		c.size = max(c.size, 8)
	}
	var lanes []*producer
	for i := range n {
		l := &producer{plan: p, phases: ph, clock: p.clock, deal: share{f: p.Share}, each: int64(p.Batch), queue: i,
			begun: make([]int64, window), tally: newTally(), idle: make(chan struct{})}
		for t := range window {
			l.free = append(l.free, uint32(window-1-t))
		}
		if p.Rate > 0 {
			l.every = 1e9 * float64(p.Batch) * float64(n) / p.Rate
		}
		addr := addrs[i%len(addrs)]
		if err := l.prepare(&c, byAddr[addr], keyPrefix(i), window); err != nil {
			return lanes, err
		}
		var err error
		if l.conn, err = p.Client.Dial(ctx, addr, client.ConnOptions{Window: window}); err != nil {
			closeAll(lanes)
			return nil, err
		}
		lanes = append(lanes, l)
	}
	return lanes, nil
}

// prepare makes the frames that a lane sends to the queues of one broker.
func (l *producer) prepare(c *content, queues []Queue, prefix string, window int) (err error) {
	if len(l.plan.Returned)+len(l.plan.Queried) > 0 {
		rs, err := l.plan.repeated(queues[0].Addr)
		l.requests = [][]request{rs}
		return err
	}
	for _, q := range queues {
		rs, err := c.requestsFor(q.ID, prefix)
		if err != nil {
			return err
		}
		l.requests = append(l.requests, rs)
	}
	if l.plan.Transactions {
		l.commits, err = newCommits(c.group, c.header, window)
	}
	return err
}

// measure runs the lanes through warm-up and measurement.
func (p *Produce) measure(ctx context.Context, ph *phases, lanes []*producer) (*Result, error) {
	s := sampler{pid: p.PID}
	var end time.Duration
	base := time.Duration(p.clock.now())
	ph.warm = int64(base + p.Warmup)
	if p.Count == 0 {
		end = base + p.Warmup + p.Duration
		ph.end.Store(int64(end))
	}
	for _, l := range lanes {
		go l.run(int64(base))
	}
	if err := sleep(ctx, p.Warmup); err != nil {
		return nil, err
	}
	s.begin()
	stopped := false
	if p.Count == 0 {
		stopped = sleep(ctx, end-time.Duration(p.clock.now())) != nil
	} else {
		for _, l := range lanes {
			select {
			case <-l.idle:
			case <-ctx.Done():
				stopped = true
			}
		}
	}
	now := p.clock.now()
	if stopped || p.Count > 0 {
		ph.end.Store(now)
	} else {
		now = int64(end)
	}
	total := newTally()
	r := &Result{}
	// The usage is read before the last replies are waited for: it belongs to the measured time.
	sampled := s.end(r)
	for _, l := range lanes {
		if err := l.wait(); err != nil {
			return nil, err
		}
		total.merge(&l.tally)
	}
	usage := r
	r = total.result("produce", float64(now-ph.warm)/1e9)
	r.Settings, r.Broker, r.Client = p.Settings(), usage.Broker, usage.Client
	perMessage(r)
	if p.Rate > 0 {
		for _, l := range lanes {
			r.Late += l.unsent(now)
		}
	}
	return r, sampled
}

// perMessage divides the CPU times by what was measured.
func perMessage(r *Result) {
	for _, p := range []*Process{r.Broker, r.Client} {
		if p == nil {
			continue
		}
		p.CPUMicrosPerMessage, p.CPUMicrosPerEntry = 0, 0
		if r.Messages > 0 {
			p.CPUMicrosPerMessage = p.CPUSeconds * 1e6 / float64(r.Messages)
		}
		if r.Entries > r.Messages {
			p.CPUMicrosPerEntry = p.CPUSeconds * 1e6 / float64(r.Entries)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run starts the lane and, in an open loop and with one-way sends, drives it.
func (l *producer) run(base int64) {
	switch {
	case l.plan.OneWay:
		l.runOneWay(base)
	case l.every > 0:
		l.runOpen(base)
	default:
		l.conn.Hold()
		l.mu.Lock()
		now := l.clock.now()
		for len(l.free) > 0 && l.sendLocked(now, now) {
		}
		l.mu.Unlock()
		l.conn.Release()
	}
}

// sendLocked sends one request that is due at a time, if the run goes on.
func (l *producer) sendLocked(now, due int64) bool {
	if l.over || !l.phases.more(now, l.each) {
		l.finishLocked(now)
		return false
	}
	token := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.begun[token] = due
	r := l.nextRequest()
	r.patch(&l.counter, now)
	l.flying++
	if err := l.conn.SubmitFrame(r.frame, l, uint64(token), requestTimeout); err != nil {
		l.flying--
		l.free = append(l.free, token)
		l.tally.fail(what(err), l.each)
		l.over = true
		l.finishLocked(now)
		return false
	}
	return true
}

// nextRequest goes round the queues and deals out the kinds.
func (l *producer) nextRequest() *request {
	l.queue++
	kinds := l.requests[l.queue%len(l.requests)]
	switch {
	case len(kinds) == 1:
		return &kinds[0]
	case len(kinds) > 2:
		l.kind++
		return &kinds[l.kind%len(kinds)]
	case l.deal.next():
		return &kinds[0]
	}
	return &kinds[1]
}

// Reply counts a reply and sends the next request.
func (l *producer) Reply(token uint64, r *client.Reply) {
	now := l.clock.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.commits != nil && l.commitLocked(token, r) {
		return
	}
	l.flying--
	l.free = append(l.free, uint32(token))
	if l.phases.counted(now) {
		if stored(r) {
			l.tally.record(now, l.begun[token], l.each, l.each*int64(l.plan.Size))
		} else {
			l.tally.fail(what(r.Failure()), l.each)
		}
	}
	if r.Err() != nil && !errors.Is(r.Err(), client.ErrTimeout) {
		l.over = true // the connection is gone
	}
	if l.every > 0 {
		l.catchUpLocked(now)
	} else {
		l.sendLocked(now, now)
	}
	l.finishLocked(now)
}

// stored says whether a reply means that the message is there.
func stored(r *client.Reply) bool {
	if r.Err() != nil {
		return false
	}
	switch message.Code(r.Code()) {
	case message.Success, message.FlushDiskTimeout, message.SlaveNotAvailable, message.FlushSlaveTimeout:
		return true
	}
	return false
}

// what names an error for counting.
func what(err error) string {
	var m *message.Error
	if errors.As(err, &m) {
		return m.Code.String()
	}
	if errors.Is(err, client.ErrTimeout) {
		return "TIMEOUT"
	}
	return err.Error()
}

// finishLocked closes idle when nothing is in flight and nothing will be.
func (l *producer) finishLocked(now int64) {
	end := l.phases.end.Load()
	ended := l.over || end != 0 && now >= end || l.phases.limited && l.phases.left.Load() <= 0
	if !ended || l.flying > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}

// wait waits for the replies that are still to come. They aren't counted.
func (l *producer) wait() error {
	t := time.NewTimer(requestTimeout + time.Second)
	defer t.Stop()
	for {
		l.mu.Lock()
		l.finishLocked(l.clock.now())
		l.mu.Unlock()
		select {
		case <-l.idle:
			l.mu.Lock() // what the replies counted is seen from here on
			defer l.mu.Unlock()
			return nil
		case <-t.C:
			return fmt.Errorf("%d requests to %s were never answered", l.flying, l.conn.Addr())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// runOpen sends what is due, at the latest a millisecond after it became so.
func (l *producer) runOpen(base int64) {
	l.mu.Lock()
	l.due = 0
	l.mu.Unlock()
	for {
		now := l.clock.now() - base
		l.conn.Hold()
		l.mu.Lock()
		l.catchUpLocked(now + base)
		next := int64(float64(l.due) * l.every)
		end := l.phases.end.Load()
		over := l.over || end != 0 && now+base >= end || l.phases.limited && l.phases.left.Load() <= 0
		if over {
			l.finishLocked(now + base)
		}
		l.mu.Unlock()
		l.conn.Release()
		if over {
			return
		}
		wait := next - now
		if wait < int64(50*time.Microsecond) {
			wait = int64(50 * time.Microsecond)
		}
		time.Sleep(time.Duration(min(wait, int64(time.Millisecond))))
	}
}

// catchUpLocked sends every request of an open loop that is due, as far as the window allows.
func (l *producer) catchUpLocked(now int64) {
	base := l.phases.warm - int64(l.plan.Warmup)
	for len(l.free) > 0 {
		due := base + int64(float64(l.due)*l.every)
		if due > now || !l.sendLocked(now, due) {
			return
		}
		l.due++
	}
}

// unsent counts the messages that were due before the end and never sent.
func (l *producer) unsent(end int64) int64 {
	base := l.phases.warm - int64(l.plan.Warmup)
	should := int64(float64(end-base-int64(10*time.Millisecond)) / l.every) // what was due just before may be on its way
	return max(0, should-l.due) * l.each
}

// runOneWay writes as fast as the broker reads, or at the rate.
func (l *producer) runOneWay(base int64) {
	for sent := int64(0); ; sent++ {
		now := l.clock.now()
		if l.every > 0 {
			if due := base + int64(float64(sent)*l.every); due > now {
				time.Sleep(time.Duration(due - now))
				now = l.clock.now()
			}
		}
		l.mu.Lock()
		if !l.phases.more(now, l.each) {
			l.over = true
			l.finishLocked(now)
			l.mu.Unlock()
			return
		}
		r := l.nextRequest()
		r.patch(&l.counter, now)
		l.mu.Unlock()
		err := l.conn.OneWayFrame(r.frame)
		l.mu.Lock()
		switch {
		case err != nil:
			l.tally.fail(what(err), l.each)
			l.over = true
			l.finishLocked(now)
			l.mu.Unlock()
			return
		case l.phases.counted(now):
			l.tally.record(l.clock.now(), now, l.each, l.each*int64(l.plan.Size))
		}
		l.mu.Unlock()
	}
}
