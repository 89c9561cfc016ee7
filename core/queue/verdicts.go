package queue

import (
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// VerdictConfig is the part `verdicts` of the section `queues`.
type VerdictConfig struct {
	// Enabled keeps what filters that read messages (SQL92 and the like, not tags) have said of each message, as bits in
	// the data directory under weir/verdicts, so that a message is judged once and not at every pull. Off, that directory
	// is removed at the start; nothing is lost by it.
	Enabled bool `yaml:"enabled"`
	// CacheSize is how much memory the bits may take. 9 KiB hold 65536 messages of a queue for one filter.
	CacheSize plugin.Size `yaml:"cache_size"`
	// DiskSize is how much of the disk they may take. Those that were used least recently go first.
	DiskSize plugin.Size `yaml:"disk_size"`
	// DispatchShare is how much of one processor's time filters may take to judge messages as they arrive, 0 to 1. When
	// it isn't enough the dearest filters judge at the pull. 0 makes all do so.
	DispatchShare float64 `yaml:"dispatch_share"`
	// SaveInterval is how often changed bits are written to the disk. What a crash takes is judged again.
	SaveInterval time.Duration `yaml:"save_interval"`
}

func defaultVerdictConfig() VerdictConfig {
	return VerdictConfig{
		Enabled: true, CacheSize: 64 * plugin.MiB, DiskSize: plugin.GiB, DispatchShare: 0.25, SaveInterval: 10 * time.Second,
	}
}

// VerdictCounters count messages by how a filter's verdict of them was come by.
type VerdictCounters struct {
	// Jumped were passed over by pulls without being looked at.
	Jumped atomic.Int64
	// JudgedArriving were judged when they arrived, JudgedPulling by pulls that keep the verdicts.
	JudgedArriving, JudgedPulling atomic.Int64
	// Spared were not judged when they arrived because the filters' share of the time was used up.
	Spared atomic.Int64
	// RuledOut were passed over by pulls unread because of RocketMQ's Bloom bitmaps.
	RuledOut atomic.Int64
}

// Verdicts returns the counters of kept verdicts.
func (p *Pulls) Verdicts() *VerdictCounters { return &p.verdicts }

// keepVerdicts looks after the covers and the programs that are live. Start makes it run every save_interval.
func (p *Pulls) keepVerdicts() {
	now := p.set.Clock.Now()
	p.set.Filters.eachProgram(func(topic string, prog *program) { p.live.touch(topic, prog, now) })
	for _, key := range p.live.sweep(now.Add(-liveTime)) {
		p.set.Verdicts.Discard(key)
	}
	p.set.Verdicts.Maintain()
}
