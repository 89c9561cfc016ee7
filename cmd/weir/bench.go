package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirmq/weir/cmd/weir/internal/bench"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// benchFlags are those of all modes; each command has its part.
type benchFlags struct {
	topic, group string
	queues       int32
	connections  int
	duration     time.Duration
	count        int64
	pid          int
	binary       bool

	inFlight    int
	rate        float64
	size        string
	batch       int
	tag         string
	other       string
	share       string
	properties  []string
	oneWay      bool
	sync        bool
	noUniqueKey bool
	delay       int
	transaction bool
	warmup      time.Duration

	filter, filterType string
	pullBatch          int32
	rounds             int
}

func (a *app) benchCommand() *cobra.Command {
	c := group("bench", "measure what a broker can do: produce, consume or both",
		a.benchProduceCommand(), a.benchConsumeCommand(), a.benchBothCommand(), a.benchSendBackCommand(), a.benchQueryCommand())
	c.Long = "Measure what a broker can do.\n\n" +
		"Works with weir and with RocketMQ's broker alike. Without --rate the loop is closed: --in-flight requests are always under way.\n" +
		"With --rate it is open: requests are due at fixed times and latency counts from then, so that a stall shows in everything it delays."
	return a.clientCommand(c)
}

func (f *benchFlags) common(s *pflag.FlagSet, duration time.Duration) {
	s.StringVar(&f.topic, "topic", "bench", "topic; made when it isn't there")
	s.Int32Var(&f.queues, "queues", 8, "queues of the topic on each broker, when it is made")
	s.IntVar(&f.connections, "connections", 1, "connections to each broker")
	s.DurationVar(&f.duration, "duration", duration, "how long to measure")
	s.Int64Var(&f.count, "count", 0, "measure so many messages in place of --duration")
	s.IntVar(&f.pid, "broker-pid", 0, "`PID` of the broker, to sample its CPU time and memory from /proc")
	s.BoolVar(&f.binary, "binary", false, "headers in RocketMQ's binary encoding in place of JSON")
}

func (f *benchFlags) producing(s *pflag.FlagSet) {
	s.IntVar(&f.inFlight, "in-flight", 64, "requests under way, over all connections (closed loop)")
	s.Float64Var(&f.rate, "rate", 0, "messages per second (open loop); 0 for as many as --in-flight brings")
	s.StringVar(&f.size, "size", "1KiB", "bytes of a message body")
	s.IntVar(&f.batch, "batch", 1, "messages in a request")
	s.StringVar(&f.tag, "tag", "", "tag of the messages, or of --tag-share of them")
	s.StringVar(&f.other, "other-tag", "other", "tag of the messages outside --tag-share")
	s.StringVar(&f.share, "tag-share", "100%", "part of the messages that have --tag: 1% or 0.01")
	s.StringArrayVar(&f.properties, "property", nil, "user property as NAME=TEXT or NAME=TEXT{LOW-HIGH}, a random whole number behind the text; may be repeated")
	s.BoolVar(&f.oneWay, "one-way", false, "don't ask for answers; what was stored is counted at the end")
	s.BoolVar(&f.sync, "sync", false, "one request under way on each connection, as a blocking producer has")
	s.BoolVar(&f.noUniqueKey, "no-unique-key", false, "leave out the UNIQ_KEY that RocketMQ's clients give to each message")
	s.IntVar(&f.delay, "delay-level", 0, "level by which the messages are delayed")
	s.BoolVar(&f.transaction, "transactions", false, "send half messages and commit each; counted are answered commits, and latency is from the half message on")
	s.DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to run before measuring; with --count none")
}

func (f *benchFlags) consuming(s *pflag.FlagSet) {
	s.StringVarP(&f.filter, "filter", "f", "*", "only messages that match: tags as 'A || B'")
	s.StringVar(&f.filterType, "filter-type", message.ExpressionTag, "language of --filter: TAG, SQL92, ...")
	s.Int32Var(&f.pullBatch, "pull-batch", 32, "most messages in an answer")
	s.StringVar(&f.group, "group", "weir_bench", "consumer group; its offsets aren't touched")
}

