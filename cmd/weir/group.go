package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

func (a *app) groupCommand() *cobra.Command {
	return a.clientCommand(group("group", "list, describe and check consumer groups", a.groupListCommand(), a.groupDescribeCommand(), a.groupCheckCommand()))
}

// groupRow is one group in a list.
type groupRow struct {
	Group   string   `json:"group"`
	Members int      `json:"members"`
	Model   string   `json:"model,omitempty"`
	Topics  []string `json:"topics"`
	Lag     int64    `json:"lag"`
}

func (a *app) groupListCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list consumer groups with their members and how far they are behind",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				rows, err := listGroups(ctx, cl, all)
				if err != nil {
					return err
				}
				return a.print(rows, func() {
					table := make([][]any, len(rows))
					for i, r := range rows {
						table[i] = []any{r.Group, r.Members, strings.ToLower(r.Model), r.Lag, strings.Join(r.Topics, ", ")}
					}
					a.table(columns("group", "#members", "model", "#lag", "topics"), table,
						"no groups yet; a group is there once somebody consumes")
				})
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "the broker's own groups as well")
	return c
}

func listGroups(ctx context.Context, cl *client.Client, all bool) ([]groupRow, error) {
	masters, err := cl.Masters(ctx, "")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, addr := range masters {
		groups, err := cl.GroupConfigs(ctx, addr)
		if err != nil {
			return nil, err
		}
		for g := range groups {
			if all || !slices.Contains(message.BuiltinGroups(), g) && !message.IsSystemGroup(g) {
				names[g] = true
			}
		}
	}
	rows := []groupRow{}
	for _, g := range slices.Sorted(maps.Keys(names)) {
		d, err := describeGroup(ctx, cl, masters, g)
		if err != nil {
			return nil, err
		}
		r := groupRow{Group: g, Members: len(d.Members), Model: d.Model, Topics: []string{}, Lag: d.Lag}
		for _, q := range d.Queues {
			if !slices.Contains(r.Topics, q.Topic) {
				r.Topics = append(r.Topics, q.Topic)
			}
		}
		slices.Sort(r.Topics)
		rows = append(rows, r)
	}
	return rows, nil
}

// groupMember is one client of a group.
type groupMember struct {
	Client   string `json:"client"`
	Address  string `json:"address"`
	Language string `json:"language"`
	Version  int32  `json:"version"`
}

// groupQueue is a group's progress in one queue.
type groupQueue struct {
	Topic     string `json:"topic"`
	Broker    string `json:"broker"`
	Queue     int32  `json:"queue"`
	Max       int64  `json:"broker_offset"`
	Committed int64  `json:"consumer_offset"`
	Lag       int64  `json:"lag"`
	LastTime  string `json:"last_consumed,omitempty"`
}

// groupDetail describes one group.
type groupDetail struct {
	Group         string            `json:"group"`
	Model         string            `json:"model,omitempty"`
	From          string            `json:"from,omitempty"`
	RetryMax      int32             `json:"retry_max"`
	Subscriptions map[string]string `json:"subscriptions"`
	Members       []groupMember     `json:"members"`
	Queues        []groupQueue      `json:"queues"`
	Lag           int64             `json:"lag"`
}

func (a *app) groupDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "describe GROUP",
		ValidArgsFunction: a.completeGroup(),
		Aliases:           []string{"desc", "show"},
		Short:             "show a group's members, subscriptions and progress",
		Args:              exactArgs("GROUP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				masters, err := cl.Masters(ctx, "")
				if err != nil {
					return err
				}
				d, err := describeGroup(ctx, cl, masters, args[0])
				if err != nil {
					return err
				}
				return a.print(d, func() { a.showGroup(d) })
			})
		},
	}
}

