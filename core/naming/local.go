package naming

import (
	"context"

	"github.com/weirmq/weir/core/transport"
)

// Local is how the broker in the same process registers: without connection, authorisation and expiry. What it
// registered is visible when the call returns, and stays until it unregisters.
type Local struct{ server *Server }

var _ transport.Registrar = Local{}

// Local returns the way in for the broker of this process.
func (s *Server) Local() Local { return Local{s} }

// Addr names the name server in log lines.
func (Local) Addr() string { return "embedded" }

// Register registers the broker. The changed topics are enough, if v counts every change; it never fails for time.
func (l Local) Register(_ context.Context, r *transport.Registration, _ bool) (transport.RegisterResult, error) {
	return l.server.register(r, nil, true)
}

// Unregister takes the broker off.
func (l Local) Unregister(_ context.Context, b transport.BrokerIdentity) error {
	l.server.unregister(b)
	return nil
}

// Withdraw takes the broker off a topic that it has deleted.
func (l Local) Withdraw(topic, broker string) {
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	l.server.dropQueuesLocked(topic, broker)
}

// Close does nothing.
func (Local) Close() error { return nil }
