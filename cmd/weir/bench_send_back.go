package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/cmd/weir/internal/bench"
	"github.com/weirmq/weir/sdk/client"
)

func (a *app) benchSendBackCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "send-back",
		Short: "measure what consumers give back to be retried",
		Long: "Measure what consumers give back to be retried.\n\n" +
			"The first messages of a topic are given back, over and over. Each becomes a delayed message of the group's retry topic.",
		Example: "  weir bench send-back --topic bench --delay-level 1 --in-flight 64",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				p, err := f.sendBack(ctx, cl)
				if err != nil {
					return unknownTopic(f.topic, err)
				}
				r, err := p.Run(ctx)
				return a.showResults(err, r)
			})
		},
	}
	f.common(c.Flags(), 10*time.Second)
	c.Flags().StringVar(&f.group, "group", "weir_bench_retry", "consumer group that gives back; made when it isn't there")
	c.Flags().IntVar(&f.inFlight, "in-flight", 64, "requests under way, over all connections")
	c.Flags().IntVar(&f.delay, "delay-level", 1, "level of the delay; 0 lets the broker choose it by the number of retries")
	c.Flags().DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to run before measuring; with --count none")
	return c
}

// sendBack makes the plan: up to 32 messages of each queue.
func (f *benchFlags) sendBack(ctx context.Context, cl *client.Client) (*bench.Produce, error) {
	if f.connections < 1 || f.inFlight < 1 {
		return nil, usage(errors.New("--connections and --in-flight are at least 1"))
	}
	if f.count > 0 {
		f.warmup = 0
	}
	route, err := cl.FetchRoute(ctx, f.topic)
	if err != nil {
		return nil, err
	}
	if err := f.makeGroup(ctx, cl, route); err != nil {
		return nil, err
	}
	p := &bench.Produce{Client: cl, Topic: f.topic, Group: f.group, Connections: f.connections, InFlight: f.inFlight, DelayLevel: f.delay, Binary: f.binary,
		Warmup: f.warmup, Duration: f.duration, Count: f.count, PID: f.pid}
	p.Returned, err = f.stored(ctx, cl, p, route)
	return p, err
}

// stored returns up to 32 messages of each queue, and adds the queues and the size of a message to p.
func (f *benchFlags) stored(ctx context.Context, cl *client.Client, p *bench.Produce, route *client.Route) (list []bench.Stored, err error) {
	for _, q := range route.Read {
		least, err := cl.MinOffset(ctx, q)
		if err != nil {
			return nil, err
		}
		r, err := cl.Pull(ctx, client.PullRequest{Queue: q, Group: f.group, Offset: least, Commit: -1, Subscription: &client.Subscription{Topic: f.topic}})
		if err != nil {
			return nil, err
		}
		for _, m := range r.Messages {
			list = append(list, bench.Stored{Addr: q.Addr, Topic: f.topic, Position: m.Position, ID: m.ID})
			p.Size = len(m.Body)
		}
		if len(r.Messages) > 0 {
			p.Queues = append(p.Queues, bench.Queue{Addr: q.Addr, ID: q.ID})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("topic %s holds no messages; fill it with 'weir bench produce --topic %s'", f.topic, f.topic)
	}
	return list, nil
}
