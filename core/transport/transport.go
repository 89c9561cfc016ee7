// Package transport is the contract between the broker and the protocols that it is reached by.
//
// A transport plugin owns listeners, connections and the bytes on them. The broker owns meaning. Between them stand the
// roles of this package: small interfaces such as Sender and Puller, implemented by core/broker (and core/naming for the
// name server) and handed to the transport when it is made, together in a Handlers value. A role that is nil is not
// served there.
//
// # What every role promises
//
// Each method authenticates and authorises its caller before it does anything else, so that no transport can skip it.
// Errors are for the caller's eyes; a *message.Error carries the code to answer with, any other error is a SystemError.
//
// # Replies instead of blocked goroutines
//
// Sending and pulling complete through a reply interface: a send that waits for the disk, or a pull that waits for a
// message, parks its own request struct and no goroutine. The struct belongs to the transport, is lent to the broker by
// the call, and comes back with the reply; between the two the transport doesn't touch it. A reply may arrive before the
// call has returned, on the same goroutine or any other.
//
// # Bytes
//
// Byte slices in requests are borrowed until the *call* returns (not until the reply): the broker copies what it keeps.
// Records in answers are lent by the store until Records.Release.
package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// Factory makes transports.
type Factory interface {
	plugin.Factory
	// NewTransport makes a transport from cfg, a value of DefaultConfig's type, that serves the given roles.
	NewTransport(set plugin.Settings, cfg any, h Handlers) (Transport, error)
}

// Transport is a running protocol endpoint.
type Transport interface {
	plugin.Component
	// Addr returns the address of the main listener once started; nil before.
	Addr() net.Addr
}

// NameServerFactory is an optional ability of a Factory: to make the endpoint at which a name server is reached.
type NameServerFactory interface {
	// NewNameServer makes a transport that listens on the address and serves h, of which only the name server's roles
	// are set. beside is the configuration of the broker's own transport of this factory, whose encryption it shares; nil when there is none.
	NewNameServer(set plugin.Settings, listen string, beside any, h Handlers) (Transport, error)
}

// RegistrarFactory is an optional ability of a Factory: to speak to name servers that are not part of this process.
type RegistrarFactory interface {
	// NewRegistrar returns a client for the name server at addr (host:port). It connects when first used. beside is as for NewNameServer: it says how connections are encrypted.
	NewRegistrar(set plugin.Settings, addr string, beside any) (Registrar, error)
}

// Advertiser is an optional ability of a Factory's configuration: to say on which port clients will find the transport,
// before it has started. 0 means that the port is chosen when it starts.
type Advertiser interface {
	// ListenAddress returns the configured main listener, host:port.
	ListenAddress() string
}

// Handlers are the roles that a transport may call. A nil role is not served: requests for it are refused.
type Handlers struct {
	Sender   Sender
	Returner Returner
	Trans    Transactor
	Replier  Replier
	Recaller Recaller
	Puller   Puller
	Offsets  OffsetStore
	Groups   GroupKeeper
	Locker   Locker
	Querier  Querier
	Topics   TopicAdmin
	GroupAd  GroupAdmin
	Clients  ClientAdmin
	Stats    StatsAdmin
	Broker   BrokerAdmin
	Modules  ModuleAdmin
	Filters  FilterAdmin
	Router   Router
	Registry Registry
	KV       KVStore
	Sessions SessionKeeper
}

// ErrSessionClosed is returned when a client is called whose connection is gone.
var ErrSessionClosed = errors.New("client connection is closed")

// ErrSessionBusy is returned when a client doesn't read what it was sent and its queue is full.
var ErrSessionBusy = errors.New("client connection is not keeping up")

// Session is one client's connection. It is comparable and may be used as a map key while the connection lives.
type Session interface {
	// Remote is the peer's address, unmapped.
	Remote() netip.AddrPort
	// Notify sends the client a notice that isn't answered. It queues and returns at once.
	Notify(Notice) error
	// Call sends the client a request and waits for the answer, at most until ctx is done.
	Call(ctx context.Context, c ClientCall) (ClientReply, error)
	// Close ends the connection; the reason goes to the log.
	Close(reason string)
	// Alive reports whether the connection is still open.
	Alive() bool
}

// Caller is who asks: the connection, what it runs, and what it shows to be let in.
type Caller struct {
	Session Session
	// Language is the client's language by RocketMQ's enum name (JAVA, GO, CPP).
	Language string
	// Version is the ordinal of the client's RocketMQ version.
	Version int32
	// Credentials are borrowed until the call returns.
	Credentials auth.Credentials
}

// Notice is a message to a client that isn't answered: ConsumersChanged, ResetOffsets or CheckTransaction.
type Notice interface{ notice() }

// ConsumersChanged tells the members of a group to rebalance.
type ConsumersChanged struct{ Group string }

// ResetOffsets tells the members of a group to go on from other offsets.
type ResetOffsets struct {
	Topic, Group string
	Timestamp    int64
	Force        bool
	Offsets      []QueueOffset
	// ListForm asks for the form of the table that C++ clients read.
	ListForm bool
}

// CheckTransaction asks a producer about a half message that it hasn't decided about.
type CheckTransaction struct {
	Offset          message.Offset   // in the queue of half messages
	Position        message.Position // in the commit log
	UniqueKey       string
	OffsetMessageID string
	// Record is the message with its own topic and queue. It is copied before Notify returns.
	Record []byte
}

func (ConsumersChanged) notice() {}
func (ResetOffsets) notice()     {}
func (CheckTransaction) notice() {}

// QueueOffset is an offset of one queue of one broker.
type QueueOffset struct {
	Queue  BrokerQueue
	Offset message.Offset
}

// BrokerQueue names a queue across brokers, as clients do.
type BrokerQueue struct {
	Topic  string
	Broker string
	ID     message.QueueID
}

// ClientCall is a request to a client: RunningInfoCall, ConsumeDirectlyCall, ConsumerStatusCall or PushReplyCall.
type ClientCall interface{ clientCall() }

// RunningInfoCall asks a consumer what it is doing.
type RunningInfoCall struct {
	Group, ClientID string
	Stacks          bool
}

// ConsumeDirectlyCall makes a consumer consume one message now.
type ConsumeDirectlyCall struct {
	Group, ClientID, MessageID, Topic string
	// Broker is the name of the broker that has the message; the client is told it comes from there.
	Broker string
	// Record is the message in the commit log's layout.
	Record []byte
}

// ConsumerStatusCall asks a consumer for its offsets in a topic.
type ConsumerStatusCall struct{ Topic, Group string }

func (RunningInfoCall) clientCall()     {}
func (ConsumeDirectlyCall) clientCall() {}
func (ConsumerStatusCall) clientCall()  {}

// ClientReply is what a client answered. The body is passed on byte for byte and belongs to the receiver.
type ClientReply struct {
	Code   message.Code
	Remark string
	Body   []byte
}
