package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// Config is the section `queues` of broker.yaml.
type Config struct {
	// PullMessagesMax is the most messages in one answer to a pull, however many the client asks for. 1 to 1024.
	PullMessagesMax int `yaml:"pull_messages_max"`
	// PullSizeMax is the most bytes of messages in one answer when they are young enough to be in memory. The first
	// message is always delivered, whatever its size.
	PullSizeMax plugin.Size `yaml:"pull_size_max"`
	// PullSizeMaxCold is the same for messages that have to be read from disk.
	PullSizeMaxCold plugin.Size `yaml:"pull_size_max_cold"`
	// ScanEntriesMin is how many index entries a pull looks at before it may give up looking for a message that its
	// filter accepts.
	ScanEntriesMin int `yaml:"scan_entries_min"`
	// ScanEntriesFound is how many it looks at to fill its answer once it has found one.
	ScanEntriesFound int `yaml:"scan_entries_found"`
	// ScanTimeMax is how long it goes on beyond scan_entries_min while it has found none.
	ScanTimeMax time.Duration `yaml:"scan_time_max"`
	// HeldPullsMax is how many pulls may wait for messages at the same time. Further ones are answered at once, empty.
	HeldPullsMax int `yaml:"held_pulls_max"`
	// HoldMax is the longest that a pull is held, whatever the client asks for.
	HoldMax time.Duration `yaml:"hold_max"`
	// ProgramsMax is how many compiled filters are kept beside those that are in use.
	ProgramsMax int `yaml:"programs_max"`
	// ExpressionSizeMax is the longest filter expression.
	ExpressionSizeMax plugin.Size `yaml:"expression_size_max"`
	// FiltersMax is how many filters are registered, one for each group and topic that it filters by something else than
	// tags. Those of groups that have gone make way first.
	FiltersMax int `yaml:"filters_max"`
	// FilterRetention is how long the filter of a group is kept whose members have gone. RocketMQ's is a day.
	FilterRetention time.Duration `yaml:"filter_retention"`
	// ClientGroupsMax is how many groups one connection may be a member of, and SubscriptionsMax how many topics it may
	// subscribe in one group.
	ClientGroupsMax  int `yaml:"client_groups_max"`
	SubscriptionsMax int `yaml:"subscriptions_max"`
	// OffsetsMax is how many offsets of queues are kept, of all groups and topics together.
	OffsetsMax int `yaml:"offsets_max"`
	// OffsetsSaveInterval is how often changed offsets are written to config/consumerOffset.json.
	OffsetsSaveInterval time.Duration `yaml:"offsets_save_interval"`
	// LocksMax is how many queues may be locked for ordered consumption.
	LocksMax int `yaml:"locks_max"`
	// Verdicts says how the verdicts of filters are kept.
	// FilterSupportRetry filters what a group pulls from its retry topic, too, by what it subscribes of the topic that each message was first
	// sent to, if that isn't by tags. RocketMQ's filterSupportRetry. Default false: a message gets there because it was delivered once.
	FilterSupportRetry bool `yaml:"filter_support_retry"`
	// Bindings are mandatory filters of topics and groups. What a client asks for is joined with them by AND: only messages that both accept are
	// delivered. All that apply to a pull count. Without a mandatory filter that compiles the broker doesn't start. Default none.
	Bindings []Binding     `yaml:"bindings"`
	Verdicts VerdictConfig `yaml:"verdicts"`
	// CountersMax is how many topics and groups have rates of their own.
	CountersMax int `yaml:"counters_max"`
}

// DefaultConfig returns the configuration of a broker that doesn't set any.
func DefaultConfig() Config {
	return Config{
		PullMessagesMax:     1024,
		PullSizeMax:         plugin.MiB,
		PullSizeMaxCold:     256 * plugin.KiB,
		ScanEntriesMin:      800,
		ScanEntriesFound:    32 << 10,
		ScanTimeMax:         5 * time.Millisecond,
		HeldPullsMax:        100_000,
		HoldMax:             10 * time.Minute,
		ProgramsMax:         256,
		ExpressionSizeMax:   64 * plugin.KiB,
		FiltersMax:          10_000,
		FilterRetention:     24 * time.Hour,
		ClientGroupsMax:     1024,
		SubscriptionsMax:    1024,
		OffsetsMax:          1_000_000,
		OffsetsSaveInterval: 5 * time.Second,
		LocksMax:            100_000,
		Verdicts:            defaultVerdictConfig(),
		CountersMax:         50_000,
	}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	bound := func(key string, value, low, high int64) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is out of range, allowed are %d to %d", key, value, low, high))
		}
	}
	errs = append(errs, validateBindings(c.Bindings))
	bound("pull_messages_max", int64(c.PullMessagesMax), 1, 1024)
	bound("pull_size_max", int64(c.PullSizeMax), 1, int64(12*plugin.MiB))
	bound("pull_size_max_cold", int64(c.PullSizeMaxCold), 1, int64(12*plugin.MiB))
	bound("scan_entries_min", int64(c.ScanEntriesMin), 1, 1<<24)
	bound("scan_entries_found", int64(c.ScanEntriesFound), 1, 1<<24)
	bound("held_pulls_max", int64(c.HeldPullsMax), 0, 1<<24)
	bound("programs_max", int64(c.ProgramsMax), 0, 1<<20)
	bound("expression_size_max", int64(c.ExpressionSizeMax), 1, int64(plugin.MiB))
	bound("filters_max", int64(c.FiltersMax), 0, 1<<20)
	bound("client_groups_max", int64(c.ClientGroupsMax), 1, 1<<20)
	bound("subscriptions_max", int64(c.SubscriptionsMax), 1, 1<<20)
	bound("offsets_max", int64(c.OffsetsMax), 1, 1<<28)
	bound("locks_max", int64(c.LocksMax), 1, 1<<24)
	bound("counters_max", int64(c.CountersMax), 1, 1<<24)
	span := func(key string, d, low, high time.Duration) {
		if d < low || d > high {
			errs = append(errs, fmt.Errorf("%s: %v is out of range, allowed are %v to %v", key, d, low, high))
		}
	}
	span("scan_time_max", c.ScanTimeMax, 0, time.Second)
	span("hold_max", c.HoldMax, time.Second, time.Hour)
	span("filter_retention", c.FilterRetention, 0, 366*24*time.Hour)
	span("offsets_save_interval", c.OffsetsSaveInterval, 100*time.Millisecond, time.Hour)
	v := &c.Verdicts
	bound("verdicts.cache_size", int64(v.CacheSize), int64(plugin.MiB), int64(64*plugin.GiB))
	bound("verdicts.disk_size", int64(v.DiskSize), int64(plugin.MiB), int64(16*plugin.TiB))
	span("verdicts.save_interval", v.SaveInterval, 100*time.Millisecond, time.Hour)
	if !(v.DispatchShare >= 0 && v.DispatchShare <= 1) {
		errs = append(errs, fmt.Errorf("verdicts.dispatch_share: %v is out of range, allowed are 0 to 1", v.DispatchShare))
	}
	return errors.Join(errs...)
}
