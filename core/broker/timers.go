package broker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// newTimers makes what delivers messages with times of their own.
func (b *Broker) newTimers(h *handler) {
	h.timers = schedule.NewTimers(schedule.TimerSettings{
		Config: b.sections.Schedule, Clock: b.opts.Clock, Logger: b.log, FS: b.opts.FS, Log: h.store, Put: newAgain(h),
		Dir: filepath.Join(b.opts.Config.DataDir, "weir", "timers"),
	})
	h.timersEnabled = b.sections.Schedule.Timers
}

// timerRoom bounds what waiting for a time of its own adds to properties.
const timerRoom = len(message.PropTimerOutMS) + len(message.PropRealTopic) + len(message.PropRealQueueID) + message.MaxTopicLength + 3*24

// timerDue returns when a message with properties p is to be delivered, in ms since 1970, and whether it waits for that.
func (h *handler) timerDue(p message.Properties) (due int64, timed bool, err error) {
	if !h.timersEnabled {
		return 0, false, nil
	}
	return schedule.TimerDue(p, clock.Millis(h.clock.Now()), h.timers.Limit())
}

// timer sends m to where messages wait until due. Its properties are copied to dst, which has room for them and timerRoom bytes more.
func (h *handler) timer(m *store.Message, dst, p message.Properties, due int64) (message.Properties, error) {
	if err := h.ensureTimerTopic(); err != nil {
		return nil, err
	}
	out := schedule.RedirectTimer(dst, p, due, m.Topic, m.Queue)
	q := schedule.TimerQueue()
	m.Topic, m.Queue = q.Topic, q.ID
	return out, nil
}

func (h *handler) ensureTimerTopic() error {
	if _, ok := h.topics.Lookup([]byte(message.TopicTimer)); ok {
		return nil
	}
	_, err := h.topics.EnsureSystem(message.TopicTimer, 1)
	return err
}

// timed sends m to where messages wait until due, and returns the property string to store, see delayed. The answer gets the handle by which the message
// can be recalled, if it has a key.
func (w *sendWork) timed(m *store.Message, s *transport.Send, due int64) (message.Properties, error) {
	h, p := w.handler, message.Properties(s.Properties)
	topic := m.Topic
	own := w.keep(message.AppendProperties(message.AppendWithout(w.room(len(p)+len(h.clusterProperty)+1), p, message.PropCluster), h.clusterProperty))
	out, err := h.timer(m, w.room(len(own)+timerRoom), own, due)
	if err != nil {
		return nil, err
	}
	if key, ok := p.Get(message.PropUniqKey); ok && len(key) > 0 {
		handle := message.RecallHandle{Topic: topic, Broker: h.identity.broker, Time: due + 1, Key: string(key)}
		s.RecallHandle = handle.String()
	}
	return w.keep(out), nil
}

// Recall implements transport.Recaller.
func (h *handler) Recall(ctx context.Context, c *transport.Caller, r transport.Recall) (key string, err error) {
	if err := h.gate.Allow(ctx, c, auth.Publish, topicOf(r.Topic)); err != nil {
		return "", err
	}
	if !h.timersEnabled {
		return "", &message.Error{Code: message.NoPermission, Remark: "recall failed, operation is forbidden: this broker has no timers (schedule.timers)"}
	}
	if _, ok := h.topics.Lookup([]byte(r.Topic)); !ok {
		return "", &message.Error{Code: message.TopicNotExist, Remark: fmt.Sprintf("topic %s doesn't exist on this broker", r.Topic)}
	}
	handle, err := message.ParseRecallHandle(r.Handle)
	if err != nil {
		return "", err
	}
	now := clock.Millis(h.clock.Now())
	if err := schedule.CheckRecall(&handle, r.Topic, h.identity.broker, now, h.timers.Limit()); err != nil {
		return "", err
	}
	host, ok := h.storeHost()
	if !ok {
		return "", errStopping
	}
	if err := h.ensureTimerTopic(); err != nil {
		return "", err
	}
	q := schedule.TimerQueue()
	a := newAgain(h)
	a.batch.Wait = true
	a.batch.Messages = []store.Message{{Topic: q.Topic, Queue: q.ID, BornTimestamp: now, BornHost: c.Session.Remote(), StoreHost: host,
		Body: []byte("0"), Properties: schedule.Tombstone(message.AppendProperties(nil, h.clusterProperty), &handle, r.ProducerGroup)}}
	a.append()
	if m := &a.batch.Messages[0]; m.Code != message.Success {
		return "", &message.Error{Code: m.Code, Remark: m.Remark, Cause: m.Cause}
	}
	return handle.Key, nil
}
