package broker

import (
	"context"
	"path/filepath"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// newDelays makes what delivers delayed messages.
func (b *Broker) newDelays(h *handler) (err error) {
	h.delays, err = schedule.New(schedule.Settings{
		Config: b.sections.Schedule, Clock: b.opts.Clock, Logger: b.log, FS: b.opts.FS, Log: h.store, Put: newAgain(h),
		Path: filepath.Join(b.opts.Config.DataDir, "config", "delayOffset.json"),
	})
	return err
}

// arrived tells everybody who waits for messages of new ones.
func (h *handler) arrived(list []message.Arrival) {
	for i := range list {
		switch list[i].Queue.Topic {
		case message.TopicSchedule:
			h.delays.Arrived(list[i].Queue.ID)
		case message.TopicTimer:
			h.timers.Arrived()
		}
	}
	h.pulls.Arrived(list)
}

// delay sends m to where messages of a level wait. Its properties are copied to dst, which has room for them and delayRoom bytes more.
func (h *handler) delay(m *store.Message, dst, p message.Properties, level int) message.Properties {
	key, out := h.delays.Levels().Redirect(dst, p, level, m.Topic, m.Queue)
	m.Topic, m.Queue = key.Topic, key.ID
	return out
}

// delayRoom bounds what a delay adds to properties.
const delayRoom = len(message.PropDelay) + len(message.PropRealTopic) + len(message.PropRealQueueID) + message.MaxTopicLength + 3*12

// DelayOffsets implements transport.BrokerAdmin.
func (h *handler) DelayOffsets(ctx context.Context, c *transport.Caller) ([]byte, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, wholeBroker); err != nil {
		return nil, err
	}
	return h.delays.File()
}
