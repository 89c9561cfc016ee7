package broker

import (
	"errors"
	"path/filepath"

	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/store"
)

// openVerdicts cuts the kept verdicts of filters to what the store has recovered, before anything can be stored in it. It
// returns nil, and removes them, where the configuration wants none.
func (b *Broker) openVerdicts(st *store.Store) (*verdict.Covers, error) {
	cfg := &b.sections.Queues.Verdicts
	dir := filepath.Join(b.opts.Config.DataDir, store.WeirDir, "verdicts")
	if !cfg.Enabled {
		return nil, verdict.Remove(b.opts.FS, dir)
	}
	return verdict.Open(verdict.Settings{
		FS: b.opts.FS, Dir: dir, Index: st, Logger: b.log,
		CacheSize: int64(cfg.CacheSize), DiskSize: int64(cfg.DiskSize),
	})
}

func (h *handler) closeVerdicts() {
	if h.verdicts != nil {
		h.verdicts.Close()
	}
}

// removeQueues removes the queues of a topic, and before them what filters have said of its messages.
func (h *handler) removeQueues(topic string) error {
	if h.verdicts == nil {
		return h.store.DeleteTopic(topic)
	}
	defer h.verdicts.Allow(topic)
	return errors.Join(h.verdicts.Forget(topic), h.store.DeleteTopic(topic))
}
