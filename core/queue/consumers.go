package queue

import (
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// consumerGroup is a consumer group with at least one member.
//
// RocketMQ's rules, which its users know: the last heartbeat decides about type, model and starting point; every
// heartbeat replaces the group's list of topics, and an expression only when its version is larger. Members with
// different subscriptions therefore undo each other's.
type consumerGroup struct {
	name string
	// subs is replaced, never changed, so that pulls may read it without a lock.
	subs  atomic.Pointer[map[string]*subscription]
	model atomic.Int32

	// The rest is guarded by Clients.mu.
	members map[transport.Session]*member
	typ     transport.ConsumeType
	from    transport.ConsumeFrom
	agreement
}

func newConsumerGroup(name string) *consumerGroup {
	g := &consumerGroup{name: name, members: map[transport.Session]*member{}}
	g.subs.Store(&map[string]*subscription{})
	return g
}

// joinLocked adds or refreshes a member and says whether it is new.
func (g *consumerGroup) joinLocked(m member, log *slog.Logger) bool {
	old, in := g.members[m.session]
	if in && old.clientID != m.clientID {
		log.Error("a connection changed its client id; nobody is told", "group", g.name, "old", old.clientID, "new", m.clientID)
	}
	g.countLocked(old, &m)
	g.members[m.session] = &m
	return !in
}

func (g *consumerGroup) describeLocked(d *transport.ConsumerData) {
	g.typ, g.from = d.Type, d.From
	g.model.Store(int32(d.Model))
}

// subscribeLocked takes over a heartbeat's subscriptions, by topic. It says whether the set of topics changed, and which
// subscriptions nobody uses any more: the caller releases them when it has unlocked.
func (g *consumerGroup) subscribeLocked(subs map[string]*subscription) (changed bool, unused []*subscription) {
	old := *g.subs.Load()
	replaced := false
	for topic, s := range subs {
		known, ok := old[topic]
		switch {
		case !ok:
			changed = true
		case s.Version > known.Version:
			replaced = true
			unused = append(unused, known)
		default:
			unused = append(unused, s)
			subs[topic] = known
		}
	}
	for topic, s := range old {
		if _, ok := subs[topic]; !ok {
			changed = true
			unused = append(unused, s)
		}
	}
	if changed || replaced {
		g.subs.Store(&subs)
	}
	return changed, unused
}

func releaseAll(subs []*subscription) {
	for _, s := range subs {
		s.prog.release()
	}
}

// closeLocked empties a group whose last member has left and returns the subscriptions to release.
func (g *consumerGroup) closeLocked() []*subscription {
	return slices.Collect(maps.Values(*g.subs.Swap(&map[string]*subscription{})))
}

// sessionsLocked lists the members' sessions in the order of their client ids.
func (g *consumerGroup) sessionsLocked() []transport.Session {
	list := describe(g.members)
	all := make([]transport.Session, len(list))
	for i := range list {
		all[i] = list[i].Session
	}
	return all
}

// group returns a consumer group that has members. It takes no lock.
func (c *Clients) group(name string) (*consumerGroup, bool) {
	g, ok := c.find.Load(name)
	if !ok {
		return nil, false
	}
	return g.(*consumerGroup), true
}

// subscription returns what the group subscribes of a topic, with its program counted in.
func (g *consumerGroup) subscription(topic string) (*subscription, bool) {
	for {
		s, ok := (*g.subs.Load())[topic]
		if !ok {
			return nil, false
		}
		if s.prog.retain() {
			return s, true
		}
		// It was replaced and closed between the two; the next look finds another one.
	}
}

// Consumers lists the client ids of a group's members, one for each connection, sorted. No member is an error.
func (c *Clients) Consumers(group string) ([]string, error) {
	list := c.Members(group)
	if len(list) == 0 {
		return nil, &message.Error{Code: message.SystemError, Remark: "no consumer for this group, " + group}
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ClientID
	}
	return ids, nil
}

// ConsumerGroup describes an online group; the error is ConsumerNotOnline when it has no member.
func (c *Clients) ConsumerGroup(group string) (transport.ConsumerGroupInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.consumers[group]
	if !ok {
		return transport.ConsumerGroupInfo{}, notOnline(group)
	}
	info := transport.ConsumerGroupInfo{
		Connections: connections(describe(g.members)), Type: g.typ, Model: transport.MessageModel(g.model.Load()), From: g.from,
	}
	subs := *g.subs.Load()
	for _, topic := range slices.Sorted(maps.Keys(subs)) {
		info.Subscriptions = append(info.Subscriptions, subs[topic].Subscription)
	}
	return info, nil
}

func notOnline(group string) error {
	return &message.Error{Code: message.ConsumerNotOnline, Remark: "the consumer group[" + group + "] not online"}
}

// Consumer finds the session of one client of a group.
func (c *Clients) Consumer(group, clientID string) (Member, bool) {
	for _, m := range c.Members(group) {
		if m.ClientID == clientID {
			return m, true
		}
	}
	return Member{}, false
}

// Subscription returns what an online group subscribes of a topic.
func (c *Clients) Subscription(group, topic string) (s transport.Subscription, ok bool) {
	g, online := c.group(group)
	if !online {
		return s, false
	}
	sub, ok := (*g.subs.Load())[topic]
	if !ok {
		return s, false
	}
	return sub.Subscription, true
}

// Online says whether a consumer group has members.
func (c *Clients) Online(group string) bool {
	_, ok := c.group(group)
	return ok
}

// Topics lists the topics that an online group subscribes, sorted; ok is false when it has no member.
func (c *Clients) Topics(group string) (topics []string, ok bool) {
	g, ok := c.group(group)
	if !ok {
		return nil, false
	}
	return slices.Sorted(maps.Keys(*g.subs.Load())), true
}

// Groups lists the online groups that subscribe a topic, sorted.
func (c *Clients) Groups(topic string) []string {
	var names []string
	c.find.Range(func(name, g any) bool {
		if _, ok := (*g.(*consumerGroup).subs.Load())[topic]; ok {
			names = append(names, name.(string))
		}
		return true
	})
	slices.Sort(names)
	return names
}
