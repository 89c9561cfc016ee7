package broker

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/topic"
	"github.com/weirmq/weir/core/transport"
)

// sendWork is what a batch of sends carries while it is under way. It stays with the transport's batch and is reused with
// it, so that a busy connection allocates nothing for a message.
type sendWork struct {
	handler *handler
	owner   *transport.SendBatch
	batch   store.Batch
	// runs tells which messages of batch belong to which send.
	runs []sendRun
	// properties is the arena of rewritten property strings: they lie in it one behind the other.
	properties message.Properties
}

// sendRun is the part of a store batch that one send became.
type sendRun struct {
	send         int
	first, count int
	// answer is the queue id to report: for a message that was redirected, the one that was asked for.
	answer message.QueueID
}

// Send implements transport.Sender.
func (h *handler) Send(ctx context.Context, b *transport.SendBatch) {
	w, ok := b.Work.(*sendWork)
	if !ok {
		w = &sendWork{}
		w.batch.Done = w
		b.Work = w
	}
	if !w.begin(h, b) {
		for i := range b.Sends {
			b.Sends[i].Answer(h.refused(errStopping))
		}
		b.Reply.SendsDone(b)
		return
	}
	for i := range b.Sends {
		if err := w.add(ctx, i); err != nil {
			b.Sends[i].Answer(h.refused(err))
		}
	}
	if len(w.batch.Messages) == 0 {
		b.Reply.SendsDone(b)
		return
	}
	h.store.Append(&w.batch)
}

// begin makes w ready for b. It returns false when the broker ends before it knows its own address.
func (w *sendWork) begin(h *handler, b *transport.SendBatch) (ok bool) {
	w.handler, w.owner = h, b
	w.batch.Messages = w.batch.Messages[:0]
	w.batch.Wait = false
	w.runs = w.runs[:0]
	if cap(w.properties) > arenaKeep {
		w.properties = nil
	}
	w.properties = w.properties[:0]
	b.Positions = b.Positions[:0]
	b.StoreHost, ok = h.storeHost()
	return ok
}

// Appended implements store.Completer: it answers each send and gives the batch back.
func (w *sendWork) Appended(*store.Batch) {
	b, h := w.owner, w.handler
	for _, r := range w.runs {
		messages := w.batch.Messages[r.first : r.first+r.count]
		s, m := &b.Sends[r.send], &messages[0]
		s.Code, s.Remark = m.Code, m.Remark
		if m.Code != message.Success {
			h.refusals[m.Cause].Add(1)
		}
		s.AnsweredQueueID, s.QueueOffset = r.answer, m.QueueOffset
		from := len(b.Positions)
		for i := range messages {
			b.Positions = append(b.Positions, messages[i].Position)
		}
		s.Positions = b.Positions[from:len(b.Positions):len(b.Positions)]
	}
	h.countSends(w)
	w.owner = nil
	clear(w.batch.Messages) // they keep the frames that they came in from being freed
	b.Reply.SendsDone(b)
}

// add checks send i and adds what it asks for to the store batch.
func (w *sendWork) add(ctx context.Context, i int) error {
	h, s := w.handler, &w.owner.Sends[i]
	t, err := h.topicForSend(ctx, s)
	if err != nil {
		return err
	}
	id, err := chooseQueue(t, s.QueueID)
	if err != nil {
		return err
	}
	m := store.Message{
		Topic: t.Name, Queue: id, Flag: s.Flag, SysFlag: s.SysFlag, BornTimestamp: s.BornTimestamp,
		BornHost: w.owner.Session.Remote(), StoreHost: w.owner.StoreHost, ReconsumeTimes: s.ReconsumeTimes, Body: s.Body,
	}
	if t.FilterType == topic.MultiTag {
		m.SysFlag |= message.FlagMultiTags
	}
	if s.Batch {
		return w.addBatch(i, s, m)
	}
	return w.addSingle(i, s, m)
}

// chooseQueue returns the queue of t that a client asked for, any for a negative one.
func chooseQueue(t *transport.TopicConfig, id message.QueueID) (message.QueueID, error) {
	if id >= message.QueueID(max(t.ReadQueues, t.WriteQueues)) {
		return 0, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(
			"queue id %d is out of range: topic %s has %d read and %d write queues", id, t.Name, t.ReadQueues, t.WriteQueues)}
	}
	if id >= 0 {
		return id, nil
	}
	if t.WriteQueues < 1 {
		return 0, &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("topic %s has no queue to write to", t.Name)}
	}
	return message.QueueID(rand.Int32N(t.WriteQueues)), nil
}

