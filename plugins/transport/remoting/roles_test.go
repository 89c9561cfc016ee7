package remoting

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// allRoles plays a broker and a name server. It writes down what it is asked, and answers with fixed things.
type allRoles struct {
	quiet bool // nothing is written down

	mu    sync.Mutex // guards asked
	asked []string
}

// handlers returns the roles.
func (a *allRoles) handlers() transport.Handlers {
	return transport.Handlers{
		Sender: a, Returner: a, Trans: a, Puller: a, Offsets: a, Groups: a, Locker: a, Querier: a, Topics: a, GroupAd: a, Clients: a,
		Stats: a, Broker: a, Router: a, Registry: registry{a}, KV: a,
	}
}

// note writes a call down: the role, the method and the arguments.
func (a *allRoles) note(method string, args ...any) {
	if a.quiet {
		return
	}
	text, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	inner := strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]")
	a.asked = append(a.asked, method+" "+inner)
}

func (a *allRoles) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// text makes bytes readable in the notes.
func text(b []byte) string { return string(b) }

func (a *allRoles) Send(_ context.Context, b *transport.SendBatch) {
	b.StoreHost = newFakeSender().host
	for i := range b.Sends {
		s := &b.Sends[i]
		a.note("Sender.Send", map[string]any{
			"group": text(s.ProducerGroup), "topic": text(s.Topic), "default": text(s.DefaultTopic), "queues": s.DefaultTopicQueueNums,
			"queue": s.QueueID, "sys": s.SysFlag, "born": s.BornTimestamp, "flag": s.Flag, "properties": text(s.Properties),
			"reconsumed": s.ReconsumeTimes, "unit": s.UnitMode, "hasMax": s.HasMaxReconsumeTimes, "max": s.MaxReconsumeTimes,
			"batch": s.Batch, "body": len(s.Body), "oneWay": s.OneWay, "version": s.Version,
			"key": text(s.Credentials.AccessKey), "signed": s.Credentials.Signed != nil,
		})
		s.Code, s.AnsweredQueueID, s.QueueOffset = message.Success, s.QueueID, 7
		s.Positions = []message.Position{4096}
	}
	b.Reply.SendsDone(b)
}

func (a *allRoles) Return(_ context.Context, r *transport.Return) {
	a.note("Returner.Return", map[string]any{"at": r.Position, "group": r.Group, "level": r.DelayLevel, "id": r.OriginMessageID,
		"topic": r.OriginTopic, "unit": r.UnitMode, "hasMax": r.HasMaxReconsumeTimes, "max": r.MaxReconsumeTimes})
	r.Reply.ReturnDone(r)
}

func (a *allRoles) Conflicts(_ context.Context, _ *transport.Caller, group string) ([]transport.GroupConflict, error) {
	a.note("Clients.Conflicts", group)
	return nil, nil
}

func (a *allRoles) EndTransactions(_ context.Context, b *transport.EndBatch) {
	for i := range b.Ends {
		e := &b.Ends[i]
		a.note("Trans.EndTransactions", map[string]any{"group": text(e.ProducerGroup), "offset": e.Offset, "at": e.Position, "decision": e.Decision,
			"check": e.FromCheck, "oneWay": e.OneWay})
	}
	b.Reply.EndsDone(b)
}

func (a *allRoles) ResumeCheck(_ context.Context, _ *transport.Caller, p message.Position) error {
	a.note("Trans.ResumeCheck", p)
	return nil
}

func (a *allRoles) Pull(_ context.Context, p *transport.Pull) {
	a.note("Puller.Pull", map[string]any{"group": p.Group, "topic": p.Topic, "queue": p.QueueID, "offset": p.Offset, "max": p.MaxNum,
		"bytes": p.MaxBytes, "commit": p.Commit, "suspend": p.Suspend, "commitOffset": p.CommitOffset,
		"hold": p.SuspendTimeout.String(), "own": p.HasSubscription, "expression": p.Expression, "version": p.SubVersion})
	p.Code, p.Remark, p.NextBeginOffset, p.MaxOffset = message.Success, "FOUND", 1, 2
	p.Records.Add([]byte("record"), 1, nil)
	p.Reply.PullDone(p)
}

