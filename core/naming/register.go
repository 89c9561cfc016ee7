package naming

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// nameMax is the longest name of a broker, cluster or topic, and the longest address, that may register, in bytes.
const nameMax = 255

// orderNamespace is the KV namespace with the topics that are ordered over brokers.
const orderNamespace = "ORDER_TOPIC_CONFIG"

// Register adds or refreshes a broker. It stays until it unregisters, its connection closes, or it isn't heard of for
// BrokerExpiry.
func (s *Server) Register(ctx context.Context, c *transport.Caller, r *transport.Registration) (transport.RegisterResult, error) {
	if err := s.allow.Allow(ctx, c, auth.Register, cluster); err != nil {
		return transport.RegisterResult{}, err
	}
	return s.register(r, c.Session, false)
}

func (s *Server) register(r *transport.Registration, session transport.Session, local bool) (transport.RegisterResult, error) {
	if err := checkIdentity(r.BrokerIdentity); err != nil {
		return transport.RegisterResult{}, err
	}
	result, err := s.update(r, session, local)
	if err != nil {
		return transport.RegisterResult{}, err
	}
	result.OrderTopics = s.kv.list(orderNamespace)
	return result, nil
}

func checkIdentity(b transport.BrokerIdentity) error {
	for _, f := range []struct{ what, value string }{{"broker name", b.Broker}, {"cluster name", b.Cluster}, {"broker address", b.Addr}} {
		if strings.TrimSpace(f.value) == "" {
			return refuse(message.SystemError, "registration without a %s", f.what)
		}
		if len(f.value) > nameMax {
			return refuse(message.SystemError, "the %s of a registration has %d bytes, at most %d are allowed", f.what, len(f.value), nameMax)
		}
	}
	return nil
}

// update brings a registration into the tables.
func (s *Server) update(r *transport.Registration, session transport.Session, local bool) (transport.RegisterResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.live[r.Addr]
	if known != nil && known.local && !local {
		return transport.RegisterResult{}, refuse(message.SystemError,
			"address %s is that of the broker in the name server's own process; give broker %q another one", r.Addr, r.Broker)
	}
	if known != nil && known.broker != r.Broker {
		s.removeLocked(r.Addr, "its address registers as "+r.Broker)
		known = nil
	}
	if known == nil && len(s.live) >= s.cfg.BrokersMax {
		return transport.RegisterResult{}, refuse(message.SystemError,
			"broker %q at %s is not registered: %d brokers are, and no more are allowed here", r.Broker, r.Addr, len(s.live))
	}
	first := s.addAddrLocked(r)
	next := &registration{broker: r.Broker, id: r.ID, version: r.Version,
		haAddr: r.HAAddr, session: session, local: local, heard: s.set.Clock.Now()}
	if known != nil {
		next.topics = known.topics && known.version == r.Version
	} else {
		s.set.Logger.Info("broker registered", "broker", r.Broker, "id", r.ID, "address", r.Addr, "cluster", r.Cluster)
	}
	s.live[r.Addr] = next
	if r.ID == 0 && (first || !next.topics) {
		next.topics = false
		if err := s.addTopicsLocked(r); err != nil {
			return transport.RegisterResult{}, err
		}
		next.topics = true
	}
	return s.masterLocked(r), nil
}

// masterLocked tells a replica where its master is.
func (s *Server) masterLocked(r *transport.Registration) (result transport.RegisterResult) {
	if r.ID == 0 {
		return result
	}
	addr, ok := s.brokers[r.Broker].addrs[0]
	if master := s.live[addr]; ok && master != nil {
		result.MasterAddr, result.HAAddr = addr, master.haAddr
	}
	return result
}

// addAddrLocked enters the address under its broker and id, and takes it away from other ids. It says whether nobody
// held that place.
func (s *Server) addAddrLocked(r *transport.Registration) (first bool) {
	b := s.brokers[r.Broker]
	if b == nil {
		b = &broker{}
		s.brokers[r.Broker] = b
	}
	if b.cluster != r.Cluster {
		s.leaveClusterLocked(b.cluster, r.Broker)
		b.cluster = r.Cluster
		names := s.clusters[r.Cluster]
		i, _ := slices.BinarySearch(names, r.Broker)
		s.clusters[r.Cluster] = slices.Insert(slices.Clip(names), i, r.Broker)
	}
	old, taken := b.addrs[r.ID]
	addrs := make(map[int64]string, len(b.addrs)+1)
	for id, addr := range b.addrs {
		if addr != r.Addr {
			addrs[id] = addr
		}
	}
	addrs[r.ID] = r.Addr
	if !maps.Equal(addrs, b.addrs) {
		b.addrs = addrs
	}
	if taken && old != r.Addr {
		s.set.Logger.Warn("broker registers from another address; two brokers must not share name and id",
			"broker", r.Broker, "id", r.ID, "before", old, "now", r.Addr)
	}
	return !taken
}

