package queue

import (
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
	g.members[m.session] = &m
	c.nameLocked(of, m.session, m.clientID)
	return nil
}

// nameLocked remembers by which id a session that is a producer goes.
func (c *Clients) nameLocked(of *memberships, s transport.Session, clientID string) {
	if of.asker == clientID {
		return
	}
	c.unnameLocked(of, s)
	of.asker = clientID
	c.askers[clientID] = append(c.askers[clientID], s)
}

func (c *Clients) unnameLocked(of *memberships, s transport.Session) {
	if of.asker == "" {
		return
	}
	left := slices.DeleteFunc(c.askers[of.asker], func(other transport.Session) bool { return other == s })
	if len(left) == 0 {
		delete(c.askers, of.asker)
	} else {
		c.askers[of.asker] = left
	}
	of.asker = ""
}

func (c *Clients) leaveProducerLocked(s transport.Session, group string) {
	if of, ok := c.sessions[s]; ok {
		delete(of.producers, group)
		if len(of.producers) == 0 {
			c.unnameLocked(of, s)
		}
	}
	g, ok := c.producers[group]
	if !ok {
		return
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

// ProducerSession finds the session of a client by its id, as a producer: of several, the one that came last and is alive.
func (c *Clients) ProducerSession(clientID string) (transport.Session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(c.askers[clientID]) {
		if s.Alive() {
			return s, true
		}
	}
	return nil, false
}
