package broker

import (
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
)

// again stores messages of the broker's own again: delayed ones whose time has come, undecided half messages. One goroutine at a time uses it.
type again struct {
	h        *handler
	batch    store.Batch
	answered chan struct{} // has room for one
}

func newAgain(h *handler) *again {
	a := &again{h: h, answered: make(chan struct{}, 1)}
	a.batch.Done = a
	return a
}

// Appended implements store.Completer.
func (a *again) Appended(*store.Batch) { a.answered <- struct{}{} }

// append stores the batch and waits for its answers.
func (a *again) append() {
	a.h.store.Append(&a.batch)
	<-a.answered
}

func storeMessage(m *message.Message) store.Message {
	return store.Message{
		Topic: m.Topic, Queue: m.QueueID, Flag: m.Flag, SysFlag: m.SysFlag, BornTimestamp: m.BornTimestamp, BornHost: m.BornHost,
		StoreHost: m.StoreHost, ReconsumeTimes: m.ReconsumeTimes, PreparedTransactionOffset: int64(m.Prepared), Body: m.Body, Properties: m.Properties,
	}
}

// Put implements schedule.Appender.
func (a *again) Put(messages []message.Message, errs []error) {
	b := &a.batch
	b.Messages = b.Messages[:0]
	for i := range messages {
		b.Messages = append(b.Messages, storeMessage(&messages[i]))
	}
	a.append()
	for i := range b.Messages {
		m := &b.Messages[i]
		if m.Code != message.Success {
			errs[i] = &message.Error{Code: m.Code, Remark: m.Remark}
			continue
		}
		a.h.counters.Stored(a.h.identity.cluster, m.Topic, 1, int64(len(m.Body)))
	}
	clear(b.Messages) // they keep records from being given back
}