// addSingle adds one message. WAIT is taken out of its properties and CLUSTER put in, as RocketMQ does.
func (w *sendWork) addSingle(i int, s *transport.Send, m store.Message) error {
	p := scanProperties(s.Properties)
	retry := message.IsRetryTopic(m.Topic)
	if err := p.refuse(s); err != nil {
		return err
	}
	run := sendRun{send: i, first: len(w.batch.Messages), count: 1, answer: m.Queue}
	if retry {
		if err := w.handler.redirectDeadLetter(s, &m); err != nil {
			return err
		}
	}
	level, _ := p.delayLevel()
	due, timed := int64(0), false
	if p.timed && level <= 0 && !message.IsDLQTopic(m.Topic) {
		var err error
		if due, timed, err = w.handler.timerDue(s.Properties); err != nil {
			return err
		}
	}
	switch {
	case p.half(s): // its time counts from the commit on
		half, err := w.half(&m, s.Properties)
		if err != nil {
			return err
		}
		m.Properties = half
	case level > 0 && !message.IsDLQTopic(m.Topic):
		m.Properties = w.delayed(&m, s.Properties, level)
	case timed:
		waiting, err := w.timed(&m, s, due)
		if err != nil {
			return err
		}
		m.Properties = waiting
	default:
		m.Properties = w.rewrite(s.Properties, p, m.Topic)
	}
	w.batch.Wait = w.batch.Wait || p.wait
	w.batch.Messages = append(w.batch.Messages, m)
	w.runs = append(w.runs, run)
	return nil
}

// addBatch adds the messages of a client's batch as a unit: they lie in one segment and are refused together. Unlike a
// single message's, their properties keep WAIT, as RocketMQ stores them.
func (w *sendWork) addBatch(i int, s *transport.Send, m store.Message) error {
	p := scanProperties(s.Properties)
	if message.TransactionType(s.SysFlag) != 0 || p.delayed() || p.transaction || p.timed && w.handler.timersEnabled {
		return &message.Error{Code: message.MessageIllegal, Remark: "a batch may be neither transactional nor delayed"}
	}
	if limit := int(w.handler.maxMessageSize); len(s.Body) > limit {
		return &message.Error{Code: message.MessageIllegal, Remark: fmt.Sprintf(
			"batch of %d bytes is over the limit of %d (store.max_message_size)", len(s.Body), limit)}
	}
	more := w.keep(message.AppendProperties(message.AppendWithout(
		w.room(len(s.Properties)+len(w.handler.clusterProperty)+1), s.Properties, message.PropCluster), w.handler.clusterProperty))
	first := len(w.batch.Messages)
	for rest := message.Batch(s.Body); ; {
		item, next, ok, err := rest.Next()
		if err != nil {
			w.batch.Messages = w.batch.Messages[:first]
			return &message.Error{Code: message.MessageIllegal, Remark: err.Error()}
		}
		if !ok {
			break
		}
		inner := m
		inner.Flag, inner.Body, inner.Properties, inner.MoreProperties = item.Flag, item.Body, item.Properties, more
		w.batch.Messages = append(w.batch.Messages, inner)
		rest = next
	}
	count := len(w.batch.Messages) - first
	if count == 0 {
		return &message.Error{Code: message.MessageIllegal, Remark: "batch holds no message"}
	}
	w.batch.Messages[first].Unit = int32(count)
	w.batch.Wait = w.batch.Wait || p.wait
	w.runs = append(w.runs, sendRun{send: i, first: first, count: count, answer: m.Queue})
	return nil
}

// topicForSend authorises the send and finds its topic, or creates it.
func (h *handler) topicForSend(ctx context.Context, s *transport.Send) (*transport.TopicConfig, error) {
	t, ok := h.topics.Lookup(s.Topic)
	var name string
	if ok {
		name = t.Name
	} else {
		name = string(s.Topic)
	}
	if err := h.gate.check(ctx, &s.Credentials, auth.Publish, topicOf(name)); err != nil {
		return nil, err
	}
	if message.IsClosedTopic(name) {
		return nil, &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf("topic %s is the broker's own: nobody may send to it", name)}
	}
	if ok {
		// RocketMQ's rule: of a broker that is not to be written to, producers stay away because its route says so. Only
		// ordered topics, whose routes are fixed elsewhere, are refused here.
		if t.Order && !h.settings.perm().CanWrite() {
			return nil, &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf(
				"this broker may not be written to (brokerPermission), and topic %s is ordered", name)}
		}
		return t, nil
	}
	t, _, err := h.topics.EnsureForSend(s.Topic, s.DefaultTopic, s.DefaultTopicQueueNums, s.UnitMode)
	return t, err
}

// redirectDeadLetter sends a message that a consumer puts into its retry topic by itself (the fallback of ordered
// consumers) to the dead letter topic when it has been retried often enough. The answer keeps the queue asked for.
func (h *handler) redirectDeadLetter(s *transport.Send, m *store.Message) error {
	group, _ := message.RetryGroup(m.Topic)
	g, err := h.groups.Ensure(group)
	if err != nil {
		return err
	}
	if !queue.SendIsDead(g, s) {
		return nil
	}
	t, err := h.topics.EnsureDLQ(group)
	if err != nil {
		return err
	}
	m.Topic, m.Queue = t.Name, 0
	return nil
}
