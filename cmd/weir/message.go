package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

func (a *app) messageCommand() *cobra.Command {
	return a.clientCommand(group("message", "look messages up by id, key, time or offset, and their trace; take back what waits",
		a.messageGetCommand(), a.messageFindCommand(), a.messageTraceCommand(), a.messageRecallCommand()))
}

func (a *app) messageGetCommand() *cobra.Command {
	var topic string
	c := &cobra.Command{
		Use:   "get ID",
		Short: "show one message by its offset id, or with --topic by the id that its producer gave it",
		Args:  exactArgs("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				ms, err := getMessage(ctx, cl, args[0], topic)
				if err != nil {
					return err
				}
				if len(ms) == 0 {
					return notFound("there is no message with the id %s in %s", args[0], topic)
				}
				return a.showMessages(ms, true)
			})
		},
	}
	c.Flags().StringVarP(&topic, "topic", "t", "", "the message's topic; ID is then the producer's")
	return c
}

func notFound(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &reason{err: errors.New(text), code: exitNotFound, text: text}
}

// getMessage finds a message by either id. An id may be in the log several times when its producer tried again.
func getMessage(ctx context.Context, cl *client.Client, id, topic string) ([]*client.Received, error) {
	if topic != "" {
		return queryAll(ctx, cl, client.KeyQuery{Topic: topic, Key: id, Unique: true, End: math.MaxInt64})
	}
	host, at, err := message.ParseOffsetID(id)
	if err != nil {
		return nil, usage(fmt.Errorf("%w\nIf it is an id that a producer gave, say --topic", err))
	}
	masters, err := cl.Masters(ctx, "")
	if err != nil {
		return nil, err
	}
	for name, addr := range masters {
		if addr != host.String() {
			continue
		}
		m, err := cl.MessageAt(ctx, name, addr, at)
		if err != nil {
			return nil, err
		}
		return []*client.Received{m}, nil
	}
	return nil, notFound("no broker has the address %s, which the id %s names\nIf it is an id that a producer gave, say --topic.", host, id)
}

// queryAll asks all brokers of a topic by key, and returns messages in the order of their store times.
func queryAll(ctx context.Context, cl *client.Client, q client.KeyQuery) ([]*client.Received, error) {
	route, err := cl.FetchRoute(ctx, q.Topic)
	if err != nil {
		return nil, unknownTopic(q.Topic, err)
	}
	var out []*client.Received
	for _, name := range slices.Sorted(maps.Keys(route.Brokers)) {
		ms, err := cl.QueryMessages(ctx, name, route.Brokers[name], q)
		if err != nil {
			return nil, err
		}
		out = append(out, ms...)
	}
	slices.SortStableFunc(out, byStoreTime)
	return out, nil
}

func byStoreTime(a, b *client.Received) int { return cmp.Compare(a.StoreTimestamp, b.StoreTimestamp) }

func (a *app) showMessages(ms []*client.Received, properties bool) error {
	for _, m := range ms {
		if err := a.showMessage(m, properties); err != nil {
			return err
		}
	}
	return nil
}

// findFlags say what message find looks for.
type findFlags struct {
	key, from, to string
	queue         int32
	offset        int64
	max           int
	properties    bool
}

func (a *app) messageFindCommand() *cobra.Command {
	var f findFlags
	c := &cobra.Command{
		Use:               "find TOPIC",
		ValidArgsFunction: a.completeTopic(),
		Short:             "show messages of a topic by key, by time, or by queue and offset; consumes nothing",
		Example:           "  weir message find orders --key 4711 --from 24h\n  weir message find orders --queue 1 --offset 100 --max 5",
		Args:              exactArgs("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			begin, end, err := f.check()
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				ms, err := f.find(ctx, cl, args[0], begin, end)
				if err != nil {
					return err
				}
				if len(ms) == 0 {
					return notFound("no message of %s was found; do --from and --to leave it out?", args[0])
				}
				return a.showMessages(ms, f.properties)
			})
		},
	}
	c.Flags().StringVarP(&f.key, "key", "k", "", "messages that have this key")
	c.Flags().StringVar(&f.from, "from", "first", "stored at this time or later: RFC 3339, or how long ago (10m)")
	c.Flags().StringVar(&f.to, "to", "last", "stored at this time or before")
	c.Flags().Int32Var(&f.queue, "queue", -1, "of this queue only")
	c.Flags().Int64Var(&f.offset, "offset", -1, "with --queue: from this offset on")
	c.Flags().IntVar(&f.max, "max", 32, "most messages; by key up to 64 from each broker")
	c.Flags().BoolVar(&f.properties, "properties", false, "show properties")
	return c
}

// check returns the range of store times in ms.
func (f *findFlags) check() (begin, end int64, err error) {
	word, begin, err := parseFrom(f.from)
	if err != nil {
		return 0, 0, err
	}
	if word == "last" {
		return 0, 0, usage(errors.New("--from last finds nothing: say a time, or how long ago"))
	}
	word, end, err = parseFrom(f.to)
	switch {
	case err != nil:
		return 0, 0, usage(errors.New(strings.Replace(err.Error(), "--from", "--to", 1)))
	case word == "last":
		end = math.MaxInt64
	}
	switch {
	case begin > end:
		err = fmt.Errorf("--from %s is later than --to %s", f.from, f.to)
	case f.max < 1:
		err = fmt.Errorf("--max %d: ask for at least one message", f.max)
	case f.offset >= 0 && f.queue < 0:
		err = errors.New("--offset needs --queue")
	case f.key != "" && f.queue >= 0:
		err = errors.New("--key looks in all queues: leave --queue out")
	}
	return begin, end, usage(err)
}

func (f *findFlags) find(ctx context.Context, cl *client.Client, topic string, begin, end int64) ([]*client.Received, error) {
	if f.key != "" {
		return queryAll(ctx, cl, client.KeyQuery{Topic: topic, Key: f.key, Max: f.max, Begin: begin, End: end})
	}
	route, err := cl.FetchRoute(ctx, topic)
	if err != nil {
		return nil, unknownTopic(topic, err)
	}
	var out []*client.Received
	for _, q := range route.Read {
		if f.queue >= 0 && q.ID != f.queue {
			continue
		}
		ms, err := f.read(ctx, cl, q, begin, end)
		if err != nil {
			return nil, err
		}
		out = append(out, ms...)
	}
	slices.SortStableFunc(out, byStoreTime)
	return out[:min(len(out), f.max)], nil
}

// read returns up to --max messages of one queue.
func (f *findFlags) read(ctx context.Context, cl *client.Client, q client.Queue, begin, end int64) (out []*client.Received, err error) {
	offset := f.offset
	switch {
	case offset >= 0:
	case begin == 0:
		offset, err = cl.MinOffset(ctx, q)
	default:
		offset, err = cl.SearchOffset(ctx, q, begin)
	}
	for err == nil && len(out) < f.max {
		var r *client.PullResult
		r, err = cl.Pull(ctx, client.PullRequest{Queue: q, Group: tailGroup, Offset: offset, Max: min(f.max, 32), Commit: -1,
			Subscription: &client.Subscription{Topic: q.Topic}})
		if err != nil || len(r.Messages) == 0 {
			break
		}
		for _, m := range r.Messages {
			if m.StoreTimestamp > end {
				return out, nil
			}
			if m.StoreTimestamp >= begin && len(out) < f.max {
				out = append(out, m)
			}
		}
		offset = r.Next
	}
	return out, err
}

// clockOf is a time in ms as people read it.
func clockOf(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }
