package remoting

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weirmq/weir/core/plugin"
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
	refusals        [refusalCodes]atomic.Int64 // answers with a code other than 0, by code; those with a larger one at 0
	panics          atomic.Int64
}

// refusalCodes is more than all codes that RocketMQ has for answers but a few that nobody sends.
const refusalCodes = 256

// newMetrics makes the metrics of an endpoint; a broker and the name server inside it are told apart by the label plugin.
func newMetrics(p metric.MeterProvider, id plugin.ID) (*metrics, error) {
	m := &metrics{}
	with := metric.WithAttributeSet(attribute.NewSet(attribute.String("plugin", id.String())))
	meter := p.Meter("github.com/weirmq/weir/plugins/transport/remoting")
	counters := []struct {
		name, what string
		v          *atomic.Int64
	}{
		{"weir.remoting.connections.accepted", "connections accepted", &m.accepted},
		{"weir.remoting.connections.refused", "connections closed at once because there were max_connections", &m.refusedConns},
		{"weir.remoting.frames.malformed", "connections closed because the peer broke the protocol", &m.malformedFrames},
		{"weir.remoting.requests", "requests received", &m.requests},
		{"weir.remoting.answers", "answers made", &m.answers},
		{"weir.remoting.panics", "requests during which the broker panicked", &m.panics},
	}
	made := make([]metric.Int64ObservableCounter, len(counters))
	var all []metric.Observable
	for i, c := range counters {
		counter, err := meter.Int64ObservableCounter(c.name, metric.WithDescription(c.what))
		if err != nil {
			return nil, fmt.Errorf("make counter %s: %w", c.name, err)
		}
		made[i], all = counter, append(all, counter)
	}
	open, err := meter.Int64ObservableGauge("weir.remoting.connections", metric.WithDescription("open connections"))
	if err != nil {
		return nil, fmt.Errorf("make gauge weir.remoting.connections: %w", err)
	}
	refusals, err := meter.Int64ObservableCounter("weir.remoting.refusals", metric.WithDescription("answers with a code other than SUCCESS"))
	if err != nil {
		return nil, fmt.Errorf("make counter weir.remoting.refusals: %w", err)
	}
	// A callback of its own for each endpoint: those that are given to the instruments count for the first endpoint only.
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for i, c := range counters {
			o.ObserveInt64(made[i], c.v.Load(), with)
		}
		for code := range m.refusals {
			if n := m.refusals[code].Load(); n > 0 {
				o.ObserveInt64(refusals, n, with, metric.WithAttributes(attribute.Int("code", code)))
			}
		}
		o.ObserveInt64(open, m.connections.Load(), with)
		return nil
	}, append(all, open, refusals)...)
	if err != nil {
		return nil, fmt.Errorf("make the metrics of %s: %w", id, err)
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
		if code < 0 || code >= refusalCodes {
			code = 0
		}
		m.refusals[code].Add(1)
	}
}