func (a *app) benchProduceCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "produce",
		Short: "measure sending",
		Example: "  weir bench produce --in-flight 1024 --connections 4\n  weir bench produce --sync\n" +
			"  weir bench produce --rate 20000 --duration 30s -o json\n  weir bench produce --batch 16 --broker-pid $(pidof weir)",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				p, err := f.produce(ctx, cl)
				if err != nil {
					return err
				}
				r, err := p.Run(ctx)
				return a.showResults(err, r)
			})
		},
	}
	f.common(c.Flags(), 10*time.Second)
	f.producing(c.Flags())
	return c
}

func (a *app) benchConsumeCommand() *cobra.Command {
	var f benchFlags
	var entries bool
	c := &cobra.Command{
		Use:   "consume",
		Short: "measure reading everything that a topic holds, by pull",
		Example: "  weir bench consume --topic bench --rounds 3\n" +
			"  weir bench consume --topic bench --filter hot --entries     entries scanned per second",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				k, err := f.consume(ctx, cl, true)
				if err != nil {
					return unknownTopic(f.topic, err)
				}
				r, err := k.Run(ctx)
				if r != nil && entries && r.Broker != nil {
					r.Broker.CPUMicrosPerEntry = r.Broker.CPUSeconds * 1e6 / float64(max(1, r.Entries))
				}
				return a.showResults(err, r)
			})
		},
	}
	f.common(c.Flags(), 0)
	f.consuming(c.Flags())
	c.Flags().IntVar(&f.rounds, "rounds", 1, "read everything so often")
	c.Flags().BoolVar(&entries, "entries", false, "report CPU time by scanned entry, filtered messages included")
	return c
}

func (a *app) benchBothCommand() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:     "both",
		Short:   "measure sending, reading, and how long messages take from one to the other",
		Example: "  weir bench both --rate 5000 --duration 20s",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.bench(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				p, err := f.produce(ctx, cl)
				if err != nil {
					return err
				}
				k, err := f.consume(ctx, cl, false)
				if err != nil {
					return err
				}
				produced, consumed, err := bench.RunBoth(ctx, p, k)
				return a.showResults(err, produced, consumed)
			})
		},
	}
	f.common(c.Flags(), 10*time.Second)
	f.producing(c.Flags())
	f.consuming(c.Flags())
	return c
}

// bench runs f until it ends or is interrupted; then what was measured so far is shown.
func (a *app) bench(ctx context.Context, f func(context.Context, *client.Client) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.with(ctx, f)
}