func (a *allRoles) CommittedOffset(_ context.Context, _ *transport.Caller, group string, q message.QueueKey, strict bool) (message.Offset, error) {
	a.note("Offsets.CommittedOffset", group, q, strict)
	return 5, nil
}

func (a *allRoles) CommitOffset(_ context.Context, _ *transport.Caller, group string, q message.QueueKey, o message.Offset) error {
	a.note("Offsets.CommitOffset", group, q, o)
	return nil
}

func (a *allRoles) Heartbeat(_ context.Context, c *transport.Caller, h *transport.Heartbeat) error {
	a.note("Groups.Heartbeat", c.Language, c.Version, h)
	return nil
}

func (a *allRoles) Unregister(_ context.Context, _ *transport.Caller, clientID, producerGroup, consumerGroup string) error {
	a.note("Groups.Unregister", clientID, producerGroup, consumerGroup)
	return nil
}

func (a *allRoles) Consumers(_ context.Context, _ *transport.Caller, group string) ([]string, error) {
	a.note("Groups.Consumers", group)
	return []string{"127.0.0.1@a", "127.0.0.1@b"}, nil
}

func (a *allRoles) CheckSubscription(_ context.Context, _ *transport.Caller, clientID, group string, s transport.Subscription) error {
	a.note("Groups.CheckSubscription", clientID, group, s)
	return nil
}

func (a *allRoles) Lock(_ context.Context, _ *transport.Caller, group, clientID string, queues []transport.BrokerQueue) ([]transport.BrokerQueue, error) {
	a.note("Locker.Lock", group, clientID, queues)
	return queues, nil
}

func (a *allRoles) Unlock(_ context.Context, _ *transport.Caller, group, clientID string, queues []transport.BrokerQueue) error {
	a.note("Locker.Unlock", group, clientID, queues)
	return nil
}

func (a *allRoles) MaxOffset(_ context.Context, _ *transport.Caller, q message.QueueKey) (message.Offset, error) {
	a.note("Querier.MaxOffset", q)
	return 8, nil
}

func (a *allRoles) MinOffset(_ context.Context, _ *transport.Caller, q message.QueueKey) (message.Offset, error) {
	a.note("Querier.MinOffset", q)
	return 0, nil
}

func (a *allRoles) SearchOffset(_ context.Context, _ *transport.Caller, q message.QueueKey, t int64, b transport.Boundary) (message.Offset, error) {
	a.note("Querier.SearchOffset", q, t, b)
	return 7, nil
}

func (a *allRoles) EarliestStoreTime(_ context.Context, _ *transport.Caller, q message.QueueKey) (int64, error) {
	a.note("Querier.EarliestStoreTime", q)
	return 1796090566893, nil
}

func (a *allRoles) ViewMessage(_ context.Context, _ *transport.Caller, p message.Position, r *transport.Records) error {
	a.note("Querier.ViewMessage", p)
	r.Add([]byte("record"), 1, nil)
	return nil
}

func (a *allRoles) QueryMessages(_ context.Context, _ *transport.Caller, q transport.KeyQuery, r *transport.Records) (transport.IndexState, error) {
	a.note("Querier.QueryMessages", q)
	r.Add([]byte("record"), 1, nil)
	return transport.IndexState{StoreTime: 8, Position: 9}, nil
}

var someTopic = transport.TopicConfig{Name: "T", ReadQueues: 4, WriteQueues: 2, Perm: 6, FilterType: "SINGLE_TAG"}

func (a *allRoles) PutTopic(_ context.Context, _ *transport.Caller, t transport.TopicConfig) error {
	a.note("Topics.PutTopic", t)
	return nil
}

func (a *allRoles) DeleteTopic(_ context.Context, _ *transport.Caller, topic string) error {
	a.note("Topics.DeleteTopic", topic)
	return nil
}

func (a *allRoles) Topics(context.Context, *transport.Caller) ([]transport.TopicConfig, transport.DataVersion, error) {
	a.note("Topics.Topics")
	return []transport.TopicConfig{someTopic}, transport.DataVersion{Counter: 7, Timestamp: 1690000000000}, nil
}

func (a *allRoles) Topic(_ context.Context, _ *transport.Caller, topic string) (transport.TopicConfig, error) {
	a.note("Topics.Topic", topic)
	return someTopic, nil
}

