package queue

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Stat names what a counter counts, by RocketMQ's statistics names.
type Stat string

// The counters, each with the form of its key.
const (
	TopicPutNums  Stat = "TOPIC_PUT_NUMS"  // topic; messages
	TopicPutSize  Stat = "TOPIC_PUT_SIZE"  // topic; bytes
	GroupGetNums  Stat = "GROUP_GET_NUMS"  // topic@group; messages
	GroupGetSize  Stat = "GROUP_GET_SIZE"  // topic@group; bytes
	ReturnNums    Stat = "SNDBCK_PUT_NUMS" // topic@group; messages
	BrokerPutNums Stat = "BROKER_PUT_NUMS" // cluster; messages
	BrokerGetNums Stat = "BROKER_GET_NUMS" // cluster; messages
)

// Counters counts what goes in and out, and knows the rates. It is safe for concurrent use; an Add is a map look-up and
// two atomic additions.
type Counters struct {
	clock clock.Clock
	max   int64
	loop  loop.Group

	// Totals of the broker with their rates of the last seconds.
	Put            Meter // messages stored
	PutSize        Meter // their bytes
	GetFound       Meter // pulls that found messages
	GetMiss        Meter // pulls that found none
	GetTransferred Meter // messages delivered

	// HoldRefused counts pulls that were to be held but too many were already.
	HoldRefused atomic.Int64
	// Dropped counts additions that went nowhere because there were too many keys already.
	Dropped atomic.Int64

	days   dayTotals
	seed   maphash.Seed
	count  atomic.Int64 // of items
	ticks  int          // of the sampler, 1 s each
	shards [counterShards]counterShard
}

const counterShards = 16

type counterKey struct {
	stat Stat
	a, b string // topic and group, or one name and nothing
}

type counterShard struct {
	mu    sync.RWMutex
	items map[counterKey]*item // guarded by mu
}

// NewCounters returns counters at zero. Start makes their rates move.
func NewCounters(cfg Config, c clock.Clock) *Counters {
	cs := &Counters{clock: c, max: int64(cfg.CountersMax), seed: maphash.MakeSeed()}
	for i := range cs.shards {
		cs.shards[i].items = map[counterKey]*item{}
	}
	now := c.Now()
	for _, m := range cs.meters() {
		m.sample(now)
	}
	cs.days.day = now.YearDay()
	return cs
}

func (c *Counters) meters() []*Meter {
	return []*Meter{&c.Put, &c.PutSize, &c.GetFound, &c.GetMiss, &c.GetTransferred}
}

// Start begins to sample once a second.
func (c *Counters) Start() { c.loop.Every(c.clock, time.Second, c.Sample) }

// Stop ends that.
func (c *Counters) Stop(ctx context.Context) error { return c.loop.Stop(ctx) }

// Add adds n to a counter. b is the group for the counters of topics and groups, else empty.
func (c *Counters) Add(stat Stat, a, b string, n int64) {
	k := counterKey{stat, a, b}
	s := c.shard(k)
	s.mu.RLock()
	it := s.items[k]
	s.mu.RUnlock()
	if it == nil {
		if it = c.create(s, k); it == nil {
			c.Dropped.Add(1)
			return
		}
	}
	it.value.Add(n)
	it.times.Add(1)
}

func (c *Counters) shard(k counterKey) *counterShard {
	return &c.shards[maphash.Comparable(c.seed, k)%counterShards]
}

func (c *Counters) create(s *counterShard, k counterKey) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.items[k]; ok {
		return it
	}
	if c.count.Load() >= c.max {
		return nil
	}
	c.count.Add(1)
	it := newItem(c.clock.Now())
	s.items[k] = it
	return it
}

// Stored counts n messages of together size bytes that were stored in a topic.
func (c *Counters) Stored(cluster, topic string, n, size int64) {
	c.Put.Add(n)
	c.PutSize.Add(size)
	c.Add(TopicPutNums, topic, "", n)
	c.Add(TopicPutSize, topic, "", size)
	c.Add(BrokerPutNums, cluster, "", n)
}

// found counts a pull that delivers.
func (c *Counters) found(cluster, topic, group string, n, size int64) {
	c.GetFound.Add(1)
	c.GetTransferred.Add(n)
	c.Add(GroupGetNums, topic, group, n)
	c.Add(GroupGetSize, topic, group, size)
	c.Add(BrokerGetNums, cluster, "", n)
}

// Items returns a counter's rates by RocketMQ's name and key. A counter that never counted is an error.
func (c *Counters) Items(name, key string) (transport.StatsItems, error) {
	k := counterKey{stat: Stat(name), a: key}
	switch k.stat {
	case GroupGetNums, GroupGetSize, ReturnNums:
		k.a, k.b, _ = strings.Cut(key, "@")
	}
	s := c.shard(k)
	s.mu.RLock()
	it := s.items[k]
	s.mu.RUnlock()
	if it == nil {
		return transport.StatsItems{}, &message.Error{Code: message.SystemError,
			Remark: fmt.Sprintf("The stats <%s> <%s> not exist", name, key)}
	}
	return it.rates(c.clock.Now()), nil
}

// GroupTPS returns how many messages a second of a topic a group got in the last minute.
func (c *Counters) GroupTPS(topic, group string) float64 {
	items, err := c.Items(string(GroupGetNums), topic+"@"+group)
	if err != nil {
		return 0
	}
	return items.Minute.TPS
}

// Sample moves the windows on. Start makes it run every second.
func (c *Counters) Sample() {
	now := c.clock.Now()
	c.ticks++
	for _, m := range c.meters() {
		m.sample(now)
	}
	c.days.roll(now, c.Put.Total(), c.GetTransferred.Total())
	if c.ticks%10 != 0 {
		return
	}
	for i := range c.shards {
		c.sampleItems(&c.shards[i], now)
	}
}

func (c *Counters) sampleItems(s *counterShard, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, it := range s.items {
		if it.sample(now, c.ticks) {
			delete(s.items, k)
			c.count.Add(-1)
		}
	}
}

// MessageTotals are counts of messages at three moments.
type MessageTotals struct{ YesterdayMorning, TodayMorning, Now int64 }

// Totals returns how many messages were stored and delivered since the start, also up to the last two midnights.
func (c *Counters) Totals() (put, get MessageTotals) {
	c.days.mu.Lock()
	defer c.days.mu.Unlock()
	put, get = c.days.put, c.days.get
	put.Now, get.Now = c.Put.Total(), c.GetTransferred.Total()
	return put, get
}

// dayTotals remembers counts at midnight, local time.
type dayTotals struct {
	mu       sync.Mutex // guards all below
	day      int        // of the year
	put, get MessageTotals
}

func (d *dayTotals) roll(now time.Time, put, get int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.YearDay() == d.day {
		return
	}
	d.day = now.YearDay()
	d.put.YesterdayMorning, d.put.TodayMorning = d.put.TodayMorning, put
	d.get.YesterdayMorning, d.get.TodayMorning = d.get.TodayMorning, get
}