// produce makes the plan of sending, and the topic when it isn't there.
func (f *benchFlags) produce(ctx context.Context, cl *client.Client) (*bench.Produce, error) {
	size, err := plugin.ParseSize(f.size)
	if err != nil {
		return nil, usage(fmt.Errorf("--size: %w", err))
	}
	share, err := parseShare(f.share)
	if err != nil {
		return nil, err
	}
	properties, err := parseProperties(f.properties)
	if err != nil {
		return nil, err
	}
	if f.batch < 1 || f.connections < 1 || f.inFlight < 1 || f.rate < 0 {
		return nil, usage(errors.New("--batch, --connections and --in-flight are at least 1, and --rate isn't negative"))
	}
	if f.transaction && (f.batch > 1 || f.oneWay || f.delay > 0) {
		return nil, usage(errors.New("--transactions goes with none of --batch, --one-way and --delay-level"))
	}
	if f.delay < 0 || f.delay > 0 && f.batch > 1 {
		return nil, usage(errors.New("--delay-level isn't negative, and doesn't go with --batch"))
	}
	if f.sync {
		f.inFlight = f.connections
	}
	if f.count > 0 {
		f.warmup = 0
	}
	route, err := f.makeTopic(ctx, cl)
	if err != nil {
		return nil, err
	}
	p := &bench.Produce{Client: cl, Topic: f.topic, Group: "weir_bench_producer", Connections: f.connections, InFlight: f.inFlight, Rate: f.rate,
		Size: int(size), Batch: f.batch, Tag: f.tag, OtherTag: f.other, Share: share, Properties: properties, OneWay: f.oneWay, Binary: f.binary,
		NoUniqueKey: f.noUniqueKey, DelayLevel: f.delay, Transactions: f.transaction, Warmup: f.warmup, Duration: f.duration, Count: f.count, PID: f.pid}
	for _, q := range route.Write {
		p.Queues = append(p.Queues, bench.Queue{Addr: q.Addr, ID: q.ID})
	}
	if f.delay > 0 {
		return p, nil // what is delayed comes later
	}
	p.Ended = func(ctx context.Context) (int64, error) {
		var sum int64
		for _, q := range route.Write {
			n, err := cl.MaxOffset(context.WithoutCancel(ctx), q)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
	return p, nil
}

// makeTopic finds the topic's route, making the topic on every master when there is none.
func (f *benchFlags) makeTopic(ctx context.Context, cl *client.Client) (*client.Route, error) {
	route, err := cl.FetchRoute(ctx, f.topic)
	var said *message.Error
	if !errors.As(err, &said) || said.Code != message.TopicNotExist {
		return route, err
	}
	masters, err := cl.Masters(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(masters)) {
		if err := cl.CreateTopic(ctx, masters[name], wire.TopicConfig{TopicName: f.topic, ReadQueueNums: f.queues,
			WriteQueueNums: f.queues, Perm: 6}); err != nil {
			return nil, err
		}
	}
	if err := awaitRoute(ctx, cl, f.topic, true, 10*time.Second); err != nil {
		return nil, err
	}
	return cl.FetchRoute(ctx, f.topic)
}

// consume makes the plan of reading: everything that is there, or what comes from now on.
func (f *benchFlags) consume(ctx context.Context, cl *client.Client, drain bool) (*bench.Consume, error) {
	route, err := cl.FetchRoute(ctx, f.topic)
	if err != nil {
		return nil, err
	}
	k := &bench.Consume{Client: cl, Topic: f.topic, Group: f.group, Connections: f.connections, Batch: f.pullBatch, Filter: f.filter,
		FilterType: f.filterType, Rounds: f.rounds, Binary: f.binary, Duration: f.duration, Count: f.count, PID: f.pid}
	if err := f.makeGroup(ctx, cl, route); err != nil {
		return nil, err
	}
	for _, q := range route.Read {
		least, err := cl.MinOffset(ctx, q)
		if err != nil {
			return nil, err
		}
		end, err := cl.MaxOffset(ctx, q)
		if err != nil {
			return nil, err
		}
		at := bench.Position{Queue: bench.Queue{Addr: q.Addr, ID: q.ID}, From: least, To: end}
		if !drain {
			at.From = end
		}
		if !drain || end > least {
			k.Queues = append(k.Queues, at)
		}
	}
	if len(k.Queues) == 0 {
		return nil, fmt.Errorf("topic %s holds no messages; fill it with 'weir bench produce --topic %s'", f.topic, f.topic)
	}
	return k, nil
}

// makeGroup sees to it that the group may pull, where brokers don't make groups by themselves.
func (f *benchFlags) makeGroup(ctx context.Context, cl *client.Client, route *client.Route) error {
	for _, addr := range route.Brokers {
		groups, err := cl.GroupConfigs(ctx, addr)
		if err != nil {
			return err
		}
		if _, ok := groups[f.group]; ok {
			continue
		}
		g := wire.GroupConfig{}
		g.SetDefaults()
		g.GroupName = f.group
		if err := cl.CreateGroup(ctx, addr, g); err != nil {
			return err
		}
	}
	return nil
}

var propertyPattern = regexp.MustCompile(`^([^={}]+)=([^{}]*)(?:\{(\d{1,18})-(\d{1,18})\})?$`)

// parseProperties reads NAME=TEXT{LOW-HIGH}.
func parseProperties(list []string) (out []bench.Property, err error) {
	for _, s := range list {
		m := propertyPattern.FindStringSubmatch(s)
		if m == nil || !message.PropertyLegal(m[1], m[2]+m[3]) {
			return nil, usage(fmt.Errorf("--property %q: want NAME=TEXT, or NAME=TEXT{LOW-HIGH}", s))
		}
		p := bench.Property{Name: m[1], Text: m[2], Range: m[3] != ""}
		if p.Range {
			p.Low, _ = strconv.ParseInt(m[3], 10, 64)
			p.High, _ = strconv.ParseInt(m[4], 10, 64)
			if p.Low > p.High {
				return nil, usage(fmt.Errorf("--property %q: %d is more than %d", s, p.Low, p.High))
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// parseShare reads 1% or 0.01.
func parseShare(s string) (float64, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(num, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, usage(fmt.Errorf("--tag-share %q: want 0%% to 100%%, or 0 to 1", s))
	}
	return x, nil
}

// showResults prints results. One that came with an error, such as a process that can't be sampled, is shown all the same.
func (a *app) showResults(err error, results ...*bench.Result) error {
	results = slices.DeleteFunc(results, func(r *bench.Result) bool { return r == nil })
	if len(results) == 0 {
		return err
	}
	var v any = results
	if len(results) == 1 {
		v = results[0]
	}
	failed := false
	for _, r := range results {
		failed = failed || r.Messages == 0 && r.Failed > 0
	}
	perr := a.print(v, func() {
		for _, r := range results {
			a.showResult(r)
		}
	})
	if err == nil && perr == nil && failed {
		err = errors.New("every request failed")
	}
	return errors.Join(err, perr)
}

func (a *app) showResult(r *bench.Result) {
	var settings []string
	for _, k := range slices.Sorted(maps.Keys(r.Settings)) {
		settings = append(settings, fmt.Sprintf("%s %v", strings.ReplaceAll(k, "_", " "), r.Settings[k]))
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "  %-11s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", r.Mode, strings.Join(settings, ", "))
	line("messages", "%d in %.2f s: %.0f/s, %.1f MB/s", r.Messages, r.Seconds, r.Rate, r.MBRate)
	if r.Entries > r.Messages {
		line("entries", "%d scanned: %.0f/s", r.Entries, r.EntriesRate)
	}
	line("latency", "p50 %s  p90 %s  p99 %s  p99.9 %s  max %s", micros(r.Latency.P50), micros(r.Latency.P90),
		micros(r.Latency.P99), micros(r.Latency.P999), micros(r.Latency.Max))
	if e := r.EndToEnd; e != nil {
		line("end to end", "p50 %s  p90 %s  p99 %s  p99.9 %s  max %s", micros(e.P50), micros(e.P90), micros(e.P99), micros(e.P999), micros(e.Max))
	}
	if r.Stored > 0 {
		line("stored", "%d, warm-up included", r.Stored)
	}
	if r.Failed > 0 || len(r.Errors) > 0 {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(r.Errors)) {
			parts = append(parts, fmt.Sprintf("%s %d", k, r.Errors[k]))
		}
		line("failed", "%d messages; %s", r.Failed, strings.Join(parts, ", "))
	}
	if r.Late > 0 {
		line("unsent", "%d messages were due and never sent: too many were under way", r.Late)
	}
	a.showProcess("broker", r.Broker)
	a.showProcess("generator", r.Client)
}

func (a *app) showProcess(name string, p *bench.Process) {
	if p == nil {
		return
	}
	per := fmt.Sprintf("%.2f µs a message", p.CPUMicrosPerMessage)
	if p.CPUMicrosPerEntry > 0 {
		per = fmt.Sprintf("%.3f µs an entry", p.CPUMicrosPerEntry)
	}
	fmt.Fprintf(a.stdout, "  %-11s %.2f s CPU, %s; %.1f MiB resident, %.1f MiB without mapped files\n", name, p.CPUSeconds, per,
		float64(p.ResidentBytes)/(1<<20), float64(p.AnonymousBytes)/(1<<20))
}

// micros formats µs with a unit that fits.
func micros(us float64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%.0fµs", us)
	case us < 100_000:
		return fmt.Sprintf("%.2fms", us/1000)
	}
	return fmt.Sprintf("%.0fms", us/1000)
}
