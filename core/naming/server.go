package naming

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Server is a name server. It is safe for concurrent use.
type Server struct {
	set   Settings
	cfg   Config
	allow Authorizer
	kv    *kvTable
	order atomic.Bool // Config.OrderMessages, changeable

	mu       sync.RWMutex // guards all below; slices and maps that answers share are replaced, never changed
	brokers  map[string]*broker
	clusters map[string][]string                // broker names, sorted
	topics   map[string][]transport.RouteQueues // one for each broker, sorted by its name
	live     map[string]*registration           // by address

	startOnce sync.Once
	loop      loop.Group
}

var (
	_ transport.Router        = (*Server)(nil)
	_ transport.Registry      = (*Server)(nil)
	_ transport.KVStore       = (*Server)(nil)
	_ transport.SessionKeeper = (*Server)(nil)
)

// broker is a broker name with the addresses of its master and replicas.
type broker struct {
	cluster string
	addrs   map[int64]string // by broker id; never changed once a reader may have it
}

// registration is what is known of one address.
type registration struct {
	broker  string
	id      int64
	version transport.DataVersion
	topics  bool // the topics of this version were taken
	haAddr  string
	session transport.Session // nil when it came without a connection
	local   bool              // of the broker in this process: doesn't expire
	heard   time.Time
}

// New returns a server with empty routes and the KV table of its file.
func New(set Settings, cfg Config, a Authorizer) (*Server, error) {
	kv, err := openKV(set, cfg.KVMax)
	if err != nil {
		return nil, err
	}
	s := &Server{
		set: set, cfg: cfg, allow: a, kv: kv,
		brokers:  map[string]*broker{},
		clusters: map[string][]string{},
		topics:   map[string][]transport.RouteQueues{},
		live:     map[string]*registration{},
	}
	s.order.Store(cfg.OrderMessages)
	return s, nil
}

// Start begins to look for brokers that are not heard of any more.
func (s *Server) Start(context.Context) error {
	s.startOnce.Do(func() { s.loop.Every(s.set.Clock, ScanInterval, s.expire) })
	return nil
}

// Stop ends that. It works without Start and twice.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.loop.Stop(ctx); err != nil {
		return fmt.Errorf("stop name server: %w", err)
	}
	return nil
}

// expire removes the brokers that are overdue, and closes their connections.
func (s *Server) expire() {
	now := s.set.Clock.Now()
	closing := map[transport.Session]string{}
	s.mu.Lock()
	for addr, r := range s.live {
		if r.local || now.Sub(r.heard) <= BrokerExpiry {
			continue
		}
		if r.session != nil {
			closing[r.session] = addr
		}
		s.removeLocked(addr, "expired")
	}
	s.mu.Unlock()
	for session, addr := range closing {
		session.Close("broker " + addr + " has not registered for " + BrokerExpiry.String())
	}
}

// SessionClosed removes at once the brokers that registered over the connection.
func (s *Server) SessionClosed(session transport.Session) {
	if session == nil { // that of registrations without a connection
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for addr, r := range s.live {
		if r.session == session && !r.local {
			s.removeLocked(addr, "connection closed")
		}
	}
}

// cluster is the resource that everything here but a topic's route belongs to.
var cluster = auth.Resource{Kind: auth.Cluster}

// refuse makes an error with a remark.
func refuse(code message.Code, format string, args ...any) error {
	return &message.Error{Code: code, Remark: fmt.Sprintf(format, args...)}
}
