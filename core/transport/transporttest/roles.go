package transporttest

import (
	"context"
	"net/netip"
	"sync"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// storeHost is where the suite's broker says it stores.
var storeHost = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 10911)

// sender answers every send with the next offset.
type sender struct {
	code   message.Code // 0, or what it refuses with
	remark string
	panics int                             // so many calls panic first
	later  chan *transport.SendBatch       // if not nil, batches are put here, to be answered by answer
	seen   func(b *transport.SendBatch)    // if not nil, called with every batch
	told   func(session transport.Session) // if not nil, called with the session

	mu   sync.Mutex // guards next, and panics
	next int64
}

func (s *sender) Send(_ context.Context, b *transport.SendBatch) {
	if s.told != nil {
		s.told(b.Session)
	}
	if s.seen != nil {
		s.seen(b)
	}
	s.mu.Lock()
	if s.panics > 0 {
		s.panics--
		s.mu.Unlock()
		panic("the suite's sender panics")
	}
	s.mu.Unlock()
	if s.later != nil {
		s.later <- b
		return
	}
	s.answer(b)
}

// answer answers every send of b.
func (s *sender) answer(b *transport.SendBatch) {
	s.mu.Lock()
	b.StoreHost = storeHost
	b.Positions = b.Positions[:0]
	for i := range b.Sends {
		d := &b.Sends[i]
		if s.code != message.Success {
			d.Answer(s.code, s.remark)
			continue
		}
		at := len(b.Positions)
		b.Positions = append(b.Positions, message.Position(s.next*1000))
		d.Positions = b.Positions[at : at+1 : at+1]
		d.AnsweredQueueID, d.QueueOffset = max(d.QueueID, 0), message.Offset(s.next)
		s.next++
	}
	s.mu.Unlock()
	b.Reply.SendsDone(b)
}

// puller answers with the records it has, or holds the pull.
type puller struct {
	code    message.Code
	remark  string
	records [][]byte
	held    chan *transport.Pull // if not nil, pulls are put here, to be answered by answer

	mu       sync.Mutex // guards released
	released int
}

// Release counts the references that came back. Each is one of puller's own.
func (p *puller) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released++
}

func (p *puller) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.released
}

func (p *puller) Pull(_ context.Context, r *transport.Pull) {
	if p.held != nil {
		p.held <- r
		return
	}
	p.answer(r)
}

func (p *puller) answer(r *transport.Pull) {
	r.Code, r.Remark = p.code, p.remark
	if p.code == message.Success {
		r.MinOffset, r.MaxOffset, r.NextBeginOffset = 0, 1000, r.Offset+message.Offset(len(p.records))
		for _, b := range p.records {
			r.Records.Add(b, 1, p)
		}
	}
	r.Reply.PullDone(r)
}

// offsets keeps offsets, or refuses.
type offsets struct {
	err error

	mu  sync.Mutex // guards all
	all map[string]message.Offset
}

func (o *offsets) CommittedOffset(_ context.Context, _ *transport.Caller, group string, q message.QueueKey, _ bool) (message.Offset, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[group+" "+q.String()], o.err
}

func (o *offsets) CommitOffset(_ context.Context, _ *transport.Caller, group string, q message.QueueKey, at message.Offset) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.all == nil {
		o.all = map[string]message.Offset{}
	}
	o.all[group+" "+q.String()] = at
	return nil
}

// sessions passes on which sessions have ended.
type sessions struct{ closed chan transport.Session }

func newSessions() *sessions { return &sessions{closed: make(chan transport.Session, 16)} }

func (s *sessions) SessionClosed(c transport.Session) { s.closed <- c }
