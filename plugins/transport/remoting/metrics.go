package remoting

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
)

// metrics are an endpoint's counters. They are plain atomics that the meter reads when it collects, so that counting
// costs a message next to nothing.
type metrics struct {
	connections     atomic.Int64 // open now
	accepted        atomic.Int64
	refusedConns    atomic.Int64
	malformedFrames atomic.Int64
	requests        atomic.Int64
	answers         atomic.Int64
	refusals        atomic.Int64 // answers with a code other than 0
	panics          atomic.Int64
}

func newMetrics(p metric.MeterProvider) (*metrics, error) {
	m := &metrics{}
	meter := p.Meter("github.com/weirmq/weir/plugins/transport/remoting")
	for _, c := range []struct {
		name, what string
		v          *atomic.Int64
	}{
		{"weir.remoting.connections.accepted", "connections accepted", &m.accepted},
		{"weir.remoting.connections.refused", "connections closed at once because there were max_connections", &m.refusedConns},
		{"weir.remoting.frames.malformed", "connections closed because the peer broke the protocol", &m.malformedFrames},
		{"weir.remoting.requests", "requests received", &m.requests},
		{"weir.remoting.answers", "answers made", &m.answers},
		{"weir.remoting.refusals", "answers with a code other than SUCCESS", &m.refusals},
		{"weir.remoting.panics", "requests during which the broker panicked", &m.panics},
	} {
		_, err := meter.Int64ObservableCounter(c.name, metric.WithDescription(c.what),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(c.v.Load())
				return nil
			}))
		if err != nil {
			return nil, fmt.Errorf("make counter %s: %w", c.name, err)
		}
	}
	_, err := meter.Int64ObservableGauge("weir.remoting.connections", metric.WithDescription("open connections"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(m.connections.Load())
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("make gauge weir.remoting.connections: %w", err)
	}
	return m, nil
}

func (m *metrics) opened() {
	m.accepted.Add(1)
	m.connections.Add(1)
}

func (m *metrics) answered(code int32) {
	m.answers.Add(1)
	if code != 0 {
		m.refusals.Add(1)
	}
}
