package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

func (a *app) topicCommand() *cobra.Command {
	return a.clientCommand(group("topic", "create, list, describe and delete topics",
		a.topicCreateCommand(), a.topicListCommand(), a.topicDescribeCommand(), a.topicDeleteCommand()))
}

func (a *app) topicCreateCommand() *cobra.Command {
	var queues int32
	var cluster, perm string
	c := &cobra.Command{
		Use:               "create TOPIC",
		ValidArgsFunction: a.completeTopic(),
		Aliases:           []string{"add"},
		Short:             "create a topic on every master, or change its queues and permission",
		Example:           "  weir topic create orders --queues 8",
		Args:              exactArgs("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			bits, err := parsePerm(perm)
			if err != nil {
				return err
			}
			if err := message.CheckTopic(args[0]); err != nil {
				return usage(err)
			}
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				masters, err := cl.Masters(ctx, cluster)
				if err != nil {
					return err
				}
				for _, name := range slices.Sorted(maps.Keys(masters)) {
					err := cl.CreateTopic(ctx, masters[name], wire.TopicConfig{TopicName: args[0], ReadQueueNums: queues,
						WriteQueueNums: queues, Perm: bits})
					if err != nil {
						return fmt.Errorf("create %s on %s: %w", args[0], name, err)
					}
				}
				if err := awaitRoute(ctx, cl, args[0], true, a.connect.timeout); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "topic %s: %s on %s\n", args[0], count(int(queues), "queue"),
					strings.Join(slices.Sorted(maps.Keys(masters)), ", "))
				return nil
			})
		},
	}
	c.Flags().Int32VarP(&queues, "queues", "q", 8, "queues on each broker")
	c.Flags().StringVar(&cluster, "cluster", "", "only on the brokers of this cluster")
	c.Flags().StringVar(&perm, "perm", "rw", "permission: r, w or rw")
	return c
}

// awaitRoute waits until the name server knows a topic, or knows it no longer: RocketMQ's brokers tell it a moment after
// they have answered.
func awaitRoute(ctx context.Context, cl *client.Client, topic string, there bool, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		_, err := cl.FetchRoute(ctx, topic)
		var said *message.Error
		if err != nil && !errors.As(err, &said) {
			return err
		}
		if (err == nil) == there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the name server still says otherwise about %s after %s: %w", topic, timeout, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func parsePerm(s string) (int32, error) {
	switch s {
	case "r":
		return 4, nil
	case "w":
		return 2, nil
	case "rw", "wr":
		return 6, nil
	}
	return 0, usage(fmt.Errorf("--perm %q: want r, w or rw", s))
}

func permText(p int32) string {
	out := ""
	if p&4 != 0 {
		out += "r"
	}
	if p&2 != 0 {
		out += "w"
	}
	if p&1 != 0 {
		out += "+template"
	}
	if out == "" {
		return "none"
	}
	return out
}

// topicRow is one topic in a list.
type topicRow struct {
	Topic    string `json:"topic"`
	Brokers  int    `json:"brokers"`
	Queues   int32  `json:"queues"`
	Perm     string `json:"permission"`
	Messages int64  `json:"messages"`
}

func (a *app) topicListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list topics; --all adds those of brokers, retries and dead letters",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				rows, err := listTopics(ctx, cl, all)
				if err != nil {
					return err
				}
				return a.print(rows, func() {
					table := make([][]any, len(rows))
					for i, r := range rows {
						table[i] = []any{r.Topic, r.Brokers, r.Queues, r.Perm, r.Messages}
					}
					a.table(columns("topic", "#brokers", "#queues", "permission", "#messages"), table,
						"no topics yet; make one with 'weir topic create NAME', or just send to it")
				})
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "system, retry and dead letter topics as well")
	return c
}

// listTopics asks every master for its topics.
func listTopics(ctx context.Context, cl *client.Client, all bool) ([]topicRow, error) {
	masters, err := cl.Masters(ctx, "")
	if err != nil {
		return nil, err
	}
	byName := map[string]*topicRow{}
	for _, broker := range slices.Sorted(maps.Keys(masters)) {
		addr := masters[broker]
		topics, err := cl.TopicConfigs(ctx, addr)
		if err != nil {
			return nil, err
		}
		system, err := cl.SystemTopics(ctx, addr)
		if err != nil {
			return nil, err
		}
		for name, t := range topics {
			if ownTopic(name, system) && !all {
				continue
			}
			r := byName[name]
			if r == nil {
				r = &topicRow{Topic: name, Perm: permText(t.Perm)}
				byName[name] = r
			}
			r.Brokers++
			r.Queues += t.WriteQueueNums
			s, err := cl.TopicStats(ctx, addr, name)
			if err != nil {
				return nil, err
			}
			for _, o := range s.OffsetTable {
				r.Messages += o.MaxOffset - o.MinOffset
			}
		}
	}
	rows := make([]topicRow, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		rows = append(rows, *byName[name])
	}
	return rows, nil
}

// ownTopic says whether a topic is the broker's own or one of retries and dead letters, and no user's.
func ownTopic(name string, system []string) bool {
	return slices.Contains(system, name) || message.IsSystemTopic(name) || message.IsRetryTopic(name) || message.IsDLQTopic(name)
}

