// Package auth is the contract of auth plugins: who is asking, and may they.
//
// The broker calls an Authenticator at the beginning of every operation that a transport can reach; no transport can
// skip it. Both questions are on the send and pull paths, so an implementation keeps what it needs in memory and
// allocates nothing for a request that it has seen the like of.
package auth

import (
	"context"
	"net/netip"

	"github.com/weirmq/weir/core/plugin"
)

// Factory makes authenticators.
type Factory interface {
	plugin.Factory
	// NewAuthenticator makes an authenticator from cfg, a value of DefaultConfig's type.
	NewAuthenticator(set plugin.Settings, cfg any) (Authenticator, error)
}

// Authenticator decides who a caller is and what it may do. It is safe for concurrent use.
type Authenticator interface {
	plugin.Component
	// Authenticate says who the caller is. An error says for the caller's eyes why it isn't let in; it should be a
	// *message.Error where the protocol has a code for it.
	Authenticate(ctx context.Context, c *Credentials) (Principal, error)
	// Authorize allows an action by returning nil. An action or resource that it has no rule for is refused.
	Authorize(ctx context.Context, p Principal, a Action, r Resource) error
}

// Credentials is what one request shows. The bytes are borrowed from the request.
type Credentials struct {
	// Remote is the peer's address, unmapped from IPv6 where it is an IPv4 one.
	Remote netip.AddrPort
	// AccessKey names an account; empty when the request names none.
	AccessKey []byte
	// Signature proves knowledge of the account's secret over Signed's content.
	Signature []byte
	// Token is a session token that some clients add.
	Token []byte
	// Signed gives the bytes that the signature covers; nil for an unsigned request.
	Signed SignedContent
}

// SignedContent gives the bytes that a signature covers.
type SignedContent interface {
	// AppendSigned appends the content to dst, leaving out the fields named in without.
	AppendSigned(dst []byte, without ...string) []byte
}

// Principal is an authenticated caller. The zero Principal is nobody.
type Principal struct {
	// Name is the account, for logs and quotas.
	Name string
	// Admin tells that the account may administer the broker.
	Admin bool
	// Account is the authenticator's own record of it; nobody else looks inside.
	Account any
}

// Action is what a caller wants to do to a resource.
type Action uint8

// The actions. The zero Action is none, and is always refused.
const (
	_         Action = iota
	Publish          // store messages in a topic
	Subscribe        // pull from a topic, act as a member of a group, commit its offsets
	Query            // look at single messages, offsets and times
	Describe         // list and describe topics, groups, clients, the broker
	Alter            // create, change and delete topics, groups, offsets of others, the broker's settings
	Register         // take part as a broker: register with this name server, replicate
	Deploy           // push, change and remove modules of filters
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case Publish:
		return "publish"
	case Subscribe:
		return "subscribe"
	case Query:
		return "query"
	case Describe:
		return "describe"
	case Alter:
		return "alter"
	case Register:
		return "register"
	case Deploy:
		return "deploy"
	}
	return "none"
}

// Kind says what sort of thing a resource is.
type Kind uint8

// The kinds of resources. The zero Kind is none, and is always refused.
const (
	_       Kind = iota
	Topic        // a topic, by its name
	Group        // a producer or consumer group, by its name
	Broker       // this broker as a whole; no name
	Cluster      // the name server; no name
	Module       // a module of filters, by its name
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Topic:
		return "topic"
	case Group:
		return "group"
	case Broker:
		return "broker"
	case Cluster:
		return "cluster"
	case Module:
		return "module"
	}
	return "none"
}

// Resource is what an action is done to.
type Resource struct {
	Kind Kind
	Name string
}
