package remoting

import (
	"context"

	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// What a name server tells: GET_ROUTEINFO_BY_TOPIC (105), GET_BROKER_CLUSTER_INFO (106), the lists of topics (206, 224, 304,
// 311 to 313), and what tools change there: DELETE_TOPIC_IN_NAMESRV (216), WIPE_ and ADD_WRITE_PERM_OF_BROKER (205, 327),
// UPDATE_ and GET_NAMESRV_CONFIG (318, 319).

func serveRoute(ctx context.Context, r *request) ([]byte, error) {
	var x wire.RouteHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	route, err := r.c.e.h.Router.Route(ctx, &r.caller, x.Topic)
	if err != nil {
		return nil, err
	}
	w := wire.TopicRoute{
		BrokerDatas: make([]wire.BrokerData, len(route.Brokers)), FilterServerTable: map[string][]string{},
		OrderTopicConf: route.OrderConf, QueueDatas: make([]wire.QueueData, len(route.Queues)),
	}
	for i, b := range route.Brokers {
		w.BrokerDatas[i] = wireBroker(b)
	}
	for i, q := range route.Queues {
		w.QueueDatas[i] = wire.QueueData{BrokerName: q.Broker, Perm: q.Perm, ReadQueueNums: q.ReadQueues,
			TopicSysFlag: q.SysFlag, WriteQueueNums: q.WriteQueues}
	}
	return r.json(&w)
}

func wireBroker(b transport.BrokerAddrs) wire.BrokerData {
	return wire.BrokerData{BrokerAddrs: b.Addrs, BrokerName: b.Broker, Cluster: b.Cluster}
}

func serveClusterInfo(ctx context.Context, r *request) ([]byte, error) {
	info, err := r.c.e.h.Router.ClusterInfo(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	w := wire.ClusterInfo{BrokerAddrTable: make(map[string]wire.BrokerData, len(info.Brokers)), ClusterAddrTable: info.Clusters}
	for _, b := range info.Brokers {
		w.BrokerAddrTable[b.Broker] = wireBroker(b)
	}
	if w.ClusterAddrTable == nil {
		w.ClusterAddrTable = map[string][]string{}
	}
	return r.json(&w)
}

// serveTopicList serves the lists that have nothing to say but their kind.
func serveTopicList(kind transport.TopicQueryKind) serveFunc {
	return func(ctx context.Context, r *request) ([]byte, error) {
		return r.topicList(ctx, transport.TopicQuery{Kind: kind})
	}
}

func serveTopicsOfCluster(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ClusterHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return r.topicList(ctx, transport.TopicQuery{Kind: transport.TopicsOfCluster, Cluster: x.Cluster})
}

func (r *request) topicList(ctx context.Context, q transport.TopicQuery) ([]byte, error) {
	list, err := r.c.e.h.Router.TopicList(ctx, &r.caller, q)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.TopicList{BrokerAddr: list.Broker, TopicList: notNil(list.Topics)})
}

func serveDeleteRoute(ctx context.Context, r *request) ([]byte, error) {
	var x wire.DeleteTopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Router.DeleteRoute(ctx, &r.caller, x.Topic, x.ClusterName)
}

func serveWritePerm(write bool) serveFunc {
	return func(ctx context.Context, r *request) ([]byte, error) {
		var x wire.BrokerNameHeader
		if err := r.h.Read(&x); err != nil {
			return nil, err
		}
		n, err := r.c.e.h.Router.SetWritePerm(ctx, &r.caller, x.BrokerName, write)
		if err != nil {
			return nil, err
		}
		if write {
			r.answer.Write(&wire.AddReply{AddTopicCount: int32(n)})
		} else {
			r.answer.Write(&wire.WipeReply{WipeTopicCount: int32(n)})
		}
		return nil, nil
	}
}

func serveUpdateServerConfig(ctx context.Context, r *request) ([]byte, error) {
	values, err := parseProperties(r.body)
	if err != nil {
		return nil, err
	}
	return nil, r.c.e.h.Router.UpdateServerConfig(ctx, &r.caller, values)
}

func serveServerConfig(ctx context.Context, r *request) ([]byte, error) {
	values, err := r.c.e.h.Router.ServerConfig(ctx, &r.caller)
	if err != nil {
		return nil, err
	}
	return appendProperties(r.buf[:0], values), nil
}