func (a *allRoles) SystemTopics(context.Context, *transport.Caller) ([]string, error) {
	a.note("Topics.SystemTopics")
	return nil, nil
}

var someGroup = transport.GroupConfig{Name: "G", ConsumeEnable: true, RetryQueues: 1, RetryMaxTimes: 16, WhichBrokerWhenConsumeSlowly: 1}

func (a *allRoles) PutGroup(_ context.Context, _ *transport.Caller, g transport.GroupConfig) error {
	a.note("GroupAd.PutGroup", g)
	return nil
}

func (a *allRoles) DeleteGroup(_ context.Context, _ *transport.Caller, group string, offsets bool) error {
	a.note("GroupAd.DeleteGroup", group, offsets)
	return nil
}

func (a *allRoles) Groups(context.Context, *transport.Caller) ([]transport.GroupConfig, transport.DataVersion, error) {
	a.note("GroupAd.Groups")
	return []transport.GroupConfig{someGroup}, transport.DataVersion{Counter: 7, Timestamp: 1690000000000}, nil
}

func (a *allRoles) Group(_ context.Context, _ *transport.Caller, group string) (transport.GroupConfig, error) {
	a.note("GroupAd.Group", group)
	return someGroup, nil
}

func (a *allRoles) CloneOffsets(_ context.Context, _ *transport.Caller, from, to, topic string, offline bool) error {
	a.note("GroupAd.CloneOffsets", from, to, topic, offline)
	return nil
}

func (a *allRoles) AllOffsets(context.Context, *transport.Caller) (map[string]map[message.QueueID]message.Offset, error) {
	a.note("GroupAd.AllOffsets")
	return map[string]map[message.QueueID]message.Offset{"T@G": {0: 3}}, nil
}

var someQueue = transport.BrokerQueue{Topic: "T", Broker: "broker-a", ID: 0}

func (a *allRoles) ResetOffsets(_ context.Context, _ *transport.Caller, topic, group string, timestamp int64, force, listForm bool) ([]transport.QueueOffset, error) {
	a.note("GroupAd.ResetOffsets", topic, group, timestamp, force, listForm)
	return []transport.QueueOffset{{Queue: someQueue, Offset: 12}}, nil
}

var someConnection = transport.Connection{ClientID: "c", Address: "127.0.0.1:5000", Language: "JAVA", Version: 407, LastUpdate: 1690000000000}

func (a *allRoles) ConsumerConnections(_ context.Context, _ *transport.Caller, group string) (transport.ConsumerGroupInfo, error) {
	a.note("Clients.ConsumerConnections", group)
	return transport.ConsumerGroupInfo{
		Connections: []transport.Connection{someConnection}, Type: transport.ConsumePassively, Model: transport.Clustering,
		Subscriptions: []transport.Subscription{{Topic: "T", Expression: filter.Expression{Type: "TAG", Text: "TagA"}, Version: 3}},
	}, nil
}

func (a *allRoles) ProducerConnections(_ context.Context, _ *transport.Caller, group string) ([]transport.Connection, error) {
	a.note("Clients.ProducerConnections", group)
	return []transport.Connection{someConnection}, nil
}

func (a *allRoles) AllProducers(context.Context, *transport.Caller) (map[string][]transport.Connection, error) {
	a.note("Clients.AllProducers")
	return map[string][]transport.Connection{"G": {someConnection}}, nil
}

func (a *allRoles) ConsumerRunningInfo(_ context.Context, _ *transport.Caller, c transport.RunningInfoCall) (transport.ClientReply, error) {
	a.note("Clients.ConsumerRunningInfo", c)
	return transport.ClientReply{Remark: "relayed", Body: []byte(`{"mqTable":{{"brokerName":"b"}:{}}}`)}, nil
}

func (a *allRoles) ConsumeDirectly(_ context.Context, _ *transport.Caller, c transport.ConsumeDirectlyCall) (transport.ClientReply, error) {
	a.note("Clients.ConsumeDirectly", c)
	return transport.ClientReply{Code: message.ConsumeMsgTimeout, Remark: "late"}, nil
}

