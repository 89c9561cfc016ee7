package naming

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/transport"
)

// Times of RocketMQ's name server.
const (
	// BrokerExpiry is how long a broker stays that isn't heard of. Brokers register every 30 s.
	BrokerExpiry = 120 * time.Second
	// ScanInterval is how often expired brokers are looked for.
	ScanInterval = 10 * time.Second
)

// Config is what an operator may set of a name server.
type Config struct {
	// OrderMessages adds to the route of a topic in the KV namespace ORDER_TOPIC_CONFIG which brokers and how many
	// queues are in order. Default false, as in RocketMQ (orderMessageEnable). It can be changed while running.
	OrderMessages bool `yaml:"order_messages" doc:"Tell producers of topics in the KV namespace ORDER_TOPIC_CONFIG which queues are in order."`
	// BrokersMax is the largest number of registered broker addresses. Default 1000.
	BrokersMax int `yaml:"brokers_max" doc:"Most broker addresses that may register."`
	// TopicsMax is the largest number of different topics. Default 1000000.
	TopicsMax int `yaml:"topics_max" doc:"Most different topics, of all brokers together."`
	// KVMax is the largest number of keys in the KV table; an empty namespace counts as one. Default 10000.
	KVMax int `yaml:"kv_max" doc:"Most keys in the KV table."`
}

// DefaultConfig returns the settings of a name server whose operator says nothing.
func DefaultConfig() Config {
	return Config{BrokersMax: 1000, TopicsMax: 1_000_000, KVMax: 10_000}
}

// Settings is what code hands to a Server. All fields but KVFile must be set.
type Settings struct {
	FS vfs.FS
	// KVFile is where the KV table is kept, in RocketMQ's format: data_dir/weir/kvConfig.json. Empty keeps it in memory.
	KVFile string
	Clock  clock.Clock
	Logger *slog.Logger
}

// Authorizer decides whether a caller may do something. The broker's does it by way of the running auth plugin.
type Authorizer interface {
	// Allow returns nil, or the reason why not, for the caller's eyes.
	Allow(ctx context.Context, c *transport.Caller, a auth.Action, r auth.Resource) error
}
