package broker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/transport"
)

// registerEvery is how often a broker says again that it is there. Name servers forget it after 120 s.
const registerEvery = 30 * time.Second

// registerRetry is the pause while a name server can't be reached.
const registerRetry = 5 * time.Second

// How long one registration, and one withdrawal, may take, as in RocketMQ.
const (
	registerTimeout   = 6 * time.Second
	unregisterTimeout = 3 * time.Second
)

// registration keeps name servers up to date about this broker: the one in this process at once, by a call, so that an
// answer to a client implies that its route is known; all others each from a goroutine of its own.
type registration struct {
	clock    clock.Clock
	log      *slog.Logger
	own      transport.Registrar // the embedded name server, or nil
	others   []*outpost
	snapshot func() ([]transport.TopicConfig, transport.DataVersion)
	order    func(topics map[string]string)

	running  atomic.Bool // identity and cancel are set
	identity transport.BrokerIdentity
	cancel   context.CancelFunc
	stopped  chan struct{}
	done     sync.WaitGroup

	// ownMu is held from the look at the topics to the end of the registration with own, so that an older state never
	// follows a newer one.
	ownMu sync.Mutex
}

// outpost is one name server elsewhere.
type outpost struct {
	registrar transport.Registrar
	wake      chan chan struct{} // a waiter's channel, or nil
	failing   atomic.Bool        // the last registration failed
}

func newRegistration(c clock.Clock, log *slog.Logger, own transport.Registrar, others []transport.Registrar) *registration {
	r := &registration{clock: c, log: log, own: own, stopped: make(chan struct{})}
	for _, o := range others {
		r.others = append(r.others, &outpost{registrar: o, wake: make(chan chan struct{}, 64)})
	}
	return r
}

// start registers with the embedded name server and begins to keep the others informed.
func (r *registration) start(id transport.BrokerIdentity) error {
	ctx, cancel := context.WithCancel(context.Background())
	r.identity, r.cancel = id, cancel
	r.running.Store(true)
	if _, err := r.registerOwn(ctx); err != nil {
		return fmt.Errorf("register with the name server in this process: %w", err)
	}
	if r.own != nil {
		r.done.Go(func() { r.keepOwn(ctx) })
	}
	for _, o := range r.others {
		r.done.Go(func() { r.keep(ctx, o) })
	}
	return nil
}

// stop takes the broker off every name server that can be reached.
func (r *registration) stop(ctx context.Context) {
	if !r.running.Swap(false) {
		return
	}
	close(r.stopped)
	r.cancel()
	r.done.Wait()
	if r.own != nil {
		if err := r.own.Unregister(ctx, r.identity); err != nil {
			r.log.Warn("unregister from own name server", "error", err)
		}
	}
	var all sync.WaitGroup
	for _, o := range r.others {
		all.Go(func() { r.leave(ctx, o) })
	}
	all.Wait()
}

// leave unregisters from one name server, unless it has been away anyway, and closes the connection.
func (r *registration) leave(ctx context.Context, o *outpost) {
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	if !o.failing.Load() {
		if err := o.registrar.Unregister(ctx, r.identity); err != nil {
			r.log.Warn("unregister from name server", "nameserver", o.registrar.Addr(), "error", err)
		}
	}
	if err := o.registrar.Close(); err != nil {
		r.log.Debug("close connection to name server", "nameserver", o.registrar.Addr(), "error", err)
	}
}

// settled waits until all name servers know the newest state, or have failed to answer in time. One that could not be
// reached the last time is told, too, but not waited for: an operator's every command would last that long.
func (r *registration) settled(ctx context.Context) { r.changed(ctx, true) }

// changed tells the name servers of a change. It returns when the embedded one knows; with wait, when all others know or
// have failed to answer in time. Without wait it doesn't touch the network, and it never changes the table of topics.
func (r *registration) changed(ctx context.Context, wait bool) {
	if !r.running.Load() {
		return // the first registration will tell
	}
	if _, err := r.registerOwn(ctx); err != nil {
		r.log.Error("register with own name server", "error", err)
	}
	var answers []chan struct{}
	for _, o := range r.others {
		var answer chan struct{}
		if wait && !o.failing.Load() {
			answer = make(chan struct{}, 1)
		}
		select {
		case o.wake <- answer:
			if answer != nil {
				answers = append(answers, answer)
			}
		default: // a registration that is yet to begin will carry this change too
		}
	}
	if len(answers) > 0 {
		r.await(ctx, answers)
	}
}

// await waits for all answers, but no longer than one registration may take.
func (r *registration) await(ctx context.Context, answers []chan struct{}) {
	timeout := r.clock.NewTimer(registerTimeout)
	defer timeout.Stop()
	for _, a := range answers {
		select {
		case <-a:
		case <-timeout.C():
			return
		case <-ctx.Done():
			return
		case <-r.stopped:
			return
		}
	}
}

func (r *registration) current() *transport.Registration {
	topics, version := r.snapshot()
	return &transport.Registration{BrokerIdentity: r.identity, Topics: topics, Version: version}
}

func (r *registration) registerOwn(ctx context.Context) (transport.RegisterResult, error) {
	if r.own == nil {
		return transport.RegisterResult{}, nil
	}
	r.ownMu.Lock()
	defer r.ownMu.Unlock()
	return r.own.Register(ctx, r.current(), false)
}

// keepOwn takes over from the embedded name server, now and every 30 s as from any other, which topics are ordered.
func (r *registration) keepOwn(ctx context.Context) {
	timer := r.clock.NewTimer(registerEvery)
	defer timer.Stop()
	for {
		result, err := r.registerOwn(ctx)
		if err != nil {
			r.log.Error("register with own name server", "error", err)
		} else {
			r.order(result.OrderTopics)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
			timer.Reset(registerEvery)
		}
	}
}

// keep registers with one name server now, at every change, and every 30 s; every 5 s while it can't be reached. Only
// changes of state are logged.
func (r *registration) keep(ctx context.Context, o *outpost) {
	timer := r.clock.NewTimer(registerEvery)
	defer timer.Stop()
	reached, first := false, true
	var waiters []chan struct{}
	for {
		waiters = drainWaiters(waiters, o.wake)
		call, cancel := context.WithTimeout(ctx, registerTimeout)
		result, err := o.registrar.Register(call, r.current(), false)
		cancel()
		o.failing.Store(err != nil)
		for _, w := range waiters {
			w <- struct{}{}
		}
		waiters = waiters[:0]
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && (reached || first):
			r.log.Warn("name server can't be reached; trying again", "nameserver", o.registrar.Addr(), "every", registerRetry, "error", err)
		case err == nil && !reached:
			r.log.Info("registered", "nameserver", o.registrar.Addr(), "broker", r.identity.Broker, "address", r.identity.Addr)
		}
		reached, first = err == nil, false
		pause := registerRetry
		if reached {
			r.order(result.OrderTopics)
			pause = registerEvery
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		case w := <-o.wake:
			if w != nil {
				waiters = append(waiters, w)
			}
		}
	}
}

// drainWaiters takes all that came before the registration that will answer them.
func drainWaiters(waiters []chan struct{}, wake chan chan struct{}) []chan struct{} {
	for {
		select {
		case w := <-wake:
			if w != nil {
				waiters = append(waiters, w)
			}
		default:
			return waiters
		}
	}
}
