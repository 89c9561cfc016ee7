package remoting

import (
	"context"
	"strings"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// How topics and groups are doing: GET_TOPIC_STATS_INFO (202), GET_CONSUME_STATS (208), QUERY_TOPIC_CONSUME_BY_WHO (300),
// QUERY_CONSUME_TIME_SPAN (303), QUERY_CORRECTION_OFFSET (308), VIEW_BROKER_STATS_DATA (315),
// GET_BROKER_CONSUME_STATS (317), QUERY_CONSUME_QUEUE (321) and QUERY_TOPICS_BY_CONSUMER (343, of 5.x tools).

func serveTopicStats(ctx context.Context, r *request) ([]byte, error) {
	var x wire.TopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	queues, err := r.c.e.h.Stats.TopicStats(ctx, &r.caller, x.Topic)
	if err != nil {
		return nil, err
	}
	t := wire.TopicStats{OffsetTable: make(map[wire.MessageQueue]wire.TopicOffset, len(queues))}
	for _, q := range queues {
		t.OffsetTable[wireQueue(q.Queue)] = wire.TopicOffset{
			LastUpdateTimestamp: q.LastUpdate, MaxOffset: int64(q.Max), MinOffset: int64(q.Min),
		}
	}
	return r.json(&t)
}

func serveConsumeStats(ctx context.Context, r *request) ([]byte, error) {
	var x wire.ConsumeStatsHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	stats, err := r.c.e.h.Stats.ConsumeStats(ctx, &r.caller, x.ConsumerGroup, x.Topic)
	if err != nil {
		return nil, err
	}
	w := wireConsumeStats(stats)
	return r.json(&w)
}

func wireConsumeStats(s transport.ConsumeStats) wire.ConsumeStats {
	w := wire.ConsumeStats{ConsumeTps: s.TPS, OffsetTable: make(map[wire.MessageQueue]wire.ConsumeOffset, len(s.Queues))}
	for _, q := range s.Queues {
		w.OffsetTable[wireQueue(q.Queue)] = wire.ConsumeOffset{
			BrokerOffset: int64(q.BrokerOffset), ConsumerOffset: int64(q.ConsumerOffset), LastTimestamp: q.LastTimestamp,
		}
	}
	return w
}

func serveBrokerConsumeStats(ctx context.Context, r *request) ([]byte, error) {
	var x wire.BrokerConsumeStatsHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	groups, err := r.c.e.h.Stats.BrokerConsumeStats(ctx, &r.caller, x.IsOrder)
	if err != nil {
		return nil, err
	}
	reply := wire.ConsumeStatsList{BrokerAddr: r.c.nc.LocalAddr().String(), ConsumeStatsList: []map[string][]wire.ConsumeStats{}}
	for _, g := range groups {
		list := make([]wire.ConsumeStats, len(g.Stats))
		for i, s := range g.Stats {
			list[i] = wireConsumeStats(s)
			for _, q := range s.Queues {
				reply.TotalDiff += int64(q.BrokerOffset - q.ConsumerOffset)
			}
		}
		reply.ConsumeStatsList = append(reply.ConsumeStatsList, map[string][]wire.ConsumeStats{g.Group: list})
	}
	return r.json(&reply)
}

func serveTopicGroups(ctx context.Context, r *request) ([]byte, error) {
	var x wire.TopicHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	groups, err := r.c.e.h.Stats.TopicGroups(ctx, &r.caller, x.Topic)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.GroupList{GroupList: notNil(groups)})
}

func serveGroupTopics(ctx context.Context, r *request) ([]byte, error) {
	var x wire.GroupConfigHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	topics, err := r.c.e.h.Stats.GroupTopics(ctx, &r.caller, x.Group)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.TopicList{TopicList: notNil(topics)})
}

func serveTimeSpans(ctx context.Context, r *request) ([]byte, error) {
	var x wire.TimeSpanHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	spans, err := r.c.e.h.Stats.ConsumeTimeSpans(ctx, &r.caller, x.Topic, x.Group)
	if err != nil {
		return nil, err
	}
	reply := wire.TimeSpans{ConsumeTimeSpanSet: make([]wire.TimeSpan, len(spans))}
	for i, s := range spans {
		w := &reply.ConsumeTimeSpanSet[i]
		*w = wire.TimeSpan{ConsumeTimeStamp: s.ConsumeTime, DelayTime: s.DelayMilli, MaxTimeStamp: s.MaxTime, MinTimeStamp: s.MinTime,
			MessageQueue: wireQueue(s.Queue)}
		w.FillTexts(time.Local)
	}
	return r.json(&reply)
}

func serveCorrectionOffsets(ctx context.Context, r *request) ([]byte, error) {
	var x wire.CorrectionOffsetHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	var without []string
	if x.FilterGroups != "" {
		without = strings.Split(x.FilterGroups, ",")
	}
	offsets, err := r.c.e.h.Stats.CorrectionOffsets(ctx, &r.caller, x.Topic, x.CompareGroup, without)
	if err != nil {
		return nil, err
	}
	reply := wire.CorrectionOffsets{CorrectionOffsets: make(map[int32]int64, len(offsets))}
	for q, o := range offsets {
		reply.CorrectionOffsets[int32(q)] = int64(o)
	}
	return r.json(&reply)
}

func serveQueueEntries(ctx context.Context, r *request) ([]byte, error) {
	var x wire.QueryConsumeQueueHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	got, err := r.c.e.h.Stats.QueueEntries(ctx, &r.caller, queueKey(x.Topic, x.QueueID), message.Offset(x.Index), x.Count, x.ConsumerGroup)
	if err != nil {
		return nil, err
	}
	reply := wire.ConsumeQueueReply{
		FilterData: got.FilterData, MaxQueueIndex: int64(got.Max), MinQueueIndex: int64(got.Min),
		QueueData: make([]wire.ConsumeQueueEntry, len(got.Entries)),
	}
	for i, e := range got.Entries {
		reply.QueueData[i] = wire.ConsumeQueueEntry{
			Eval: e.Eval, Msg: e.Message, PhysicOffset: int64(e.Position), PhysicSize: e.Size, TagsCode: e.TagsCode,
		}
		if e.Unit != nil {
			reply.QueueData[i].SetUnit(*e.Unit)
		}
	}
	if got.Subscription != nil {
		s := wireSubscription(*got.Subscription)
		reply.SubscriptionData = &s
	}
	return r.json(&reply)
}

func serveCounter(ctx context.Context, r *request) ([]byte, error) {
	var x wire.BrokerStatsHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	c, err := r.c.e.h.Stats.Counter(ctx, &r.caller, x.StatsName, x.StatsKey)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.BrokerStats{StatsDay: wireItem(c.Day), StatsHour: wireItem(c.Hour), StatsMinute: wireItem(c.Minute)})
}

func wireItem(i transport.StatsItem) wire.StatsItem {
	return wire.StatsItem{Avgpt: i.AvgPt, Sum: i.Sum, Tps: i.TPS}
}
