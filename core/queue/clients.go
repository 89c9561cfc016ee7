package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/loop"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// How long a client may be silent, and how often that is looked at. RocketMQ's clients count on both.
const (
	clientExpiry       = 120 * time.Second
	clientScanInterval = 10 * time.Second
)

// ClientSettings is what Clients needs. All fields but Left are set.
type ClientSettings struct {
	Config   Config
	Clock    clock.Clock
	Logger   *slog.Logger
	Programs *Programs
	Filters  *Filters
	Groups   GroupTable
	// EnsureRetryTopic makes the retry topic of a group if it is missing. unit says that the group consumes in units.
	EnsureRetryTopic func(group string, c transport.GroupConfig, unit bool) error
	// Left, if set, hears that a client has left a consumer group of its own accord, and no other connection of that
	// group goes by its id.
	Left func(group, clientID string)
	// RefuseConflicts refuses the heartbeat of a client that subscribes something else than the other members of its group do.
	RefuseConflicts bool
}

// Clients knows the connected members of producer and consumer groups, and what the consumer groups subscribe. It is
// safe for concurrent use.
type Clients struct {
	set  ClientSettings
	loop loop.Group

	// Refused counts heartbeats that were refused because the members of their group subscribe something else.
	Refused atomic.Int64

	// find holds every consumer group by name once more, so that pulls needn't take mu.
	find sync.Map // string -> *consumerGroup

	mu        sync.Mutex // guards all below, and the groups' own guarded fields
	consumers map[string]*consumerGroup
	producers map[string]*producerGroup
	sessions  map[transport.Session]*memberships
	askers    map[string][]transport.Session // of producers, by client id: those that came first before those that came later
}

// memberships is what one session is a member of.
type memberships struct {
	consumers, producers map[string]struct{}
	asker                string // the client id by which askers has it; empty when it is no producer
}

func (m *memberships) len() int { return len(m.consumers) + len(m.producers) }

// member is one session in one group.
type member struct {
	session    transport.Session
	clientID   string
	address    string // ip:port
	language   string
	version    int32
	lastUpdate time.Time
	wants      string // of a consumer: what it subscribes, see wantsOf
}

// NewClients returns a registry without clients. Start begins expiry.
func NewClients(set ClientSettings) *Clients {
	return &Clients{
		set: set, consumers: map[string]*consumerGroup{}, producers: map[string]*producerGroup{},
		sessions: map[transport.Session]*memberships{}, askers: map[string][]transport.Session{},
	}
}

// Start begins to expire silent clients.
func (c *Clients) Start() { c.loop.Every(c.set.Clock, clientScanInterval, c.Expire) }

// Stop ends that. The registry can be read and written further on.
func (c *Clients) Stop(ctx context.Context) error { return c.loop.Stop(ctx) }

// Heartbeat registers the caller's session as a member of the groups that h names, or refreshes it, and takes over the
// subscriptions. Members of groups that changed are told before it returns, the caller among them.
func (c *Clients) Heartbeat(ctx context.Context, caller *transport.Caller, h *transport.Heartbeat) error {
	if err := c.checkHeartbeat(h); err != nil {
		return err
	}
	m := member{
		session: caller.Session, clientID: h.ClientID, address: caller.Session.Remote().String(),
		language: caller.Language, version: caller.Version,
	}
	var errs []error
	for i := range h.Consumers {
		errs = append(errs, c.heartbeatConsumer(ctx, m, &h.Consumers[i]))
	}
	for _, g := range h.ProducerGroups {
		errs = append(errs, c.registerProducer(m, g))
	}
	return errors.Join(errs...)
}

func (c *Clients) checkHeartbeat(h *transport.Heartbeat) error {
	refuse := func(format string, args ...any) error {
		return &message.Error{Code: message.SystemError, Remark: "heartbeat refused: " + fmt.Sprintf(format, args...)}
	}
	if h.ClientID == "" || len(h.ClientID) > clientIDMax {
		return refuse("the client id has %d bytes, allowed are 1 to %d", len(h.ClientID), clientIDMax)
	}
	if n, limit := len(h.Consumers)+len(h.ProducerGroups), c.set.Config.ClientGroupsMax; n > limit {
		return refuse("client %q is in %d groups, at most %d are allowed", h.ClientID, n, limit)
	}
	for i := range h.Consumers {
		d := &h.Consumers[i]
		if err := message.CheckGroup(d.Group); err != nil {
			// A group that came with RocketMQ's files may go on.
			if _, known := c.set.Groups.Group(d.Group); !known {
				return err
			}
		}
		if n, limit := len(d.Subscriptions), c.set.Config.SubscriptionsMax; n > limit {
			return refuse("group %s subscribes %d topics, at most %d are allowed", d.Group, n, limit)
		}
		for j := range d.Subscriptions {
			s := &d.Subscriptions[j]
			if err := message.CheckKnownTopic(s.Topic); err != nil {
				return err
			}
			if n, limit := len(s.Expression.Text), int(c.set.Config.ExpressionSizeMax); n > limit {
				return refuse("group %s has an expression of %d bytes for topic %s, at most %d are allowed", d.Group, n, s.Topic, limit)
			}
		}
	}
	for _, g := range h.ProducerGroups {
		if err := message.CheckGroup(g); err != nil {
			return err
		}
	}
	return nil
}