func describeGroup(ctx context.Context, cl *client.Client, masters map[string]string, name string) (*groupDetail, error) {
	d := &groupDetail{Group: name, Subscriptions: map[string]string{}, Members: []groupMember{}, Queues: []groupQueue{}}
	known := false
	for _, broker := range slices.Sorted(maps.Keys(masters)) {
		addr := masters[broker]
		configs, err := cl.GroupConfigs(ctx, addr)
		if err != nil {
			return nil, err
		}
		g, ok := configs[name]
		if !ok {
			continue
		}
		known, d.RetryMax = true, g.RetryMaxTimes
		if err := d.addMembers(ctx, cl, addr); err != nil {
			return nil, err
		}
		stats, err := cl.ConsumeStats(ctx, addr, name, "")
		if err != nil {
			return nil, err
		}
		d.addQueues(stats)
	}
	if !known {
		return nil, &reason{code: exitNotFound, text: fmt.Sprintf("there is no group %q\nSee what there is with 'weir group list'.", name)}
	}
	slices.SortFunc(d.Queues, func(x, y groupQueue) int {
		return strings.Compare(fmt.Sprintf("%s %s %9d", x.Topic, x.Broker, x.Queue), fmt.Sprintf("%s %s %9d", y.Topic, y.Broker, y.Queue))
	})
	return d, nil
}

// addMembers asks one broker for the group's connections.
func (d *groupDetail) addMembers(ctx context.Context, cl *client.Client, addr string) error {
	online, err := cl.ConsumerConnections(ctx, addr, d.Group)
	var said *message.Error
	if errors.As(err, &said) && said.Code == message.ConsumerNotOnline {
		return nil
	}
	if err != nil {
		return err
	}
	d.Model, d.From = string(online.MessageModel), string(online.ConsumeFromWhere)
	for topic, s := range online.SubscriptionTable {
		if d.Subscriptions[topic] = s.SubString; s.ExpressionType != "" && s.ExpressionType != message.ExpressionTag {
			d.Subscriptions[topic] = s.ExpressionType + ": " + s.SubString
		}
	}
	for _, m := range online.ConnectionSet {
		if !slices.ContainsFunc(d.Members, func(o groupMember) bool { return o.Client == m.ClientID }) {
			d.Members = append(d.Members, groupMember{m.ClientID, m.ClientAddr, m.Language, m.Version})
		}
	}
	slices.SortFunc(d.Members, func(x, y groupMember) int { return strings.Compare(x.Client, y.Client) })
	return nil
}

// addQueues adds the progress on one broker.
func (d *groupDetail) addQueues(stats *wire.ConsumeStats) {
	for mq, o := range stats.OffsetTable {
		q := groupQueue{Topic: mq.Topic, Broker: mq.BrokerName, Queue: mq.QueueID, Max: o.BrokerOffset, Committed: o.ConsumerOffset,
			Lag: o.BrokerOffset - o.ConsumerOffset}
		if o.LastTimestamp > 0 {
			q.LastTime = timeText(o.LastTimestamp)
		}
		d.Lag += q.Lag
		d.Queues = append(d.Queues, q)
	}
}

func (a *app) showGroup(d *groupDetail) {
	state := "offline"
	if len(d.Members) > 0 {
		state = strings.ToLower(d.Model) + ", " + count(len(d.Members), "member")
	}
	fmt.Fprintf(a.stdout, "group       %s\nstate       %s\nlag         %d\nretries     %d\n", d.Group, state, d.Lag, d.RetryMax)
	for _, t := range slices.Sorted(maps.Keys(d.Subscriptions)) {
		fmt.Fprintf(a.stdout, "subscribes  %s   %s\n", t, d.Subscriptions[t])
	}
	if len(d.Members) > 0 {
		fmt.Fprintln(a.stdout)
		rows := make([][]any, len(d.Members))
		for i, m := range d.Members {
			rows[i] = []any{m.Client, m.Address, m.Language, m.Version}
		}
		a.table(columns("client", "address", "language", "#version"), rows, "")
	}
	fmt.Fprintln(a.stdout)
	rows := make([][]any, len(d.Queues))
	for i, q := range d.Queues {
		rows[i] = []any{q.Topic, q.Broker, q.Queue, q.Max, q.Committed, q.Lag, q.LastTime}
	}
	a.table(columns("topic", "broker", "#queue", "#broker offset", "#consumer offset", "#lag", "last consumed"), rows,
		"nothing consumed yet")
}
