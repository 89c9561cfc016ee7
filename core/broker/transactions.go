package broker

import (
	"context"
	"net/netip"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transaction"
	"github.com/weirmq/weir/core/transport"
)

// newTransactions makes what ends and checks transactions.
func (b *Broker) newTransactions(h *handler) {
	h.transactions = transaction.New(transaction.Settings{
		Config: b.sections.Transactions, Clock: b.opts.Clock, Logger: b.log, Log: h.store, Put: transactionAppender{newAgain(h)}, Offsets: h.offsets,
		Reserved: b.sections.Store.ReservedTime,
		Producers: func(group string) (sessions []transport.Session) {
			for _, m := range h.clients.ProducerMembers(group) {
				sessions = append(sessions, m.Session)
			}
			return sessions
		},
		Host: func() (netip.AddrPort, bool) {
			if p := h.host.Load(); p != nil {
				return *p, true
			}
			return netip.AddrPort{}, false
		},
		EnsureParked: func() error {
			_, err := h.topics.EnsureSystem(message.TopicTransCheckMax, 1)
			return err
		},
	})
}

// transactionAppender stores what the check of transactions wants stored.
type transactionAppender struct{ *again }

// Put implements transaction.Appender.
func (a transactionAppender) Put(messages []message.Message, units []int) []transaction.Stored {
	a.batch.Messages = a.batch.Messages[:0]
	for i := range messages {
		a.batch.Messages = append(a.batch.Messages, storeMessage(&messages[i]))
		if i > 0 && units[i] == units[i-1] {
			continue
		}
		n := int32(1)
		for j := i + 1; j < len(units) && units[j] == units[i]; j++ {
			n++
		}
		a.batch.Messages[i].Unit = n
	}
	a.batch.Wait = true
	a.append()
	out := make([]transaction.Stored, len(messages))
	for i := range a.batch.Messages {
		m := &a.batch.Messages[i]
		out[i] = transaction.Stored{Offset: m.QueueOffset, Position: m.Position, Time: m.StoreTimestamp}
		if m.Code != message.Success {
			out[i].Err = &message.Error{Code: m.Code, Remark: m.Remark}
		}
	}
	clear(a.batch.Messages)
	return out
}

// half makes m a half message. It returns the property string to store: with this broker's CLUSTER, and with WAIT, as RocketMQ stores it. It lives in
// w's arena.
func (w *sendWork) half(m *store.Message, p message.Properties) (message.Properties, error) {
	h := w.handler
	if !h.transactionsEnabled {
		return nil, &message.Error{Code: message.NoPermission, Remark: "this broker takes no transactional messages (transactions.enabled)"}
	}
	if _, ok := h.topics.Lookup([]byte(message.TopicTransHalf)); !ok {
		if _, err := h.topics.EnsureSystem(message.TopicTransHalf, 1); err != nil {
			return nil, err
		}
	}
	own := w.keep(message.AppendProperties(message.AppendWithout(w.room(len(p)+len(h.clusterProperty)+1), p, message.PropCluster), h.clusterProperty))
	own = w.keep(transaction.Redirect(w.room(len(own)+delayRoom), own, m.Topic, m.Queue))
	m.Topic, m.Queue = transaction.HalfQueue.Topic, transaction.HalfQueue.ID
	m.SysFlag &^= message.FlagPrepared | message.FlagCommit | message.FlagRollback
	return own, nil
}

// EndTransaction implements transport.Transactor.
func (h *handler) EndTransaction(ctx context.Context, e *transport.EndTransaction) {
	stored, err := h.endTransaction(ctx, e)
	if err != nil {
		e.Code, e.Remark = code(err)
	}
	if !stored {
		e.Reply.EndDone(e)
	}
}

// endTransaction hands what a decision causes to the store, which will answer e, and says whether it did.
func (h *handler) endTransaction(ctx context.Context, e *transport.EndTransaction) (stored bool, err error) {
	if err := h.gate.Known(ctx, &e.Caller); err != nil {
		return false, err
	}
	if e.Decision == int32(transaction.Unknown) { // it will be asked again
		return false, h.gate.Allow(ctx, &e.Caller, auth.Publish, topicOf(message.TopicTransHalf))
	}
	var records transport.Records
	topic := message.TopicTransHalf
	missing := h.record(e.Position, &records)
	defer records.Release()
	var rec message.Record
	if missing == nil {
		rec = records.Chunks[0]
		if name, ok := rec.Properties().Get(message.PropRealTopic); ok {
			topic = string(name)
		}
	}
	if err := h.gate.Allow(ctx, &e.Caller, auth.Publish, topicOf(topic)); err != nil {
		return false, err
	}
	if missing != nil {
		return false, missing
	}
	ending, err := h.transactions.End(rec, transaction.End{Group: e.ProducerGroup, Offset: e.Offset, Decision: transaction.Decision(e.Decision)})
	if ending == nil {
		return false, err
	}
	if len(ending.Messages) == 0 { // a rollback of what was put aside
		ending.Done(true)
		return false, nil
	}
	h.store.Append(newDeciding(h, e, ending))
	return true, nil
}

// deciding is a decision on its way into the log.
type deciding struct {
	handler *handler
	request *transport.EndTransaction
	ending  *transaction.Ending
	batch   store.Batch
	two     [2]store.Message
}

func newDeciding(h *handler, e *transport.EndTransaction, ending *transaction.Ending) *store.Batch {
	w := &deciding{handler: h, request: e, ending: ending}
	w.batch.Messages, w.batch.Done, w.batch.Wait = w.two[:len(ending.Messages)], w, true
	for i := range ending.Messages {
		w.two[i] = storeMessage(&ending.Messages[i])
	}
	w.two[0].Unit = int32(len(ending.Messages))
	if m := &w.two[0]; transaction.Decision(e.Decision) == transaction.Commit {
		p := scanProperties(m.Properties)
		if level, _ := p.delayLevel(); level > 0 {
			m.Properties = h.delay(m, make(message.Properties, 0, len(m.Properties)+delayRoom), m.Properties, level)
		}
	}
	return &w.batch
}

// Appended implements store.Completer.
func (w *deciding) Appended(*store.Batch) {
	e, m := w.request, &w.two[0]
	e.Code, e.Remark = m.Code, m.Remark
	w.ending.Done(m.Code == message.Success)
	if m.Code == message.Success && transaction.Decision(e.Decision) == transaction.Commit {
		w.handler.counters.Stored(w.handler.identity.cluster, m.Topic, 1, int64(len(m.Body)))
	}
	e.Reply.EndDone(e)
}

// ResumeCheck implements transport.Transactor.
func (h *handler) ResumeCheck(ctx context.Context, c *transport.Caller, p message.Position) error {
	if err := h.gate.Allow(ctx, c, auth.Alter, topicOf(message.TopicTransHalf)); err != nil {
		return err
	}
	var records transport.Records
	if err := h.record(p, &records); err != nil {
		return err
	}
	defer records.Release()
	m, err := transaction.Resume(records.Chunks[0])
	if err != nil {
		return err
	}
	errs := []error{nil}
	newAgain(h).Put([]message.Message{m}, errs)
	return errs[0]
}