func (a *allRoles) ConsumerStatus(_ context.Context, _ *transport.Caller, topic, group, clientID string) (map[string]transport.ClientReply, error) {
	a.note("Clients.ConsumerStatus", topic, group, clientID)
	body := `{"consumerTable":{},"messageQueueTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:8}}`
	return map[string]transport.ClientReply{"127.0.0.1@c": {Body: []byte(body)}}, nil
}

func (a *allRoles) TopicStats(_ context.Context, _ *transport.Caller, topic string) ([]transport.QueueStats, error) {
	a.note("Stats.TopicStats", topic)
	return []transport.QueueStats{{Queue: someQueue, Min: 1, Max: 9, LastUpdate: 1690000000000}}, nil
}

var someStats = transport.ConsumeStats{TPS: 1.5, Queues: []transport.ConsumeQueueStats{
	{Queue: someQueue, BrokerOffset: 9, ConsumerOffset: 4, LastTimestamp: 1690000000000}}}

func (a *allRoles) ConsumeStats(_ context.Context, _ *transport.Caller, group, topic string) (transport.ConsumeStats, error) {
	a.note("Stats.ConsumeStats", group, topic)
	return someStats, nil
}

func (a *allRoles) BrokerConsumeStats(_ context.Context, _ *transport.Caller, orderOnly bool) ([]transport.GroupConsumeStats, error) {
	a.note("Stats.BrokerConsumeStats", orderOnly)
	return []transport.GroupConsumeStats{{Group: "G", Stats: []transport.ConsumeStats{someStats}}}, nil
}

func (a *allRoles) TopicGroups(_ context.Context, _ *transport.Caller, topic string) ([]string, error) {
	a.note("Stats.TopicGroups", topic)
	return []string{"G"}, nil
}

func (a *allRoles) GroupTopics(_ context.Context, _ *transport.Caller, group string) ([]string, error) {
	a.note("Stats.GroupTopics", group)
	return []string{"T"}, nil
}

func (a *allRoles) ConsumeTimeSpans(_ context.Context, _ *transport.Caller, topic, group string) ([]transport.ConsumeTimeSpan, error) {
	a.note("Stats.ConsumeTimeSpans", topic, group)
	return []transport.ConsumeTimeSpan{{Queue: someQueue, MinTime: 1690000000000, MaxTime: 1690000000001, ConsumeTime: 1690000000002, DelayMilli: 3}}, nil
}

func (a *allRoles) CorrectionOffsets(_ context.Context, _ *transport.Caller, topic, compareGroup string, filterGroups []string) (map[message.QueueID]message.Offset, error) {
	a.note("Stats.CorrectionOffsets", topic, compareGroup, filterGroups)
	return map[message.QueueID]message.Offset{0: 4}, nil
}

func (a *allRoles) QueueEntries(_ context.Context, _ *transport.Caller, q message.QueueKey, from message.Offset, count int32, group string) (transport.QueueEntries, error) {
	a.note("Stats.QueueEntries", q, from, count, group)
	return transport.QueueEntries{Min: 1, Max: 2, Entries: []transport.QueueEntry{{Position: 3, Size: 4, TagsCode: 5, Message: "m", Eval: true}}}, nil
}

func (a *allRoles) Counter(_ context.Context, _ *transport.Caller, name, key string) (transport.StatsItems, error) {
	a.note("Stats.Counter", name, key)
	return transport.StatsItems{Minute: transport.StatsItem{Sum: 3, TPS: 0.05, AvgPt: 1}}, nil
}

func (a *allRoles) DelayOffsets(context.Context, *transport.Caller) ([]byte, error) {
	a.note("Broker.DelayOffsets")
	return []byte(`{"offsetTable":{3:12}}`), nil
}

func (a *allRoles) RuntimeInfo(context.Context, *transport.Caller) (map[string]string, error) {
	a.note("Broker.RuntimeInfo")
	return map[string]string{"brokerVersion": "407"}, nil
}

func (a *allRoles) Config(context.Context, *transport.Caller) (map[string]string, transport.DataVersion, error) {
	a.note("Broker.Config")
	return map[string]string{"brokerName": "broker-a", "listenPort": "10911"}, transport.DataVersion{Counter: 1, Timestamp: 2}, nil
}

func (a *allRoles) UpdateConfig(_ context.Context, _ *transport.Caller, values map[string]string) error {
	a.note("Broker.UpdateConfig", values)
	return nil
}

