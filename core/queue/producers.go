package queue

import (
	"maps"
	"slices"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// producerGroup is a producer group with at least one member. It is guarded by Clients.mu.
type producerGroup struct {
	members map[transport.Session]*member
}

func (c *Clients) registerProducer(m member, group string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.membershipsLocked(m.session)
	if _, in := of.producers[group]; !in {
		if of.len() >= c.set.Config.ClientGroupsMax {
			return tooManyGroups(m.clientID, c.set.Config.ClientGroupsMax)
		}
		of.producers[group] = struct{}{}
	}
	g, ok := c.producers[group]
	if !ok {
		g = &producerGroup{members: map[transport.Session]*member{}}
		c.producers[group] = g
	}
	m.lastUpdate = c.set.Clock.Now()
	c.askers[m.clientID] = m.session
	g.members[m.session] = &m
	return nil
}

func (c *Clients) leaveProducerLocked(s transport.Session, group string) {
	if of, ok := c.sessions[s]; ok {
		delete(of.producers, group)
	}
	g, ok := c.producers[group]
	if !ok {
		return
	}
	if m, ok := g.members[s]; ok && c.askers[m.clientID] == s {
		delete(c.askers, m.clientID) // it comes back with the next heartbeat of a group that it is still in
	}
	delete(g.members, s)
	if len(g.members) == 0 {
		delete(c.producers, group)
	}
}

// ProducerMembers returns the members of a producer group, sorted by client id.
func (c *Clients) ProducerMembers(group string) []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.producers[group]
	if !ok {
		return nil
	}
	return describe(g.members)
}

// ProducerConnections lists a producer group's members; none is an error.
func (c *Clients) ProducerConnections(group string) ([]transport.Connection, error) {
	list := c.ProducerMembers(group)
	if len(list) == 0 {
		return nil, &message.Error{Code: message.SystemError, Remark: "the producer group[" + group + "] not exist"}
	}
	return connections(list), nil
}

// AllProducers lists the members of every producer group.
func (c *Clients) AllProducers() map[string][]transport.Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string][]transport.Connection, len(c.producers))
	for name, g := range c.producers {
		all[name] = connections(describe(g.members))
	}
	return all
}

// ProducerSession finds the session that a client last registered a producer by.
func (c *Clients) ProducerSession(clientID string) (transport.Session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.askers[clientID]
	return s, ok
}

// Producer finds any session of a client by its id, as a producer.
func (c *Clients) Producer(clientID string) (Member, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.producers)) {
		for _, m := range describe(c.producers[name].members) {
			if m.ClientID == clientID {
				return m, true
			}
		}
	}
	return Member{}, false
}
