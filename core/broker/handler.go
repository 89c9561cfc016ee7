package broker

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/topic"
	"github.com/weirmq/weir/core/transaction"
	"github.com/weirmq/weir/core/transport"
)

// handler implements the roles that transports call. Each method passes the gate first and then does, mostly, one call
// into the package that does the work. There is a file for each role.
type handler struct {
	gate         *gate
	clock        clock.Clock
	log          *slog.Logger
	identity     identity
	store        *store.Store
	verdicts     *verdict.Covers // nil when none are kept
	topics       *topic.Topics
	groups       *topic.Groups
	pulls        *queue.Pulls
	clients      *queue.Clients
	programs     *queue.Programs
	bindings     *queue.Bindings
	filters      *queue.Filters
	offsets      *queue.Offsets
	locks        *queue.Locks
	progress     *queue.Progress
	counters     *queue.Counters
	registration *registration
	settings     *settings
	modules      *modules
	delays       *schedule.Delays
	timers       *schedule.Timers
	transactions *transaction.Keeper
	// transactionsEnabled says whether half messages are taken.
	transactionsEnabled bool
	// timersEnabled says whether messages may wait for times of their own.
	timersEnabled bool
	// forgetRoute tells the embedded name server that a topic is gone from this broker.
	forgetRoute func(topic string)

	// refusals counts messages that were sent, returned or replied and not taken, by cause.
	refusals [message.Causes]atomic.Int64

	maxMessageSize  int
	clusterProperty message.Properties
	started         time.Time

	host     atomic.Pointer[netip.AddrPort] // nil until it is known
	hostOnce sync.Once
	hostDone chan struct{} // closed when the host is known, or never will be
}

// identity is who this broker is.
type identity struct {
	cluster, broker string
}

// storeHost is the advertised address, which becomes a part of every record. It is known as soon as the listener's port
// is; a request that comes before waits that moment. ok is false when the broker ends before.
func (h *handler) storeHost() (a netip.AddrPort, ok bool) {
	p := h.host.Load()
	if p == nil {
		<-h.hostDone
		if p = h.host.Load(); p == nil {
			return a, false
		}
	}
	return *p, true
}

// advertise says what storeHost is.
func (h *handler) advertise(a netip.AddrPort) {
	h.hostOnce.Do(func() {
		h.host.Store(&a)
		close(h.hostDone)
	})
}

// giveUpHost lets those go who wait for an address that will not come.
func (h *handler) giveUpHost() { h.hostOnce.Do(func() { close(h.hostDone) }) }

// roles returns what a transport may call.
func (h *handler) roles() transport.Handlers {
	return transport.Handlers{
		Sender: h, Returner: h, Trans: h, Replier: h, Recaller: h, Puller: h, Offsets: h, Groups: h, Locker: h, Querier: h,
		Topics: h, GroupAd: h, Clients: h, Stats: h, Broker: h, Modules: h, Filters: h, Sessions: h,
	}
}