func (a *allRoles) Clean(_ context.Context, _ *transport.Caller, job transport.CleanJob) error {
	a.note("Broker.Clean", job)
	return nil
}

func (a *allRoles) Route(_ context.Context, _ *transport.Caller, topic string) (transport.Route, error) {
	a.note("Router.Route", topic)
	return transport.Route{
		Queues:  []transport.RouteQueues{{Broker: "broker-a", ReadQueues: 8, WriteQueues: 8, Perm: 6}},
		Brokers: []transport.BrokerAddrs{{Cluster: "DefaultCluster", Broker: "broker-a", Addrs: map[int64]string{0: "10.0.0.1:10911"}}},
	}, nil
}

func (a *allRoles) ClusterInfo(context.Context, *transport.Caller) (transport.ClusterInfo, error) {
	a.note("Router.ClusterInfo")
	return transport.ClusterInfo{
		Brokers:  []transport.BrokerAddrs{{Cluster: "DefaultCluster", Broker: "broker-a", Addrs: map[int64]string{0: "10.0.0.1:10911"}}},
		Clusters: map[string][]string{"DefaultCluster": {"broker-a"}},
	}, nil
}

func (a *allRoles) TopicList(_ context.Context, _ *transport.Caller, q transport.TopicQuery) (transport.TopicList, error) {
	a.note("Router.TopicList", q)
	list := transport.TopicList{Topics: []string{"T"}}
	if q.Kind == transport.SystemTopics {
		list.Broker = "10.0.0.1:10911"
	}
	return list, nil
}

func (a *allRoles) DeleteRoute(_ context.Context, _ *transport.Caller, topic, cluster string) error {
	a.note("Router.DeleteRoute", topic, cluster)
	return nil
}

func (a *allRoles) SetWritePerm(_ context.Context, _ *transport.Caller, broker string, write bool) (int, error) {
	a.note("Router.SetWritePerm", broker, write)
	return 27, nil
}

func (a *allRoles) ServerConfig(context.Context, *transport.Caller) (map[string]string, error) {
	a.note("Router.ServerConfig")
	return map[string]string{"listenPort": "9876"}, nil
}

func (a *allRoles) UpdateServerConfig(_ context.Context, _ *transport.Caller, values map[string]string) error {
	a.note("Router.UpdateServerConfig", values)
	return nil
}

func (a *allRoles) Register(_ context.Context, _ *transport.Caller, r *transport.Registration) (transport.RegisterResult, error) {
	names := make([]string, len(r.Topics))
	for i, t := range r.Topics {
		names[i] = t.Name
	}
	a.note("Registry.Register", r.BrokerIdentity, r.HAAddr, r.FilterServers, r.Version, names)
	return transport.RegisterResult{OrderTopics: map[string]string{"T": "broker-a:4"}}, nil
}

func (a *allRoles) UnregisterBroker(b transport.BrokerIdentity) { a.note("Registry.Unregister", b) }

func (a *allRoles) TopicsChanged(_ context.Context, _ *transport.Caller, b transport.BrokerIdentity, v transport.DataVersion) (bool, transport.DataVersion, error) {
	a.note("Registry.TopicsChanged", b, v)
	return true, transport.DataVersion{Counter: 9, Timestamp: 10}, nil
}

func (a *allRoles) KV(_ context.Context, _ *transport.Caller, namespace, key string) (string, error) {
	a.note("KV.KV", namespace, key)
	return "red", nil
}

func (a *allRoles) PutKV(_ context.Context, _ *transport.Caller, namespace, key, value string) error {
	a.note("KV.PutKV", namespace, key, value)
	return nil
}

func (a *allRoles) DeleteKV(_ context.Context, _ *transport.Caller, namespace, key string) error {
	a.note("KV.DeleteKV", namespace, key)
	return nil
}

func (a *allRoles) KVList(_ context.Context, _ *transport.Caller, namespace string) (map[string]string, error) {
	a.note("KV.KVList", namespace)
	return map[string]string{"color": "red"}, nil
}

// registry is the Registry role: its Unregister would collide with GroupKeeper's.
type registry struct{ *allRoles }

func (r registry) Unregister(_ context.Context, _ *transport.Caller, b transport.BrokerIdentity) error {
	r.UnregisterBroker(b)
	return nil
}
