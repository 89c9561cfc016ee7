package broker

import (
	"context"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transaction"
	"github.com/weirmq/weir/core/transport"
)

// endWork is what a batch of decisions carries while it is under way. It stays with the transport's batch and is reused with it, so that a
// transaction costs no allocation.
type endWork struct {
	handler *handler
	owner   *transport.EndBatch
	batch   store.Batch
	// runs tells which messages of batch belong to which decision, and endings carries each out.
	runs    []endRun
	endings []*transaction.Ending
	// records are the half messages. Those that are stored again borrow their bytes.
	records transport.Records
}

// endRun is the part of a store batch that one decision became.
type endRun struct{ end, first int }

// EndTransactions implements transport.Transactor.
func (h *handler) EndTransactions(ctx context.Context, b *transport.EndBatch) {
	w, ok := b.Work.(*endWork)
	if !ok {
		w = &endWork{}
		w.batch.Done = w
		b.Work = w
	}
	w.handler, w.owner, w.runs, w.batch.Wait = h, b, w.runs[:0], true
	w.batch.Messages = w.batch.Messages[:0]
	for i := range b.Ends {
		if err := w.add(ctx, i); err != nil {
			b.Ends[i].Code, b.Ends[i].Remark = code(err)
		}
	}
	if len(w.runs) == 0 {
		w.done()
		return
	}
	h.store.Append(&w.batch)
}

// add checks decision i and adds what it causes to the store batch.
func (w *endWork) add(ctx context.Context, i int) error {
	h, e := w.handler, &w.owner.Ends[i]
	if err := h.gate.Known(ctx, &e.Credentials); err != nil {
		return err
	}
	if e.Decision == int32(transaction.Unknown) { // it will be asked again
		return h.gate.check(ctx, &e.Credentials, auth.Publish, topicOf(message.TopicTransHalf))
	}
	topic := message.TopicTransHalf
	missing := h.record(e.Position, &w.records)
	var rec message.Record
	if missing == nil {
		rec = w.records.Chunks[len(w.records.Chunks)-1]
		if name, ok := rec.Properties().Get(message.PropRealTopic); ok {
			topic = h.topicName(name)
		}
	}
	if err := h.gate.check(ctx, &e.Credentials, auth.Publish, topicOf(topic)); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	x := w.ending()
	ok, err := h.transactions.End(rec, transaction.End{Group: e.ProducerGroup, Topic: topic, Offset: e.Offset, Decision: transaction.Decision(e.Decision)}, x)
	switch {
	case !ok:
		return err
	case len(x.Messages) == 0: // a rollback of what was put aside
		x.Done(true)
		return nil
	}
	return w.take(i, x)
}

// topicName returns a topic's name, without making it when the topic is there.
func (h *handler) topicName(name []byte) string {
	if t, ok := h.topics.Lookup(name); ok {
		return t.Name
	}
	return string(name)
}

// ending returns the one that the next run uses.
func (w *endWork) ending() *transaction.Ending {
	if len(w.runs) == len(w.endings) {
		w.endings = append(w.endings, &transaction.Ending{})
	}
	return w.endings[len(w.runs)]
}

// take adds an ending's messages to the store batch, as a unit. A committed message that is to be delayed goes where such messages wait.
func (w *endWork) take(i int, x *transaction.Ending) error {
	first := len(w.batch.Messages)
	for k := range x.Messages {
		w.batch.Messages = append(w.batch.Messages, storeMessage(&x.Messages[k]))
	}
	m := &w.batch.Messages[first]
	m.Unit = int32(len(x.Messages))
	if w.commits(i) {
		if err := w.handler.putOff(m); err != nil {
			x.Done(false)
			w.batch.Messages = w.batch.Messages[:first]
			return err
		}
	}
	w.runs = append(w.runs, endRun{end: i, first: first})
	return nil
}

// putOff sends a committed message to where it waits, if it asks for that.
func (h *handler) putOff(m *store.Message) error {
	p := scanProperties(m.Properties)
	if level, _ := p.delayLevel(); level > 0 {
		m.Properties = h.delay(m, make(message.Properties, 0, len(m.Properties)+delayRoom), m.Properties, level)
		return nil
	}
	if !p.timed {
		return nil
	}
	due, timed, err := h.timerDue(m.Properties)
	if err != nil || !timed {
		return err
	}
	m.Properties, err = h.timer(m, make(message.Properties, 0, len(m.Properties)+timerRoom), m.Properties, due)
	return err
}

func (w *endWork) commits(i int) bool {
	return transaction.Decision(w.owner.Ends[i].Decision) == transaction.Commit
}

// Appended implements store.Completer: it answers each decision and gives the batch back.
func (w *endWork) Appended(*store.Batch) {
	var run storedRun
	for k, r := range w.runs {
		e, m := &w.owner.Ends[r.end], &w.batch.Messages[r.first]
		e.Code, e.Remark = m.Code, m.Remark
		w.endings[k].Done(m.Code == message.Success)
		if m.Code == message.Success && w.commits(r.end) {
			run.add(w.handler, m)
		}
	}
	run.count(w.handler)
	w.done()
}

// done gives the half messages back to the store, and the batch to its transport.
func (w *endWork) done() {
	b := w.owner
	w.owner = nil
	clear(w.batch.Messages)
	w.records.Release()
	b.Reply.EndsDone(b)
}