// clientIDMax bounds a client id in bytes. Real ones are ip@pid#nanoTime, perhaps with a unit name.
const clientIDMax = 1024

func (c *Clients) heartbeatConsumer(ctx context.Context, m member, d *transport.ConsumerData) error {
	cfg, known := c.set.Groups.Group(d.Group)
	if known {
		if err := c.set.EnsureRetryTopic(d.Group, cfg, d.UnitMode); err != nil {
			c.set.Logger.Debug("create retry topic", "group", d.Group, "error", err)
		}
	}
	subs := make(map[string]*subscription, len(d.Subscriptions))
	for i := range d.Subscriptions {
		s := &d.Subscriptions[i]
		if twice, ok := subs[s.Topic]; ok {
			if s.Version <= twice.Version {
				continue
			}
			twice.prog.release()
		}
		subs[s.Topic] = c.set.Programs.compile(ctx, *s)
	}
	m.wants = wantsOf(d.Group, d.Subscriptions)
	told, unused, news, err := c.registerConsumer(m, d, subs)
	releaseAll(unused)
	if news.group != "" {
		c.tell(news, &m)
	}
	if err == nil {
		c.set.Filters.Register(ctx, d.Group, d.Subscriptions)
	}
	if !known || cfg.NotifyConsumerIDsChanged {
		notify(d.Group, told)
	}
	return err
}

// registerConsumer returns the members to tell, none if nothing changed, the subscriptions to release, and what to tell the log.
func (c *Clients) registerConsumer(m member, d *transport.ConsumerData, subs map[string]*subscription) (
	told []transport.Session, unused []*subscription, news conflictNews, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.consumers[d.Group]
	if ok {
		if news, err = c.admitLocked(g, &m); err != nil {
			return nil, slices.Collect(maps.Values(subs)), news, err
		}
	}
	of := c.membershipsLocked(m.session)
	if _, in := of.consumers[d.Group]; !in {
		if of.len() >= c.set.Config.ClientGroupsMax {
			return nil, slices.Collect(maps.Values(subs)), news, tooManyGroups(m.clientID, c.set.Config.ClientGroupsMax)
		}
		of.consumers[d.Group] = struct{}{}
	}
	if !ok {
		g = newConsumerGroup(d.Group)
		c.consumers[d.Group] = g
		c.find.Store(d.Group, g)
	}
	m.lastUpdate = c.set.Clock.Now()
	joined := g.joinLocked(m, c.set.Logger)
	news = g.comparedLocked(&m)
	g.describeLocked(d)
	changed, unused := g.subscribeLocked(subs)
	if joined || changed {
		told = g.sessionsLocked()
	}
	return told, unused, news, nil
}

func tooManyGroups(clientID string, limit int) error {
	return &message.Error{Code: message.SystemError,
		Remark: fmt.Sprintf("heartbeat refused: client %q would be in more than %d groups", clientID, limit)}
}

func (c *Clients) membershipsLocked(s transport.Session) *memberships {
	of, ok := c.sessions[s]
	if !ok {
		of = &memberships{consumers: map[string]struct{}{}, producers: map[string]struct{}{}}
		c.sessions[s] = of
	}
	return of
}

// forgetLocked drops a session that is in no group any more.
func (c *Clients) forgetLocked(s transport.Session) {
	if of, ok := c.sessions[s]; ok && of.len() == 0 {
		delete(c.sessions, s)
	}
}

// Unregister ends the membership of a session in the groups named; empty names are none. Remaining members are told if
// the group's configuration wants that.
func (c *Clients) Unregister(s transport.Session, producerGroup, consumerGroup string) {
	if producerGroup != "" {
		c.mu.Lock()
		c.leaveProducerLocked(s, producerGroup)
		c.forgetLocked(s)
		c.mu.Unlock()
	}
	if consumerGroup == "" {
		return
	}
	c.mu.Lock()
	d := c.leaveConsumerLocked(s, consumerGroup)
	c.forgetLocked(s)
	c.mu.Unlock()
	c.settle(d)
	if d.gone == nil {
		return
	}
	if d.alone && c.set.Left != nil {
		c.set.Left(consumerGroup, d.gone.clientID)
	}
	if cfg, known := c.set.Groups.Group(consumerGroup); !known || cfg.NotifyConsumerIDsChanged {
		notify(consumerGroup, d.left)
	}
}

