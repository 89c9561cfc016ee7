package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/telemetry"
)

// metrics are the broker's, under the names and labels of RocketMQ 5, so that its dashboards work. They are read from the
// counters that are there anyway when somebody collects.
type metrics struct {
	h       *handler
	filters filterMetrics
	timers  timerMetrics

	permission, topics, groups                              metric.Int64ObservableGauge
	producers, consumers, conflicts                         metric.Int64ObservableGauge
	lag, lagLatency                                         metric.Int64ObservableGauge
	size, flushBehind, dispatchBehind, reserve              metric.Int64ObservableGauge
	held                                                    metric.Int64ObservableGauge
	messagesIn, bytesIn, messagesOut, bytesOut              metric.Int64ObservableCounter
	refused, jumped, judgedArriving, judgedPulling          metric.Int64ObservableCounter
	sparedArriving, ruledOut, countersDropped, heldRefusals metric.Int64ObservableCounter
	mandatoryRefused, conflictsRefused, moved               metric.Int64ObservableCounter
}

// prepareTelemetry makes the provider that plugins are made with.
func (b *Broker) prepareTelemetry(ctx context.Context) (err error) {
	b.telemetry, err = telemetry.New(ctx, telemetry.Settings{
		Config: b.sections.Telemetry, Logger: b.log, Cluster: b.opts.Config.Broker.Cluster, Broker: b.opts.Config.Broker.Name,
	})
	if err != nil {
		return err
	}
	b.onStop("telemetry", b.telemetry.Stop)
	return nil
}

// startTelemetry adds the broker's own metrics and lets them be fetched.
func (b *Broker) startTelemetry(ctx context.Context) error {
	if !b.telemetry.Enabled() {
		return nil
	}
	if err := newMetrics(b.handler, b.telemetry.MeterProvider()); err != nil {
		return err
	}
	return b.telemetry.Start(ctx)
}

func newMetrics(h *handler, p metric.MeterProvider) error {
	m := &metrics{h: h}
	meter := p.Meter("github.com/weirmq/weir/core/broker")
	k := &instrumentMaker{meter: meter}
	gauge, counter := k.gauge, k.counter
	gauge(&m.permission, "rocketmq_broker_permission", "", "what the broker allows: 4 read, 2 write, 6 both")
	gauge(&m.topics, "rocketmq_topic_number", "", "topics")
	gauge(&m.groups, "rocketmq_consumer_group_number", "", "subscription groups")
	gauge(&m.producers, "rocketmq_producer_connections", "", "connected producers")
	gauge(&m.consumers, "rocketmq_consumer_connections", "", "connected consumers")
	gauge(&m.conflicts, "weir_consumer_group_subscriptions", "", "different subscriptions of a group's clients, of groups that have more than one")
	gauge(&m.lag, "rocketmq_consumer_lag_messages", "", "messages that a group has not consumed, before filtering")
	gauge(&m.lagLatency, "rocketmq_consumer_lag_latency", "ms", "how long the oldest of them has been stored")
	gauge(&m.size, "rocketmq_storage_size", "By", "bytes of the commit log")
	gauge(&m.flushBehind, "rocketmq_storage_flush_behind", "By", "bytes that are written and not flushed")
	gauge(&m.dispatchBehind, "rocketmq_storage_dispatch_behind", "By", "bytes that are written and not in the queues")
	gauge(&m.reserve, "rocketmq_storage_message_reserve_time", "ms", "age of the oldest message")
	gauge(&m.held, "weir_pulls_held", "", "pulls that wait for messages")
	counter(&m.messagesIn, "rocketmq_messages_in_total", "", "messages stored")
	counter(&m.bytesIn, "rocketmq_throughput_in_total", "", "bytes of the bodies stored")
	counter(&m.messagesOut, "rocketmq_messages_out_total", "", "messages delivered")
	counter(&m.bytesOut, "rocketmq_throughput_out_total", "", "bytes of the records delivered")
	counter(&m.refused, "weir_messages_refused_total", "", "messages that were sent, returned or replied, and not taken")
	counter(&m.jumped, "weir_filter_jumped_total", "", "entries that pulls passed over by kept verdicts")
	counter(&m.judgedArriving, "weir_filter_judged_arriving_total", "", "messages judged by a filter when they arrived")
	counter(&m.judgedPulling, "weir_filter_judged_pulling_total", "", "messages judged by a filter at a pull, verdict kept")
	counter(&m.ruledOut, "weir_filter_ruled_out_total", "", "entries that pulls passed over by RocketMQ's Bloom bitmaps")
	counter(&m.sparedArriving, "weir_filter_spared_arriving_total", "", "messages left to the pull because the filters' share of time was used up")
	counter(&m.mandatoryRefused, "weir_filter_mandatory_refused_total", "", "pulls refused because a mandatory filter couldn't be asked")
	counter(&m.moved, "weir_pulls_out_of_range_total", "", "pulls for an offset that isn't in the queue, sent to the nearest that is right")
	counter(&m.conflictsRefused, "weir_conflicting_heartbeats_refused_total", "", "heartbeats refused because the members of the group subscribe something else")
	counter(&m.countersDropped, "weir_counters_dropped_total", "", "counts of topics and groups above queues.counters_max")
	counter(&m.heldRefusals, "weir_pulls_held_refused_total", "", "pulls answered at once because queues.held_pulls_max were waiting")
	m.filters.make(k)
	m.timers.make(k)
	if err := errors.Join(k.errs...); err != nil {
		return fmt.Errorf("make the broker's metrics: %w", err)
	}
	if _, err := meter.RegisterCallback(m.observe, k.all...); err != nil {
		return fmt.Errorf("make the broker's metrics: %w", err)
	}
	return nil
}

