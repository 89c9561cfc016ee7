// Package authtest is the conformance suite of auth plugins: what core/auth promises to the broker, checked for any
// implementation. An implementation's test calls Run and adds tests of its own rules.
package authtest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin/plugintest"
)

// Case is one caller and what it should be let do.
type Case struct {
	// Name names the subtest.
	Name string
	// Credentials are shown; nil stands for none, from the loopback address.
	Credentials *auth.Credentials
	// Refused says that the caller isn't let in at all.
	Refused bool
	// Code is the code of the refusal, checked if not 0.
	Code message.Code
	// Allowed and Denied are what an admitted caller may and may not do.
	Allowed, Denied []Access
}

// Access is an action on a resource.
type Access struct {
	Action   auth.Action
	Resource auth.Resource
}

// Suite is what Run needs to know of an implementation.
type Suite struct {
	Factory auth.Factory
	// Config is the configuration; nil for the default.
	Config any
	// Open says that the plugin allows everything by intention. Without it, actions and resources that don't exist must
	// be refused to everybody.
	Open  bool
	Cases []Case
}

// Actions are all actions there are.
var actions = []auth.Action{auth.Publish, auth.Subscribe, auth.Query, auth.Describe, auth.Alter, auth.Register, auth.Deploy}

// Run checks s.
func Run(t *testing.T, s Suite) {
	t.Run("factory", func(t *testing.T) { plugintest.Factory(t, s.Factory) })
	t.Run("life cycle", func(t *testing.T) {
		plugintest.Lifecycle(t, s.make, func(t *testing.T, a auth.Authenticator) {
			for _, c := range s.Cases {
				s.check(t, a, c)
			}
		})
	})
	a := s.make(t)
	plugintest.Start(t, a)
	for _, c := range s.Cases {
		t.Run(c.Name, func(t *testing.T) { s.check(t, a, c) })
	}
	if !s.Open { // an open door allows even that, by intention
		t.Run("nothing is refused", func(t *testing.T) { s.checkNothing(t, a) })
	}
	t.Run("concurrent use", func(t *testing.T) { s.checkConcurrent(t, a) })
	t.Run("strange credentials", func(t *testing.T) { checkStrange(t, a) })
}

func (s *Suite) make(t *testing.T) auth.Authenticator {
	t.Helper()
	cfg := s.Config
	if cfg == nil {
		cfg = s.Factory.DefaultConfig()
	}
	a, err := s.Factory.NewAuthenticator(plugintest.Settings(t, s.Factory.Type()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func credentials(c Case) *auth.Credentials {
	if c.Credentials != nil {
		return c.Credentials
	}
	return &auth.Credentials{Remote: netip.MustParseAddrPort("127.0.0.1:40000")}
}

// check runs one case, twice, because the second time may be answered from memory.
func (s *Suite) check(t *testing.T, a auth.Authenticator, c Case) {
	t.Helper()
	ctx := context.Background()
	for range 2 {
		p, err := a.Authenticate(ctx, credentials(c))
		if c.Refused {
			checkRefusal(t, "authenticate", err, c.Code)
			continue
		}
		if err != nil {
			t.Fatalf("authenticate: %v", err)
		}
		for _, x := range c.Allowed {
			if err := a.Authorize(ctx, p, x.Action, x.Resource); err != nil {
				t.Errorf("%s %s %q: refused: %v", x.Action, x.Resource.Kind, x.Resource.Name, err)
			}
		}
		for _, x := range c.Denied {
			err := a.Authorize(ctx, p, x.Action, x.Resource)
			checkRefusal(t, fmt.Sprintf("%s %s %q", x.Action, x.Resource.Kind, x.Resource.Name), err, c.Code)
		}
	}
}

// checkRefusal wants an error that a caller can read, with the given code if that isn't 0.
func checkRefusal(t *testing.T, what string, err error, code message.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: allowed", what)
		return
	}
	if err.Error() == "" {
		t.Errorf("%s: the refusal gives no reason", what)
	}
	var e *message.Error
	if errors.As(err, &e) && e.Remark == "" {
		t.Errorf("%s: the refusal has no remark", what)
	}
	if code != 0 && (e == nil || e.Code != code) {
		t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

// checkNothing asks for actions and resources that don't exist, as nobody and as everybody known.
func (s *Suite) checkNothing(t *testing.T, a auth.Authenticator) {
	ctx := context.Background()
	principals := []auth.Principal{{}}
	for _, c := range s.Cases {
		if p, err := a.Authenticate(ctx, credentials(c)); err == nil {
			principals = append(principals, p)
		}
	}
	for _, p := range principals {
		if err := a.Authorize(ctx, p, 0, auth.Resource{Kind: auth.Topic, Name: "T"}); err == nil {
			t.Errorf("%q: the zero action is allowed", p.Name)
		}
		for _, action := range actions {
			if err := a.Authorize(ctx, p, action, auth.Resource{}); err == nil {
				t.Errorf("%q: %s is allowed on the zero resource", p.Name, action)
			}
		}
	}
	for _, action := range actions {
		if err := a.Authorize(ctx, auth.Principal{}, action, auth.Resource{Kind: auth.Broker}); err == nil {
			t.Errorf("nobody may %s the broker", action)
		}
	}
}

// checkConcurrent runs all cases on several goroutines; the race detector watches.
func (s *Suite) checkConcurrent(t *testing.T, a auth.Authenticator) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, c := range s.Cases {
				s.check(t, a, c)
			}
		})
	}
	wg.Wait()
}

// checkStrange shows credentials as an attacker might. Any answer will do, but not a panic.
func checkStrange(t *testing.T, a auth.Authenticator) {
	long := make([]byte, 1<<20)
	for _, c := range []auth.Credentials{
		{},
		{AccessKey: []byte{0, 0xff, '\n'}, Signature: []byte("x"), Token: []byte{0xc0}},
		{AccessKey: long, Signature: long},
		{AccessKey: []byte("a"), Signature: []byte("x"), Signed: signed{}},
	} {
		p, err := a.Authenticate(context.Background(), &c)
		if err == nil {
			_ = a.Authorize(context.Background(), p, auth.Alter, auth.Resource{Kind: auth.Topic, Name: string(long)})
		} else if err.Error() == "" {
			t.Error("a refusal gives no reason")
		}
	}
}

// signed is a request of no fields.
type signed struct{}

func (signed) AppendSigned(dst []byte, _ ...string) []byte { return dst }