// topicQueue is one queue in a description.
type topicQueue struct {
	Broker     string `json:"broker"`
	Queue      int32  `json:"queue"`
	Min        int64  `json:"min_offset"`
	Max        int64  `json:"max_offset"`
	Messages   int64  `json:"messages"`
	LastStored string `json:"last_stored,omitempty"`
}

// topicDetail describes one topic.
type topicDetail struct {
	Topic   string            `json:"topic"`
	Brokers map[string]string `json:"brokers"`
	Perm    string            `json:"permission"`
	Groups  []string          `json:"groups"`
	Queues  []topicQueue      `json:"queues"`
}

func (a *app) topicDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "describe TOPIC",
		ValidArgsFunction: a.completeTopic(),
		Aliases:           []string{"desc", "show"},
		Short:             "show a topic's brokers, queues, offsets and groups",
		Args:              exactArgs("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				d, err := describeTopic(ctx, cl, args[0])
				if err != nil {
					return unknownTopic(args[0], err)
				}
				return a.print(d, func() { a.showTopic(d) })
			})
		},
	}
}

func describeTopic(ctx context.Context, cl *client.Client, topic string) (*topicDetail, error) {
	route, err := cl.FetchRoute(ctx, topic)
	if err != nil {
		return nil, err
	}
	d := &topicDetail{Topic: topic, Brokers: route.Brokers, Groups: []string{}, Queues: []topicQueue{}}
	for _, q := range route.Raw.QueueDatas {
		d.Perm = permText(q.Perm)
	}
	for _, broker := range slices.Sorted(maps.Keys(route.Brokers)) {
		addr := route.Brokers[broker]
		s, err := cl.TopicStats(ctx, addr, topic)
		if err != nil {
			return nil, err
		}
		for mq, o := range s.OffsetTable {
			q := topicQueue{Broker: broker, Queue: mq.QueueID, Min: o.MinOffset, Max: o.MaxOffset, Messages: o.MaxOffset - o.MinOffset}
			if o.LastUpdateTimestamp > 0 {
				q.LastStored = timeText(o.LastUpdateTimestamp)
			}
			d.Queues = append(d.Queues, q)
		}
		groups, err := cl.TopicGroups(ctx, addr, topic)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if !slices.Contains(d.Groups, g) {
				d.Groups = append(d.Groups, g)
			}
		}
	}
	slices.Sort(d.Groups)
	slices.SortFunc(d.Queues, func(x, y topicQueue) int {
		if c := strings.Compare(x.Broker, y.Broker); c != 0 {
			return c
		}
		return int(x.Queue - y.Queue)
	})
	return d, nil
}

func (a *app) showTopic(d *topicDetail) {
	fmt.Fprintf(a.stdout, "topic       %s\npermission  %s\n", d.Topic, d.Perm)
	for _, b := range slices.Sorted(maps.Keys(d.Brokers)) {
		fmt.Fprintf(a.stdout, "broker      %s at %s\n", b, d.Brokers[b])
	}
	groups := "none yet"
	if len(d.Groups) > 0 {
		groups = strings.Join(d.Groups, ", ")
	}
	fmt.Fprintf(a.stdout, "groups      %s\n\n", groups)
	rows := make([][]any, len(d.Queues))
	for i, q := range d.Queues {
		rows[i] = []any{q.Broker, q.Queue, q.Min, q.Max, q.Messages, q.LastStored}
	}
	a.table(columns("broker", "#queue", "#min", "#max", "#messages", "last stored"), rows, "no queues")
}

// timeText formats a time in ms for people.
func timeText(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

func (a *app) topicDeleteCommand() *cobra.Command {
	var yes bool
	var cluster string
	c := &cobra.Command{
		Use:               "delete TOPIC",
		ValidArgsFunction: a.completeTopic(),
		Aliases:           []string{"rm"},
		Short:             "delete a topic and its messages from every master",
		Args:              exactArgs("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				return a.deleteTopic(ctx, cl, args[0], cluster, yes)
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().StringVar(&cluster, "cluster", "", "only on the brokers of this cluster")
	return c
}

func (a *app) deleteTopic(ctx context.Context, cl *client.Client, topic, cluster string, yes bool) error {
	d, err := describeTopic(ctx, cl, topic)
	if err != nil {
		return unknownTopic(topic, err)
	}
	messages := int64(0)
	for _, q := range d.Queues {
		messages += q.Messages
	}
	if err := a.confirm(yes, fmt.Sprintf("This deletes topic %s with %s and %s.", topic,
		count(len(d.Queues), "queue"), count(int(messages), "message")), topic); err != nil {
		return err
	}
	masters, err := cl.Masters(ctx, cluster)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(masters)) {
		if err := cl.DeleteTopic(ctx, masters[name], topic); err != nil {
			return fmt.Errorf("delete %s on %s: %w", topic, name, err)
		}
	}
	if err := cl.DeleteRoute(ctx, topic, cluster); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "topic %s deleted on %s\n", topic, strings.Join(slices.Sorted(maps.Keys(masters)), ", "))
	return nil
}
