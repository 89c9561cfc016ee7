package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

// ClusterInfo lists clusters and brokers.
func (c *Client) ClusterInfo(ctx context.Context) (*wire.ClusterInfo, error) {
	r, err := c.ask(ctx, wire.CodeGetBrokerClusterInfo, nil, nil)
	if err != nil {
		return nil, err
	}
	info := &wire.ClusterInfo{}
	return info, wire.ParseBody(r.Body, info)
}

// Masters returns the addresses of the masters by broker name, of one cluster or, when it is empty, of all.
func (c *Client) Masters(ctx context.Context, cluster string) (map[string]string, error) {
	info, err := c.ClusterInfo(ctx)
	if err != nil {
		return nil, err
	}
	if _, ok := info.ClusterAddrTable[cluster]; cluster != "" && !ok {
		return nil, fmt.Errorf("there is no cluster %q; there are %v", cluster, slices.Sorted(maps.Keys(info.ClusterAddrTable)))
	}
	out := map[string]string{}
	for name, b := range info.BrokerAddrTable {
		if addr, ok := b.BrokerAddrs[0]; ok && (cluster == "" || slices.Contains(info.ClusterAddrTable[cluster], name)) {
			out[name] = addr
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no broker is registered with the name server; is one running, and does it know this name server (cluster.nameservers)?")
	}
	return out, nil
}

// Topics lists the names of all topics, sorted.
func (c *Client) Topics(ctx context.Context) ([]string, error) {
	r, err := c.ask(ctx, wire.CodeGetAllTopicListFromNameServer, nil, nil)
	if err != nil {
		return nil, err
	}
	var list wire.TopicList
	if err := wire.ParseBody(r.Body, &list); err != nil {
		return nil, err
	}
	slices.Sort(list.TopicList)
	return list.TopicList, nil
}

// SystemTopics lists the topics that are a broker's own.
func (c *Client) SystemTopics(ctx context.Context, addr string) ([]string, error) {
	var list wire.TopicList
	err := c.callInto(ctx, addr, wire.CodeGetSystemTopicListFromBroker, nil, &list)
	return list.TopicList, err
}

// TopicConfigs returns the topics of one broker.
func (c *Client) TopicConfigs(ctx context.Context, addr string) (map[string]wire.TopicConfig, error) {
	var t wire.TopicTable
	err := c.callInto(ctx, addr, wire.CodeGetAllTopicConfig, nil, &t)
	return t.TopicConfigTable, err
}

// CreateTopic makes or changes a topic on one broker.
func (c *Client) CreateTopic(ctx context.Context, addr string, t wire.TopicConfig) error {
	_, err := c.Call(ctx, addr, wire.CodeUpdateAndCreateTopic, &wire.CreateTopicHeader{Topic: t.TopicName,
		DefaultTopic: message.TopicAutoCreate, ReadQueueNums: t.ReadQueueNums, WriteQueueNums: t.WriteQueueNums, Perm: t.Perm,
		TopicFilterType: "SINGLE_TAG", TopicSysFlag: t.TopicSysFlag, Order: t.Order}, nil)
	c.forget(t.TopicName)
	return err
}

// DeleteTopic removes a topic from one broker, and with it its queues. The name servers are told by DeleteRoute.
func (c *Client) DeleteTopic(ctx context.Context, addr, topic string) error {
	_, err := c.Call(ctx, addr, wire.CodeDeleteTopicInBroker, &wire.DeleteTopicHeader{Topic: topic}, nil)
	return err
}

// DeleteRoute makes every name server forget a topic, of one cluster or, when it is empty, everywhere.
func (c *Client) DeleteRoute(ctx context.Context, topic, cluster string) error {
	c.forget(topic)
	var errs []error
	for _, addr := range c.opts.NameServers {
		_, err := c.Call(ctx, addr, wire.CodeDeleteTopicInNameServer, &wire.DeleteTopicHeader{Topic: topic, ClusterName: cluster}, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TopicStats describes the queues of a topic on one broker.
func (c *Client) TopicStats(ctx context.Context, addr, topic string) (*wire.TopicStats, error) {
	s := &wire.TopicStats{}
	return s, c.callInto(ctx, addr, wire.CodeGetTopicStatsInfo, &wire.TopicHeader{Topic: topic}, s)
}

// TopicGroups lists the groups that consume a topic, online or with offsets, as one broker knows them.
func (c *Client) TopicGroups(ctx context.Context, addr, topic string) ([]string, error) {
	var l wire.GroupList
	err := c.callInto(ctx, addr, wire.CodeQueryTopicConsumeByWho, &wire.TopicHeader{Topic: topic}, &l)
	slices.Sort(l.GroupList)
	return l.GroupList, err
}

// GroupConfigs returns the subscription groups of one broker.
func (c *Client) GroupConfigs(ctx context.Context, addr string) (map[string]wire.GroupConfig, error) {
	var t wire.GroupTable
	err := c.callInto(ctx, addr, wire.CodeGetAllSubscriptionGroupConfig, nil, &t)
	return t.SubscriptionGroupTable, err
}

// CreateGroup makes or changes a subscription group on one broker.
func (c *Client) CreateGroup(ctx context.Context, addr string, g wire.GroupConfig) error {
	body, err := wire.AppendBody(nil, &g)
	if err != nil {
		return err
	}
	_, err = c.Call(ctx, addr, wire.CodeUpdateAndCreateSubscriptionGroup, nil, body)
	return err
}

// ConsumerConnections describes the members of a group that one broker knows. An offline group is a *message.Error with
// the code ConsumerNotOnline.
func (c *Client) ConsumerConnections(ctx context.Context, addr, group string) (*wire.ConsumerConnection, error) {
	s := &wire.ConsumerConnection{}
	return s, c.callInto(ctx, addr, wire.CodeGetConsumerConnectionList, &wire.GroupHeader{ConsumerGroup: group}, s)
}

// ConsumeStats describes how far a group is on one broker, in one topic or, when it is empty, in all.
func (c *Client) ConsumeStats(ctx context.Context, addr, group, topic string) (*wire.ConsumeStats, error) {
	s := &wire.ConsumeStats{}
	return s, c.callInto(ctx, addr, wire.CodeGetConsumeStats, &wire.ConsumeStatsHeader{ConsumerGroup: group, Topic: topic}, s)
}

// RuntimeInfo returns a broker's table of figures.
func (c *Client) RuntimeInfo(ctx context.Context, addr string) (map[string]string, error) {
	var t wire.KVTable
	err := c.callInto(ctx, addr, wire.CodeGetBrokerRuntimeInfo, nil, &t)
	return t.Table, err
}

// MaxOffset returns the offset that the next message of a queue will get.
func (c *Client) MaxOffset(ctx context.Context, q Queue) (int64, error) {
	return c.offset(ctx, q.Addr, wire.CodeGetMaxOffset, &wire.QueueHeader{Topic: q.Topic, QueueID: q.ID})
}

// MinOffset returns the offset of the first message of a queue that is still there.
func (c *Client) MinOffset(ctx context.Context, q Queue) (int64, error) {
	return c.offset(ctx, q.Addr, wire.CodeGetMinOffset, &wire.QueueHeader{Topic: q.Topic, QueueID: q.ID})
}

// SearchOffset returns the offset of the message stored nearest to a time in ms.
func (c *Client) SearchOffset(ctx context.Context, q Queue, timestamp int64) (int64, error) {
	return c.offset(ctx, q.Addr, wire.CodeSearchOffsetByTimestamp, &wire.SearchOffsetHeader{Topic: q.Topic, QueueID: q.ID, Timestamp: timestamp})
}

// CommittedOffset returns the offset that a group has committed. A group without one gets a *message.Error with the code
// QueryNotFound.
func (c *Client) CommittedOffset(ctx context.Context, q Queue, group string) (int64, error) {
	return c.offset(ctx, q.Addr, wire.CodeQueryConsumerOffset, &wire.QueryOffsetHeader{ConsumerGroup: group, Topic: q.Topic, QueueID: q.ID})
}

// CommitOffset sets the offset of a group.
func (c *Client) CommitOffset(ctx context.Context, q Queue, group string, offset int64) error {
	_, err := c.Call(ctx, q.Addr, wire.CodeUpdateConsumerOffset,
		&wire.UpdateOffsetHeader{ConsumerGroup: group, Topic: q.Topic, QueueID: q.ID, CommitOffset: offset}, nil)
	return err
}

func (c *Client) offset(ctx context.Context, addr string, code int32, fields wire.Fields) (int64, error) {
	conn, err := c.Conn(ctx, addr)
	if err != nil {
		return 0, err
	}
	r, err := c.callOn(ctx, conn, request(code, fields), nil)
	if err != nil {
		return 0, err
	}
	var n int64
	if _, err := fmt.Sscan(r.Ext["offset"], &n); err != nil {
		return 0, fmt.Errorf("%s to %s: the answer has no offset", wire.CodeName(code), addr)
	}
	return n, nil
}

// ViewMessage returns the record at a position of one broker's commit log.
func (c *Client) ViewMessage(ctx context.Context, addr string, at message.Position) (message.Record, error) {
	r, err := c.Call(ctx, addr, wire.CodeViewMessageByID, &wire.ViewMessageHeader{Offset: int64(at)}, nil)
	if err != nil {
		return nil, err
	}
	rec, _, err := message.ParseRecord(r.Body)
	if err != nil {
		return nil, fmt.Errorf("message at %d of %s: %w", at, addr, err)
	}
	return rec, nil
}
