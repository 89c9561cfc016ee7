package queue

import (
	"hash/maphash"
	"sync"

	"github.com/weirmq/weir/core/transport"
)

// sessionHolds knows which pulls are held for which session, so that they can go when it does. A session stays in it
// from its first held pull until it is closed.
type sessionHolds struct {
	seed   maphash.Seed
	shards [16]sessionShard
}

type sessionShard struct {
	mu    sync.Mutex // guards all below, and the slots of the holders in it
	holds map[transport.Session]*[]*holder
}

func (s *sessionHolds) init() {
	s.seed = maphash.MakeSeed()
	for i := range s.shards {
		s.shards[i].holds = map[transport.Session]*[]*holder{}
	}
}

func (s *sessionHolds) shard(of transport.Session) *sessionShard {
	return &s.shards[maphash.Comparable(s.seed, of)%uint64(len(s.shards))]
}

// add enters h for its session. It comes before h can be taken from its queue's list.
func (s *sessionHolds) add(h *holder) {
	sh := s.shard(h.session)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	list := sh.holds[h.session]
	if list == nil {
		list = new([]*holder)
		sh.holds[h.session] = list
	}
	h.slot = len(*list)
	*list = append(*list, h)
}

// remove strikes h out, if its session is still there.
func (s *sessionHolds) remove(h *holder) {
	sh := s.shard(h.session)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	list := sh.holds[h.session]
	if list == nil || h.slot >= len(*list) || (*list)[h.slot] != h {
		return
	}
	last := len(*list) - 1
	moved := (*list)[last]
	(*list)[h.slot], moved.slot = moved, h.slot
	(*list)[last] = nil
	*list = (*list)[:last]
}

// close strikes a session out and returns the pulls that are held for it.
func (s *sessionHolds) close(of transport.Session) []*holder {
	sh := s.shard(of)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	list := sh.holds[of]
	delete(sh.holds, of)
	if list == nil {
		return nil
	}
	return *list
}

// SessionClosed drops the pulls that are held for a session. They are not answered.
func (p *Pulls) SessionClosed(s transport.Session) {
	for _, h := range p.wait.sessions.close(s) {
		if p.wait.take(p.wait.shard(h.queue), h.queue, h) {
			h.prog.release()
		}
	}
}
