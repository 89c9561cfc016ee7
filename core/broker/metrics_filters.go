package broker

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/transport"
)

// filterMetrics are those of each group's filter of a topic, and of each module. Their labels are made when somebody
// collects.
type filterMetrics struct {
	scanned, matched, rejected, ruledOut, judged metric.Int64ObservableCounter
	unknown, raised, undecided, errors, dropped  metric.Int64ObservableCounter
	time, moduleTime                             metric.Float64ObservableCounter
	cover                                        metric.Float64ObservableGauge
	instances, programs, open                    metric.Int64ObservableGauge
}

// instrumentMaker makes one instrument and collects what went wrong.
type instrumentMaker struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

func (k *instrumentMaker) gauge(to *metric.Int64ObservableGauge, name, unit, what string) {
	g, err := k.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	*to, k.all, k.errs = g, append(k.all, g), append(k.errs, err)
}

func (k *instrumentMaker) counter(to *metric.Int64ObservableCounter, name, unit, what string) {
	c, err := k.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	*to, k.all, k.errs = c, append(k.all, c), append(k.errs, err)
}

func (k *instrumentMaker) seconds(to *metric.Float64ObservableCounter, name, what string) {
	c, err := k.meter.Float64ObservableCounter(name, metric.WithUnit("s"), metric.WithDescription(what))
	*to, k.all, k.errs = c, append(k.all, c), append(k.errs, err)
}

func (m *filterMetrics) make(k *instrumentMaker) {
	k.counter(&m.scanned, "weir_subscription_scanned_total", "", "messages that a group's pulls have passed, delivered or not")
	k.counter(&m.matched, "weir_subscription_matched_total", "", "those that its filter accepted and that were delivered")
	k.counter(&m.rejected, "weir_subscription_rejected_total", "", "those that were not")
	k.counter(&m.ruledOut, "weir_subscription_ruled_out_total", "", "those that were rejected without being read: by the queue's index, or by kept verdicts (cover)")
	k.counter(&m.judged, "weir_subscription_judged_total", "", "messages that the filter was asked about: at a pull, or on arrival, once for all groups with the same filter")
	k.counter(&m.unknown, "weir_subscription_unknown_total", "", "messages for which the filter's expression was unknown")
	k.counter(&m.raised, "weir_subscription_raised_total", "", "messages for which the filter's expression failed, a property that is no number for example")
	k.counter(&m.undecided, "weir_subscription_undecided_total", "", "messages that the filter could not judge")
	k.counter(&m.errors, "weir_subscription_errors_total", "", "pulls that the filter stopped")
	k.seconds(&m.time, "weir_subscription_judging", "time that the filter took to judge")
	k.counter(&m.dropped, "weir_subscription_dropped_total", "", "pulls of groups and topics above queues.counters_max, which have no figures")
	g, err := k.meter.Float64ObservableGauge("weir_subscription_cover_ratio", metric.WithDescription("share of the messages in the topic's queues whose verdict is kept"))
	m.cover, k.all, k.errs = g, append(k.all, g), append(k.errs, err)
	k.gauge(&m.instances, "weir_module_instances", "", "running instances of a module")
	k.gauge(&m.programs, "weir_module_programs", "", "filters and functions that run a module")
	k.gauge(&m.open, "weir_module_breaker_open", "", "1 while a module isn't called because it fails all the time")
	k.seconds(&m.moduleTime, "weir_module_judging", "time that calls of a module took")
}

func (m *filterMetrics) observe(h *handler, o metric.Observer) {
	h.pulls.EachFigures(func(f *transport.Filter) {
		labels := groupLabels(f.Topic, f.Group)
		with := metric.WithAttributeSet(labels)
		split := func(c metric.Int64ObservableCounter, key, value string, n int64) {
			o.ObserveInt64(c, n, metric.WithAttributes(append(labels.ToSlice(), attribute.String(key, value))...))
		}
		o.ObserveInt64(m.scanned, f.Scanned, with)
		o.ObserveInt64(m.matched, f.Matched, with)
		o.ObserveInt64(m.rejected, f.Scanned-f.Matched, with)
		split(m.ruledOut, "by", "index", f.ByIndex)
		split(m.ruledOut, "by", "cover", f.ByCover)
		split(m.judged, "at", "pull", f.JudgedPulling)
		split(m.judged, "at", "arrival", f.JudgedArriving)
		o.ObserveInt64(m.unknown, f.Unknown, with)
		o.ObserveInt64(m.raised, f.Raised, with)
		o.ObserveInt64(m.undecided, f.Undecided, with)
		o.ObserveInt64(m.errors, f.Errors, with)
		o.ObserveFloat64(m.time, f.Time.Seconds(), with)
		if f.Kept && f.Entries > 0 {
			o.ObserveFloat64(m.cover, float64(f.Covered)/float64(f.Entries), with)
		}
	})
	o.ObserveInt64(m.dropped, h.pulls.FiguresDropped())
	for _, host := range h.modules.hosts {
		for _, x := range host.ModuleInfos() {
			if x.Loaded {
				m.observeModule(&x, o)
			}
		}
	}
}

func (m *filterMetrics) observeModule(x *filter.ModuleInfo, o metric.Observer) {
	with := metric.WithAttributes(attribute.String("module", x.Name), attribute.Int("number", x.Number))
	open := int64(0)
	if x.Open {
		open = 1
	}
	o.ObserveInt64(m.instances, int64(x.Instances), with)
	o.ObserveInt64(m.programs, int64(x.Programs), with)
	o.ObserveInt64(m.open, open, with)
	o.ObserveFloat64(m.moduleTime, x.Figures.Time.Seconds(), with)
}
