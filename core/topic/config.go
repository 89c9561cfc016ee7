package topic

import (
	"errors"

	"github.com/weirmq/weir/core/plugin"
)

// QueuesMax is the largest number of queues a topic may have on one broker.
const QueuesMax = 1 << 14

// Config is the `topics` section of broker.yaml.
type Config struct {
	// AutoCreate lets a producer's first message create its topic, with as many queues as the producer asks for but at
	// most default_queues. Off, sending to an unknown topic is refused. Default true, as in RocketMQ
	// (autoCreateTopicEnable); turn it off where a misspelt name shouldn't become a topic. A topic with the inherit
	// permission, such as those named like the cluster and the broker, may be a producer's template either way.
	AutoCreate bool `yaml:"auto_create" doc:"Let a producer's first message create its topic. Off, sending to an unknown topic is refused."`
	// DefaultQueues is the most read and write queues that an auto-created topic gets. Default 8, 1 to 16384. RocketMQ's
	// producers ask for 4.
	DefaultQueues int32 `yaml:"default_queues" doc:"Most queues of an auto-created topic, 1 to 16384. Producers ask for 4."`
	// Max is the largest number of topics, those of retries, dead letters and the broker itself included. Beyond it no
	// topic is created. Default 100000, 100 to 1000000. Every change writes the list of all topics.
	Max int `yaml:"max" doc:"Most topics, 100 to 1000000; those of retries, dead letters and the broker itself count."`
}

// DefaultConfig returns the settings of a broker whose operator says nothing.
func DefaultConfig() Config {
	return Config{AutoCreate: true, DefaultQueues: 8, Max: 100_000}
}

// Validate reports all values that make no sense.
func (c *Config) Validate() error {
	var err error
	if c.DefaultQueues < 1 || c.DefaultQueues > QueuesMax {
		err = plugin.Invalid("default_queues", "%d is out of range, want 1 to %d", c.DefaultQueues, QueuesMax)
	}
	return errors.Join(err, checkMax(c.Max))
}

// GroupsConfig is the `groups` section of broker.yaml.
type GroupsConfig struct {
	// AutoCreate lets a consumer's first heartbeat or pull create its group. Off, unknown groups are refused. Default
	// true, as in RocketMQ (autoCreateSubscriptionGroup).
	AutoCreate bool `yaml:"auto_create" doc:"Let a consumer's first heartbeat or pull create its group. Off, unknown groups are refused."`
	// Max is the largest number of groups. Beyond it no group is created. Default 100000, 100 to 1000000.
	Max int `yaml:"max" doc:"Most subscription groups, 100 to 1000000."`
	// OnConflict says what becomes of a consumer that subscribes other topics, or by other expressions, than the members of its group do:
	// warn (default) takes it, as RocketMQ does, and says so in the log; refuse refuses its heartbeats, so that it gets no queues
	// until the others have gone. A group is changed by stopping its members first, then.
	OnConflict OnConflict `yaml:"on_conflict" doc:"A consumer that subscribes something else than the members of its group do: warn, or refuse its heartbeats until they have gone."`
}

// OnConflict says what to do about members of a group that subscribe different things.
type OnConflict string

// The ways to deal with conflicts.
const (
	WarnOnConflict   OnConflict = "warn"
	RefuseOnConflict OnConflict = "refuse"
)

// DefaultGroupsConfig returns the settings of a broker whose operator says nothing.
func DefaultGroupsConfig() GroupsConfig {
	return GroupsConfig{AutoCreate: true, Max: 100_000, OnConflict: WarnOnConflict}
}

// Validate reports all values that make no sense.
func (c *GroupsConfig) Validate() error {
	var err error
	if c.OnConflict != WarnOnConflict && c.OnConflict != RefuseOnConflict {
		err = plugin.Invalid("on_conflict", "%q is unknown, choose warn or refuse", c.OnConflict)
	}
	return errors.Join(err, checkMax(c.Max))
}

func checkMax(n int) error {
	if n < 100 || n > 1_000_000 {
		return plugin.Invalid("max", "%d is out of range, want 100 to 1000000", n)
	}
	return nil
}
