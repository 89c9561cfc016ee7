package broker

import (
	"context"
	"sync"

	"github.com/weirmq/weir/core/transport"
)

// fakeNameServer is a client of a name server elsewhere. Each call is shown to the test, which may make it fail or hold
// it.
type fakeNameServer struct {
	addr  string
	calls chan nameServerCall

	mu     sync.Mutex // guards all below
	err    error      // what every call fails with
	result transport.RegisterResult
	hold   chan struct{} // if not nil, calls wait until it is closed, or their context ends
	closed bool
}

// nameServerCall is a registration, or a withdrawal when it is nil.
type nameServerCall struct{ registration *transport.Registration }

func newFakeNameServer(addr string) *fakeNameServer {
	return &fakeNameServer{addr: addr, calls: make(chan nameServerCall, 1000)}
}

func (f *fakeNameServer) Addr() string { return f.addr }

func (f *fakeNameServer) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeNameServer) setHold(hold chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = hold
}

func (f *fakeNameServer) setOrder(topics map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result.OrderTopics = topics
}

func (f *fakeNameServer) answer(ctx context.Context) (transport.RegisterResult, error) {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return transport.RegisterResult{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.result, f.err
}

func (f *fakeNameServer) Register(ctx context.Context, r *transport.Registration, _ bool) (transport.RegisterResult, error) {
	f.calls <- nameServerCall{r}
	return f.answer(ctx)
}

func (f *fakeNameServer) Unregister(ctx context.Context, _ transport.BrokerIdentity) error {
	f.calls <- nameServerCall{}
	_, err := f.answer(ctx)
	return err
}

func (f *fakeNameServer) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}
