package broker

import (
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
)

// storedRun collects neighbours of one topic that were stored, to count them together.
type storedRun struct {
	topic   string
	n, size int64
}

// add adds a message that was stored.
func (r *storedRun) add(h *handler, m *store.Message) {
	if m.Topic != r.topic {
		r.count(h)
		*r = storedRun{topic: m.Topic}
	}
	r.n++
	r.size += int64(len(m.Body))
}

// count counts what was collected.
func (r *storedRun) count(h *handler) {
	if r.n > 0 {
		h.counters.Stored(h.identity.cluster, r.topic, r.n, r.size)
	}
}

// countSends counts what a batch stored.
func (h *handler) countSends(w *sendWork) {
	var run storedRun
	for i := range w.batch.Messages {
		if m := &w.batch.Messages[i]; m.Code == message.Success {
			run.add(h, m)
		}
	}
	run.count(h)
}
