package broker

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/topic"
	"github.com/weirmq/weir/core/transport"
)

// handler implements the roles that transports call. Each method passes the gate first and then does, mostly, one call
// into the package that does the work. There is a file for each role.
type handler struct {
	gate         *gate
	clock        clock.Clock
	identity     identity
	store        *store.Store
	topics       *topic.Topics
	groups       *topic.Groups
	pulls        *queue.Pulls
	clients      *queue.Clients
	programs     *queue.Programs
	offsets      *queue.Offsets
	locks        *queue.Locks
	progress     *queue.Progress
	counters     *queue.Counters
	registration *registration
	settings     *settings
	// forgetRoute tells the embedded name server that a topic is gone from this broker.
	forgetRoute func(topic string)

	maxMessageSize  int
	clusterProperty message.Properties
	started         time.Time

	host      atomic.Pointer[netip.AddrPort]
	hostKnown chan struct{}
}

// identity is who this broker is.
type identity struct {
	cluster, broker string
}

// storeHost is the advertised address, which becomes a part of every record. It is known as soon as the listener's port
// is; a request that comes before waits that moment.
func (h *handler) storeHost() netip.AddrPort {
	p := h.host.Load()
	if p == nil {
		<-h.hostKnown
		p = h.host.Load()
	}
	return *p
}

func (h *handler) advertise(a netip.AddrPort) {
	h.host.Store(&a)
	close(h.hostKnown)
}

// roles returns what a transport may call.
func (h *handler) roles() transport.Handlers {
	return transport.Handlers{
		Sender: h, Returner: h, Puller: h, Offsets: h, Groups: h, Locker: h, Querier: h,
		Topics: h, GroupAd: h, Clients: h, Stats: h, Broker: h, Sessions: h,
	}
}
