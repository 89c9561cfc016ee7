// Package plugintest is the part of the plugins' conformance suites that all kinds share: the settings a component is
// made with, a host that notes what it is told, and the rules of the life cycle. The suites themselves are filtertest,
// authtest and transporttest.
package plugintest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/plugin"
)

// Settings returns complete settings for a component of type typ: a real clock, a directory of its own that doesn't
// exist yet, telemetry that goes nowhere and a log that goes to the test's output.
func Settings(t testing.TB, typ plugin.Type) plugin.Settings {
	t.Helper()
	return plugin.Settings{
		ID:             plugin.ID{Type: typ},
		Logger:         slog.New(slog.NewTextHandler(t.Output(), nil)),
		MeterProvider:  metricnoop.NewMeterProvider(),
		TracerProvider: tracenoop.NewTracerProvider(),
		Clock:          clock.Real(),
		DataDir:        filepath.Join(t.TempDir(), string(typ)),
	}
}

// Host is a plugin.Host that notes what it is told. The zero Host is ready.
type Host struct {
	mu     sync.Mutex // guards errors
	errors []error
}

// Fatal notes err.
func (h *Host) Fatal(_ plugin.ID, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errors = append(h.errors, err)
}

// Errors returns what was noted.
func (h *Host) Errors() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]error(nil), h.errors...)
}

// Timeout bounds every single step of a suite.
const Timeout = 30 * time.Second

// Factory checks what every factory promises: a legal type, a stability, and defaults that are fresh and valid.
func Factory(t *testing.T, f plugin.Factory) {
	t.Helper()
	if id, err := plugin.ParseID(string(f.Type())); err != nil || id.Name != "" {
		t.Errorf("type %q isn't lower_snake_case: %v", f.Type(), err)
	}
	switch f.Stability() {
	case plugin.Development, plugin.Beta, plugin.Stable:
	default:
		t.Errorf("unknown stability %q", f.Stability())
	}
	cfg := f.DefaultConfig()
	if cfg == nil {
		t.Fatal("no default configuration")
	}
	if v, ok := cfg.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			t.Errorf("the default configuration isn't valid: %v", err)
		}
	}
}

// Lifecycle checks that components stop without having started, stop twice, and stop in time after serving. make
// returns a new component every time; serve, which may be nil, uses a started one.
func Lifecycle[C plugin.Component](t *testing.T, newComponent func(t *testing.T) C, serve func(t *testing.T, c C)) {
	t.Helper()
	stop := func(t *testing.T, c C, when string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Errorf("stop %s: %v", when, err)
		}
	}
	t.Run("stop without start", func(t *testing.T) {
		c := newComponent(t)
		stop(t, c, "without start")
		stop(t, c, "twice without start")
	})
	t.Run("start and stop", func(t *testing.T) {
		c := newComponent(t)
		var host Host
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		err := c.Start(ctx, &host)
		cancel() // bounds the start only, not the component's life
		if err != nil {
			stop(t, c, "after a failed start")
			t.Fatalf("start: %v", err)
		}
		if serve != nil {
			serve(t, c)
		}
		stop(t, c, "after serving")
		stop(t, c, "twice")
		if errs := host.Errors(); len(errs) > 0 {
			t.Errorf("told the host of %v", errs)
		}
	})
}

// Start starts c and stops it when the test ends.
func Start(t *testing.T, c plugin.Component) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	var host Host
	if err := c.Start(ctx, &host); err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}
