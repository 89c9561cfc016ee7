package broker

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// timerMetrics are those of messages that wait, by level or for times of their own.
type timerMetrics struct {
	waiting         metric.Int64ObservableGauge
	late            metric.Int64ObservableGauge
	outcome, failed metric.Int64ObservableCounter
}

func (m *timerMetrics) make(k *instrumentMaker) {
	k.gauge(&m.waiting, "weir_timers_waiting", "", "messages that wait for times of their own; those that were recalled are among them until their time")
	k.gauge(&m.late, "weir_delay_late", "ms", "how late the last message was that had waited")
	k.counter(&m.outcome, "weir_delayed_messages_total", "", "messages that waited: delivered, lost, recalled, or rolled, which is stored again while they wait")
	k.counter(&m.failed, "weir_delayed_failures_total", "", "attempts to deliver that are repeated")
}

func (m *timerMetrics) observe(h *handler, o metric.Observer) {
	levels, timers := &h.delays.Figures, &h.timers.Figures
	with := func(kind, outcome string) metric.MeasurementOption {
		return metric.WithAttributes(attribute.String("kind", kind), attribute.String("outcome", outcome))
	}
	kind := func(kind string) metric.MeasurementOption {
		return metric.WithAttributes(attribute.String("kind", kind))
	}
	o.ObserveInt64(m.waiting, h.timers.Pending())
	o.ObserveInt64(m.late, levels.LatestMillis.Load(), kind("level"))
	o.ObserveInt64(m.late, timers.LatestMillis.Load(), kind("timer"))
	o.ObserveInt64(m.outcome, levels.Delivered.Load(), with("level", "delivered"))
	o.ObserveInt64(m.outcome, levels.Lost.Load(), with("level", "lost"))
	o.ObserveInt64(m.outcome, timers.Delivered.Load(), with("timer", "delivered"))
	o.ObserveInt64(m.outcome, timers.Lost.Load(), with("timer", "lost"))
	o.ObserveInt64(m.outcome, timers.Recalled.Load(), with("timer", "recalled"))
	o.ObserveInt64(m.outcome, timers.Rolled.Load(), with("timer", "rolled"))
	o.ObserveInt64(m.failed, levels.Failed.Load(), kind("level"))
	o.ObserveInt64(m.failed, timers.Failed.Load(), kind("timer"))
}