func (m *metrics) observe(_ context.Context, o metric.Observer) error {
	m.observeBroker(o)
	m.observeTraffic(o)
	m.observeClients(o)
	m.observeConflicts(o)
	m.filters.observe(m.h, o)
	m.timers.observe(m.h, o)
	m.h.progress.EachLag(func(l queue.Lag) {
		with := metric.WithAttributeSet(groupLabels(l.Topic, l.Group))
		o.ObserveInt64(m.lag, l.Messages, with)
		o.ObserveInt64(m.lagLatency, l.Latency.Milliseconds(), with)
	})
	return nil
}

func (m *metrics) observeBroker(o metric.Observer) {
	h := m.h
	topics, _ := h.topics.All()
	groups, _ := h.groups.All()
	o.ObserveInt64(m.permission, int64(h.settings.perm()))
	o.ObserveInt64(m.topics, int64(len(topics)))
	o.ObserveInt64(m.groups, int64(len(groups)))
	s := h.store.Stats()
	disk := metric.WithAttributes(attribute.String("storage_type", "local"), attribute.String("storage_medium", "disk"))
	o.ObserveInt64(m.size, int64(s.End-s.Begin), disk)
	o.ObserveInt64(m.flushBehind, s.FlushBehind, disk)
	o.ObserveInt64(m.dispatchBehind, s.DispatchBehind, disk)
	if s.EarliestStoreTime > 0 {
		o.ObserveInt64(m.reserve, max(0, h.clock.Now().Sub(time.UnixMilli(s.EarliestStoreTime)).Milliseconds()), disk)
	}
	for cause := range message.Causes {
		o.ObserveInt64(m.refused, h.refusals[cause].Load(), metric.WithAttributes(attribute.String("cause", cause.String())))
	}
	o.ObserveInt64(m.moved, h.pulls.Moved())
	o.ObserveInt64(m.held, int64(h.pulls.Held()))
	v := h.pulls.Verdicts()
	o.ObserveInt64(m.jumped, v.Jumped.Load())
	o.ObserveInt64(m.judgedArriving, v.JudgedArriving.Load())
	o.ObserveInt64(m.judgedPulling, v.JudgedPulling.Load())
	o.ObserveInt64(m.sparedArriving, v.Spared.Load())
	o.ObserveInt64(m.ruledOut, v.RuledOut.Load())
	o.ObserveInt64(m.mandatoryRefused, h.bindings.RefusedPulls())
	o.ObserveInt64(m.countersDropped, h.counters.Dropped.Load())
	o.ObserveInt64(m.heldRefusals, h.counters.HoldRefused.Load())
}

func (m *metrics) observeTraffic(o metric.Observer) {
	m.h.counters.Each(func(c queue.Count) {
		switch c.Stat {
		case queue.TopicPutNums:
			o.ObserveInt64(m.messagesIn, c.Total, metric.WithAttributeSet(topicLabels(c.Topic)))
		case queue.TopicPutSize:
			o.ObserveInt64(m.bytesIn, c.Total, metric.WithAttributeSet(topicLabels(c.Topic)))
		case queue.GroupGetNums:
			o.ObserveInt64(m.messagesOut, c.Total, metric.WithAttributeSet(groupLabels(c.Topic, c.Group)))
		case queue.GroupGetSize:
			o.ObserveInt64(m.bytesOut, c.Total, metric.WithAttributeSet(groupLabels(c.Topic, c.Group)))
		}
	})
}

func (m *metrics) observeClients(o metric.Observer) {
	for c, n := range m.h.clients.Connections() {
		labels := []attribute.KeyValue{
			attribute.String("language", c.Language), attribute.String("version", strconv.Itoa(int(c.Version))), attribute.String("protocol_type", "remoting"),
		}
		if !c.Consumer {
			o.ObserveInt64(m.producers, int64(n), metric.WithAttributes(labels...))
			continue
		}
		labels = append(labels, attribute.String("consumer_group", c.Group), attribute.Bool("is_system", message.IsSystemGroup(c.Group)))
		o.ObserveInt64(m.consumers, int64(n), metric.WithAttributes(labels...))
	}
}

func (m *metrics) observeConflicts(o metric.Observer) {
	for _, c := range m.h.clients.Conflicts("") {
		o.ObserveInt64(m.conflicts, int64(len(c.Sides)), metric.WithAttributes(attribute.String("consumer_group", c.Group)))
	}
	o.ObserveInt64(m.conflictsRefused, m.h.clients.Refused.Load())
}

func topicLabels(topic string) attribute.Set {
	return attribute.NewSet(attribute.String("topic", topic), attribute.Bool("is_system", message.IsSystemTopic(topic)))
}

func groupLabels(topic, group string) attribute.Set {
	return attribute.NewSet(attribute.String("topic", topic), attribute.String("consumer_group", group),
		attribute.Bool("is_retry", message.IsRetryTopic(topic)), attribute.Bool("is_system", message.IsSystemTopic(topic) || message.IsSystemGroup(group)))
}
