package naming

import (
	"context"
	"maps"
	"slices"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Route tells where a topic is. The slices and maps of the answer are shared and must not be changed.
func (s *Server) Route(ctx context.Context, c *transport.Caller, topic string) (transport.Route, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, auth.Resource{Kind: auth.Topic, Name: topic}); err != nil {
		return transport.Route{}, err
	}
	r, ok := s.route(topic)
	if !ok {
		return r, refuse(message.TopicNotExist,
			"No topic route info in name server for the topic: %s. No broker that is registered here has it; create it with: weir topic create %s", topic, topic)
	}
	if s.order.Load() {
		r.OrderConf, _ = s.kv.get(orderNamespace, topic)
	}
	return r, nil
}

// route finds a topic. Clients of 4.3 ask for the template of topics yet to be made by another name, which no broker registers.
func (s *Server) route(topic string) (r transport.Route, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r.Queues = s.topics[topic]
	if len(r.Queues) == 0 && topic == message.TopicAutoCreateOld {
		r.Queues = s.topics[message.TopicAutoCreate]
	}
	if len(r.Queues) == 0 {
		return r, false
	}
	r.Brokers = make([]transport.BrokerAddrs, 0, len(r.Queues))
	for i := range r.Queues {
		name := r.Queues[i].Broker
		if b := s.brokers[name]; b != nil {
			r.Brokers = append(r.Brokers, transport.BrokerAddrs{Cluster: b.cluster, Broker: name, Addrs: b.addrs})
		}
	}
	return r, len(r.Brokers) > 0
}

// ClusterInfo lists clusters and brokers. The slices and maps of the answer are shared and must not be changed.
func (s *Server) ClusterInfo(ctx context.Context, c *transport.Caller) (transport.ClusterInfo, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, cluster); err != nil {
		return transport.ClusterInfo{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	info := transport.ClusterInfo{Brokers: make([]transport.BrokerAddrs, 0, len(s.brokers)), Clusters: maps.Clone(s.clusters)}
	for _, name := range slices.Sorted(maps.Keys(s.brokers)) {
		b := s.brokers[name]
		info.Brokers = append(info.Brokers, transport.BrokerAddrs{Cluster: b.cluster, Broker: name, Addrs: b.addrs})
	}
	return info, nil
}

// TopicList lists topics, sorted by name.
func (s *Server) TopicList(ctx context.Context, c *transport.Caller, q transport.TopicQuery) (transport.TopicList, error) {
	if err := s.allow.Allow(ctx, c, auth.Describe, cluster); err != nil {
		return transport.TopicList{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch q.Kind {
	case transport.AllTopics:
		return s.topicsLocked(func([]transport.RouteQueues) bool { return true }), nil
	case transport.TopicsOfCluster:
		names := s.clusters[q.Cluster] // none of an unknown one, which then has no topics: RocketMQ says no more
		return s.topicsLocked(func(list []transport.RouteQueues) bool {
			return slices.ContainsFunc(list, func(q transport.RouteQueues) bool {
				_, found := slices.BinarySearch(names, q.Broker)
				return found
			})
		}), nil
	case transport.SystemTopics:
		return s.systemLocked(), nil
	case transport.UnitTopics:
		return s.topicsLocked(flagged(message.TopicUnit, 0)), nil
	case transport.UnitSubTopics:
		return s.topicsLocked(flagged(message.TopicUnitSub, 0)), nil
	case transport.UnitSubNotUnitTopics:
		return s.topicsLocked(flagged(message.TopicUnitSub, message.TopicUnit)), nil
	}
	return transport.TopicList{}, refuse(message.SystemError, "topics can't be chosen by kind %d", q.Kind)
}

// flagged chooses topics by the system flag of their first broker's registration, as RocketMQ does.
func flagged(with, without int32) func([]transport.RouteQueues) bool {
	return func(list []transport.RouteQueues) bool {
		f := list[0].SysFlag
		return f&with != 0 && f&without == 0
	}
}

func (s *Server) topicsLocked(want func([]transport.RouteQueues) bool) transport.TopicList {
	list := transport.TopicList{Topics: make([]string, 0, len(s.topics))}
	for name, queues := range s.topics {
		if want(queues) {
			list.Topics = append(list.Topics, name)
		}
	}
	slices.Sort(list.Topics)
	return list
}

// systemLocked lists what name servers call system topics, the names of clusters and brokers, and an address at which
// the caller can ask for more.
func (s *Server) systemLocked() (list transport.TopicList) {
	list.Topics = slices.Collect(maps.Keys(s.clusters))
	list.Topics = slices.AppendSeq(list.Topics, maps.Keys(s.brokers))
	slices.Sort(list.Topics)
	list.Topics = slices.Compact(list.Topics)
	for _, name := range slices.Sorted(maps.Keys(s.brokers)) {
		if addrs := s.brokers[name].addrs; len(addrs) > 0 {
			list.Broker = addrs[slices.Min(slices.Collect(maps.Keys(addrs)))]
			break
		}
	}
	return list
}

// DeleteRoute forgets a topic, on all brokers or on those of one cluster. An unknown topic or cluster is fine.
func (s *Server) DeleteRoute(ctx context.Context, c *transport.Caller, topic, clusterName string) error {
	if err := s.allow.Allow(ctx, c, auth.Alter, auth.Resource{Kind: auth.Topic, Name: topic}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if clusterName == "" {
		delete(s.topics, topic)
		return nil
	}
	for _, name := range s.clusters[clusterName] {
		s.dropQueuesLocked(topic, name)
	}
	return nil
}

// SetWritePerm takes the write permission of all of a broker's topics away, or makes all of them readable and writable.
// It holds until the broker registers with another data version. The result counts the broker's topics, changed or not,
// as RocketMQ does.
func (s *Server) SetWritePerm(ctx context.Context, c *transport.Caller, broker string, write bool) (int, error) {
	if err := s.allow.Allow(ctx, c, auth.Alter, cluster); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for topic, list := range s.topics {
		i, found := slices.BinarySearchFunc(list, broker, byBroker)
		if !found {
			continue
		}
		q := list[i]
		q.Perm &^= int32(message.PermWrite)
		if write {
			q.Perm = int32(message.PermRW)
		}
		s.setQueuesLocked(topic, q)
		n++
	}
	s.set.Logger.Info("write permission set", "broker", broker, "write", write, "topics", n)
	return n, nil
}
