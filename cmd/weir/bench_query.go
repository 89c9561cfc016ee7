package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/cmd/weir/internal/bench"
	"github.com/weirmq/weir/sdk/client"
)

func (a *app) benchQueryCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:     "query",
		Short:   "measure looking messages up by their unique keys",
		Long:    "Measure looking messages up by their unique keys.\n\nThe first messages of each queue of a topic are asked for, over and over.",
		Example: "  weir bench query --topic bench --in-flight 16",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				p, err := f.query(ctx, cl)
				if err != nil {
					return unknownTopic(f.topic, err)
				}
				r, err := p.Run(ctx)
				return a.showResults(err, r)
			})
		},
	}
	f.common(c.Flags(), 10*time.Second)
	c.Flags().IntVar(&f.inFlight, "in-flight", 16, "requests under way, over all connections")
	c.Flags().DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to run before measuring; with --count none")
	return c
}

// query makes the plan: up to 32 messages of each queue.
func (f *benchFlags) query(ctx context.Context, cl *client.Client) (*bench.Produce, error) {
	if f.connections < 1 || f.inFlight < 1 {
		return nil, usage(errors.New("--connections and --in-flight are at least 1"))
	}
	if f.count > 0 {
		f.warmup = 0
	}
	f.group = "weir_bench"
	route, err := cl.FetchRoute(ctx, f.topic)
	if err != nil {
		return nil, err
	}
	p := &bench.Produce{Client: cl, Topic: f.topic, Group: f.group, Connections: f.connections, InFlight: f.inFlight, Binary: f.binary,
		Warmup: f.warmup, Duration: f.duration, Count: f.count, PID: f.pid}
	p.Queried, err = f.stored(ctx, cl, p, route)
	return p, err
}