// leaveClusterLocked takes a broker out of a cluster, and the cluster away with its last.
func (s *Server) leaveClusterLocked(name, broker string) {
	names := s.clusters[name]
	i, found := slices.BinarySearch(names, broker)
	switch {
	case !found:
	case len(names) == 1:
		delete(s.clusters, name)
	default:
		s.clusters[name] = slices.Concat(names[:i], names[i+1:])
	}
}

// addTopicsLocked enters all topics of a registration, or none.
func (s *Server) addTopicsLocked(r *transport.Registration) error {
	fresh := 0
	for i := range r.Topics {
		name := r.Topics[i].Name
		if name == "" || len(name) > nameMax {
			return refuse(message.SystemError, "broker %q: topic name %.32q has %d bytes, 1 to %d are allowed", r.Broker, name, len(name), nameMax)
		}
		if _, ok := s.topics[name]; !ok {
			fresh++
		}
	}
	if len(s.topics)+fresh > s.cfg.TopicsMax {
		return refuse(message.SystemError, "the topics of broker %q are not registered: with its %d new ones there would be %d, more than the %d allowed here",
			r.Broker, fresh, len(s.topics)+fresh, s.cfg.TopicsMax)
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		s.setQueuesLocked(t.Name, transport.RouteQueues{Broker: r.Broker, ReadQueues: t.ReadQueues,
			WriteQueues: t.WriteQueues, Perm: t.Perm, SysFlag: t.SysFlag})
	}
	return nil
}

func byBroker(q transport.RouteQueues, name string) int { return strings.Compare(q.Broker, name) }

// setQueuesLocked enters a broker's queues of a topic.
func (s *Server) setQueuesLocked(topic string, q transport.RouteQueues) {
	list := s.topics[topic]
	i, found := slices.BinarySearchFunc(list, q.Broker, byBroker)
	switch {
	case found && list[i] == q:
		return
	case found:
		list = slices.Clone(list)
		list[i] = q
	default:
		list = slices.Insert(slices.Clip(list), i, q)
	}
	s.topics[topic] = list
}

// dropQueuesLocked takes a broker's queues out of a topic, and the topic away with the last.
func (s *Server) dropQueuesLocked(topic, broker string) {
	list := s.topics[topic]
	i, found := slices.BinarySearchFunc(list, broker, byBroker)
	switch {
	case !found:
	case len(list) == 1:
		delete(s.topics, topic)
	default:
		s.topics[topic] = slices.Concat(list[:i], list[i+1:])
	}
}

// Unregister removes a broker. Unlike RocketMQ it doesn't remove another broker that has taken its name and id over.
func (s *Server) Unregister(ctx context.Context, c *transport.Caller, b transport.BrokerIdentity) error {
	if err := s.allow.Allow(ctx, c, auth.Register, cluster); err != nil {
		return err
	}
	s.unregister(b)
	return nil
}

func (s *Server) unregister(b transport.BrokerIdentity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.live[b.Addr]; r != nil && r.broker == b.Broker {
		s.removeLocked(b.Addr, "unregistered")
	}
}

// removeLocked forgets an address, the broker if that was its last, and then its topics.
func (s *Server) removeLocked(addr, why string) {
	name := s.live[addr].broker
	delete(s.live, addr)
	b := s.brokers[name]
	if b == nil {
		return
	}
	addrs := maps.Clone(b.addrs)
	maps.DeleteFunc(addrs, func(_ int64, a string) bool { return a == addr })
	if len(addrs) == len(b.addrs) { // another address has its place
		return
	}
	b.addrs = addrs
	s.set.Logger.Info("broker removed", "broker", name, "address", addr, "reason", why)
	if len(addrs) == 0 {
		s.removeBrokerLocked(name)
	}
}

func (s *Server) removeBrokerLocked(name string) {
	s.leaveClusterLocked(s.brokers[name].cluster, name)
	delete(s.brokers, name)
	for topic := range s.topics {
		s.dropQueuesLocked(topic, name)
	}
}

// TopicsChanged compares a broker's data version with the registered one, and refreshes the broker if they are equal.
// known is zero when there is none.
func (s *Server) TopicsChanged(ctx context.Context, c *transport.Caller, b transport.BrokerIdentity, v transport.DataVersion) (changed bool, known transport.DataVersion, err error) {
	if err := s.allow.Allow(ctx, c, auth.Register, cluster); err != nil {
		return false, known, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.live[b.Addr]
	if r == nil || r.broker != b.Broker {
		return true, known, nil
	}
	if r.version != v || r.id == 0 && !r.topics {
		return true, r.version, nil
	}
	r.heard = s.set.Clock.Now()
	if c.Session != nil {
		r.session = c.Session
	}
	return false, v, nil
}
