package broker

import "github.com/weirmq/weir/core/message"

// countSends counts what a batch stored. Runs of one topic are counted together.
func (h *handler) countSends(w *sendWork) {
	topic, n, size := "", int64(0), int64(0)
	for i := range w.batch.Messages {
		m := &w.batch.Messages[i]
		if m.Code != message.Success {
			continue
		}
		if m.Topic != topic && n > 0 {
			h.counters.Stored(h.identity.cluster, topic, n, size)
			n, size = 0, 0
		}
		topic = m.Topic
		n++
		size += int64(len(m.Body))
	}
	if n > 0 {
		h.counters.Stored(h.identity.cluster, topic, n, size)
	}
}
