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