// departure is what is to be done, without the lock, after a session has left a consumer group.
type departure struct {
	group  string
	gone   *member             // nil if it wasn't a member
	alone  bool                // nobody else in the group has its client id
	last   bool                // nobody is left
	left   []transport.Session // the members that remain, to be told
	unused []*subscription     // to be released
}

func (c *Clients) leaveConsumerLocked(s transport.Session, group string) departure {
	d := departure{group: group}
	if of, ok := c.sessions[s]; ok {
		delete(of.consumers, group)
	}
	g, ok := c.consumers[group]
	if !ok {
		return d
	}
	if d.gone, ok = g.members[s]; !ok {
		return d
	}
	delete(g.members, s)
	g.countLocked(d.gone, nil)
	d.alone = true
	for _, m := range g.members {
		d.alone = d.alone && m.clientID != d.gone.clientID
	}
	if len(g.members) == 0 {
		delete(c.consumers, group)
		c.find.Delete(group)
		d.unused, d.last = g.closeLocked(), true
	}
	d.left = g.sessionsLocked()
	return d
}

// SessionClosed ends all memberships of a session and tells the members that are left.
func (c *Clients) SessionClosed(s transport.Session) {
	c.mu.Lock()
	of, ok := c.sessions[s]
	if !ok {
		c.mu.Unlock()
		return
	}
	for g := range of.producers {
		c.leaveProducerLocked(s, g)
	}
	var ds []departure
	for g := range of.consumers {
		ds = append(ds, c.leaveConsumerLocked(s, g))
	}
	delete(c.sessions, s)
	c.mu.Unlock()
	c.finish(ds)
}

// Expire removes and disconnects the clients that have been silent for two minutes. Start makes it run by itself.
func (c *Clients) Expire() {
	type key struct {
		s     transport.Session
		group string
	}
	var consumers, producers []key
	now := c.set.Clock.Now()
	c.mu.Lock()
	for name, g := range c.consumers {
		for s, m := range g.members {
			if now.Sub(m.lastUpdate) > clientExpiry {
				consumers = append(consumers, key{s, name})
			}
		}
	}
	for name, g := range c.producers {
		for s, m := range g.members {
			if now.Sub(m.lastUpdate) > clientExpiry {
				producers = append(producers, key{s, name})
			}
		}
	}
	var ds []departure
	closing := map[transport.Session]string{}
	for _, k := range consumers {
		ds = append(ds, c.leaveConsumerLocked(k.s, k.group))
		closing[k.s] = k.group
		c.forgetLocked(k.s)
	}
	for _, k := range producers {
		c.leaveProducerLocked(k.s, k.group)
		closing[k.s] = k.group
		c.forgetLocked(k.s)
	}
	c.mu.Unlock()
	for s, group := range closing {
		s.Close(fmt.Sprintf("no heartbeat for group %s in %v", group, clientExpiry))
	}
	c.finish(ds)
}

// finish tells the remaining members, in the order of the groups' names, once for each group, and releases what the
// groups no longer use.
func (c *Clients) finish(ds []departure) {
	slices.SortStableFunc(ds, func(a, b departure) int { return cmp.Compare(a.group, b.group) })
	for i, d := range ds {
		c.settle(d)
		if i+1 == len(ds) || ds[i+1].group != d.group {
			notify(d.group, d.left)
		}
	}
}

// settle releases what a group no longer uses, and lets its filters die with it.
func (c *Clients) settle(d departure) {
	releaseAll(d.unused)
	if d.last {
		c.set.Filters.Unregister(d.group)
	}
}

// notify tells sessions that the members of their group changed. One that is closed or doesn't read hears nothing, and
// finds out at its own next look.
func notify(group string, told []transport.Session) {
	for _, s := range told {
		_ = s.Notify(transport.ConsumersChanged{Group: group})
	}
}

// Members returns the sessions and descriptions of a consumer group's members, sorted by client id.
func (c *Clients) Members(group string) []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.consumers[group]
	if !ok {
		return nil
	}
	return describe(g.members)
}

// Member is one connected client in a group.
type Member struct {
	Session transport.Session
	transport.Connection
}

// describe lists members sorted by client id, then address.
func describe(members map[transport.Session]*member) []Member {
	list := make([]Member, 0, len(members))
	for s, m := range members {
		list = append(list, Member{Session: s, Connection: transport.Connection{
			ClientID: m.clientID, Address: m.address, Language: m.language, Version: m.version,
			LastUpdate: clock.Millis(m.lastUpdate),
		}})
	}
	slices.SortFunc(list, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.ClientID, b.ClientID), cmp.Compare(a.Address, b.Address))
	})
	return list
}

func connections(list []Member) []transport.Connection {
	all := make([]transport.Connection, len(list))
	for i := range list {
		all[i] = list[i].Connection
	}
	return all
}
