//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
)

// The brokers that filters are measured on: weir asking its filters at each pull, weir with kept verdicts, and Java's.
const (
	weirAsks  = "asks"
	weirKeeps = "keeps"
	javaKind  = "java"
)

// filterCase is an expression and the part of the backlog that it matches.
type filterCase struct {
	name, kind, text string
	aim              float64 // how often Java's rate is hoped for without kept verdicts
	beside           string  // the case in whose place Java has nothing of the kind; "" for itself
}

const filterTopic = "bench_filter"

func filterCases() []filterCase {
	return []filterCase{
		{name: "tag, 0 %", kind: "TAG", text: "nothing", aim: 10},
		{name: "tag, 1 %", kind: "TAG", text: "hot", aim: 10},
		{name: "tag, 10 %", kind: "TAG", text: "warm", aim: 10},
		{name: "two predicates, 0 %", kind: "SQL92", text: "amount > 999 AND region = 'r1'", aim: 5},
		{name: "two predicates, 1 %", kind: "SQL92", text: "amount >= 900 AND region = 'r1'", aim: 5},
		{name: "two predicates, 10 %", kind: "SQL92", text: "amount >= 0 AND region = 'r1'", aim: 5},
		{name: "in of ten, 0 %", kind: "SQL92", text: "region IN ('x0','x1','x2','x3','x4','x5','x6','x7','x8','x9')", aim: 5},
		{name: "in of ten, 10 %", kind: "SQL92", text: "region IN ('r1','x1','x2','x3','x4','x5','x6','x7','x8','x9')", aim: 5},
	}
}

// fillFilterArgs sends the backlog: 256 bytes, six properties, in two parts so that one message in a hundred has one tag and one in
// ten another.
func fillFilterArgs(count int, tag, share string) []string {
	return append(strings.Fields("produce --topic "+filterTopic+" --in-flight 32 --batch 32 --size 256B --other-tag cold --tag "+tag+" --tag-share "+share+
		" --count "+strconv.Itoa(count)),
		"--property", "region=r{0-9}", "--property", "amount={0-999}", "--property", "customer=customer-{0-9999}",
		"--property", "price={0-99}", "--property", "kind=order", "--property", "channel=c{0-3}")
}

// filtered is what was measured of one case.
type filtered struct {
	filterCase
	samples map[string][]filterSample // by kind of broker
	first   filterSample              // of the broker that keeps verdicts, the first time: it judges then
}

type filterSample struct {
	entries    float64 // a second
	perEntry   float64 // µs of the broker's CPU time
	perMessage float64 // of those that match
	matched    int64
}

// runFilters is `bench filters`.
func runFilters(args []string) error {
	f := flag.NewFlagSet("bench filters", flag.ContinueOnError)
	messages := f.Int("messages", 2_000_000, "messages of the backlog, of about 450 bytes each; the full run has 10000000")
	rounds := f.Int("rounds", 3, "measurements of each broker; medians are reported")
	noJava := f.Bool("no-java", false, "leave Java's broker out")
	jvm := f.String("jvm", defaultJVM, "flags of Java's broker")
	dir := f.String("dir", "", "directory, on a disk, for stores; the default is that of the system")
	binary := f.String("weir", "bin/weir", "weir binary")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *messages < 10_000 || *rounds < 1 {
		return errors.New("--messages is at least 10000, --rounds 1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tmp, err := os.MkdirTemp(*dir, "weir-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	began := time.Now()
	b := &bench{binary: path, dir: tmp, jvm: strings.Fields(*jvm), log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%4.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	kinds := []string{weirAsks, weirKeeps}
	if !*noJava {
		kinds = append(kinds, javaKind)
		if b.jars, err = javamq.Install(ctx, javamq.Server4); err != nil {
			return fmt.Errorf("%w\n(--no-java measures weir alone)", err)
		}
	}
	m := describe(tmp)
	list, err := b.filters(ctx, kinds, *messages, *rounds)
	var sends []sendCost
	if err == nil {
		sends, err = b.sendCosts(ctx, *rounds)
	}
	m.LoadAfter = loadAverage()
	return errors.Join(err, writeFilters(os.Stdout, m, *messages, *rounds, list, sends))
}

// settings are what a kind of broker is started with beside the usual.
func filterSettings(kind string) (weir []string, java map[string]string) {
	switch kind {
	case weirAsks:
		return []string{"WEIR_QUEUES__VERDICTS__ENABLED=false"}, nil
	case javaKind:
		return nil, map[string]string{"enablePropertyFilter": "true"}
	}
	return nil, nil
}

// filters measures all cases on brokers of all kinds, one kind after the other: three backlogs in the page cache at a time
// would be too much for a small machine.
func (b *bench) filters(ctx context.Context, kinds []string, messages, rounds int) ([]*filtered, error) {
	var list []*filtered
	for _, c := range append(filterCases(), guestCases()...) {
		list = append(list, &filtered{filterCase: c, samples: map[string][]filterSample{}})
	}
	for _, kind := range kinds {
		if err := b.filtersOn(ctx, kind, messages, rounds, list); err != nil {
			return list, err
		}
	}
	return list, nil
}

func (b *bench) filtersOn(ctx context.Context, kind string, messages, rounds int, list []*filtered) error {
	br, err := b.startFor(ctx, kind)
	if err != nil {
		return err
	}
	defer func() {
		br.stop()
		_ = os.RemoveAll(br.home)
	}()
	b.log("sending %d messages to %s", messages, kind)
	for _, part := range [][]string{fillFilterArgs(messages/2, "hot", "2%"), fillFilterArgs(messages-messages/2, "warm", "20%")} {
		if r, err := b.load(ctx, br, part...); err != nil || r.Failed > 0 {
			return fmt.Errorf("fill %s: %w, %d messages were refused", kind, err, r.Failed)
		}
	}
	if kind == javaKind {
		b.log("warming java up")
		for _, c := range list {
			if c.beside != "" {
				continue
			}
			if _, err := b.scan(ctx, br, c, 1); err != nil {
				return err
			}
		}
	}
	for _, c := range list {
		if kind == javaKind && c.beside != "" {
			continue
		}
		if kind == weirKeeps {
			if c.first, err = b.scan(ctx, br, c, 1); err != nil {
				return err
			}
		}
		again := 1
		if kind == weirKeeps && c.kind == "SQL92" {
			again = 200 // a scan over bits is too short to be measured alone
		}
		for range rounds {
			s, err := b.scan(ctx, br, c, again)
			if err != nil {
				return err
			}
			c.samples[kind] = append(c.samples[kind], s)
		}
		last := c.samples[kind][rounds-1]
		b.log("%-6s %-22s %.1f M entries/s, %.4f µs CPU an entry", kind, c.name, last.entries/1e6, last.perEntry)
	}
	return nil
}

func (b *bench) startFor(ctx context.Context, kind string) (br *broker, err error) {
	b.weirEnv, b.javaProperties = filterSettings(kind)
	if kind != javaKind {
		if b.weirConfig, err = guestConfig(b.dir); err != nil {
			return nil, err
		}
	}
	as := "weir"
	if kind == javaKind {
		as = javaKind
	}
	return b.start(ctx, as, false)
}

// scan reads the backlog by an expression.
func (b *bench) scan(ctx context.Context, br *broker, c *filtered, rounds int) (filterSample, error) {
	if rounds > 1 && !strings.Contains(c.name, " 0 %") {
		rounds = 1 + rounds/50 // what matches is delivered each time
	}
	r, err := b.load(ctx, br, "consume", "--topic", filterTopic, "--connections", "2", "--filter", c.text, "--filter-type", c.kind, "--entries", "--rounds", strconv.Itoa(rounds))
	if err != nil {
		return filterSample{}, err
	}
	s := filterSample{entries: r.EntriesRate, perEntry: r.Broker.PerEntry, matched: r.Messages}
	if r.Messages > 0 {
		s.perMessage = r.Broker.CPUSeconds * 1e6 / float64(r.Messages)
	}
	return s, nil
}

// sendCost is what filters that are live for a topic cost its sends.
type sendCost struct {
	programs       int
	rate, cpu      float64
	judged, spared float64 // verdicts made at arrival, and left to the pull, for each message
}

// sendCosts measures sending to a topic for which 0, 1, 16 and 64 different expressions are live.
func (b *bench) sendCosts(ctx context.Context, rounds int) ([]sendCost, error) {
	var out []sendCost
	for _, programs := range []int{0, 1, 16, 64} {
		br, err := b.startFor(ctx, weirKeeps)
		if err != nil {
			return out, err
		}
		cost, err := b.sendCost(ctx, br, programs, rounds)
		br.stop()
		_ = os.RemoveAll(br.home)
		if err != nil {
			return out, err
		}
		out = append(out, cost)
		b.log("%d programs live: %.0f messages/s, %.2f µs CPU", programs, cost.rate, cost.cpu)
	}
	return out, nil
}

func (b *bench) sendCost(ctx context.Context, br *broker, programs, rounds int) (sendCost, error) {
	if _, err := b.load(ctx, br, fillFilterArgs(1000, "hot", "2%")...); err != nil {
		return sendCost{}, err
	}
	for i := range programs { // pulling makes an expression live for two minutes
		if _, err := b.load(ctx, br, "consume", "--topic", filterTopic, "--filter", fmt.Sprintf("amount >= %d AND region = 'r%d'", 900+i, i%10), "--filter-type", "SQL92"); err != nil {
			return sendCost{}, err
		}
	}
	var rates, cpus []float64
	args := slices.DeleteFunc(fillFilterArgs(0, "hot", "2%"), func(s string) bool { return s == "--count" || s == "0" })
	for i, a := range args {
		switch a {
		case "--in-flight":
			args[i+1] = "1024"
		case "--batch":
			args[i+1] = "1"
		}
	}
	before, err := br.figures(ctx)
	if err != nil {
		return sendCost{}, err
	}
	for range rounds {
		r, err := b.load(ctx, br, append(slices.Clone(args), "--warmup", "500ms", "--duration", "3s")...)
		if err != nil {
			return sendCost{}, err
		}
		rates, cpus = append(rates, r.Rate), append(cpus, r.Broker.PerMessage)
	}
	after, err := br.figures(ctx)
	if err != nil {
		return sendCost{}, err
	}
	stored := after["rocketmq_messages_in_total"] - before["rocketmq_messages_in_total"]
	each := func(name string) float64 { return ratio(after[name]-before[name], stored) }
	return sendCost{programs, median(rates), median(cpus), each("weir_filter_judged_arriving_total"), each("weir_filter_spared_arriving_total")}, nil
}

func writeFilters(w io.Writer, m machine, messages, rounds int, list []*filtered, sends []sendCost) error {
	fmt.Fprintf(w, "\n%s, %d processors, Linux %s, %s, %s; load %s before, %s after\n", m.CPU, m.Processors, m.Kernel, m.FileSystem, m.Go, m.LoadBefore, m.LoadAfter)
	fmt.Fprintf(w, "%s messages of 256 B with six properties; medians of %d rounds\n\n", count(float64(messages)), rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "filter, matches\tasks M/s\tµs CPU\tjava M/s\tµs CPU\t×\taim\t÷ CPU\tkeeps: first M/s\tthen M/s\tµs CPU an entry\tµs CPU a match\t")
	for _, c := range list {
		fmt.Fprintln(t, c.line(javaOf(list, c)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nM/s: million entries looked at, or passed over, a second. asks: verdicts aren't kept. keeps: first when they are made at the pull, then by bits")
	for i, s := range sends {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "sends with %2d filters live: %s messages/s (%.0f %% of those without), %.2f µs CPU a message; a message was judged by %.1f filters as it arrived and left to the pull by %.1f\n",
			s.programs, count(s.rate), 100*ratio(s.rate, sends[0].rate), s.cpu, s.judged, s.spared)
	}
	return nil
}

// javaOf returns Java's samples of a case, or of the one that it is compared with.
func javaOf(list []*filtered, c *filtered) []filterSample {
	for _, other := range list {
		if c.beside != "" && other.name == c.beside {
			return other.samples[javaKind]
		}
	}
	return c.samples[javaKind]
}

// medianSample returns the median of each figure.
func medianSample(list []filterSample) filterSample {
	pick := func(f func(filterSample) float64) float64 {
		var v []float64
		for _, s := range list {
			v = append(v, f(s))
		}
		return median(v)
	}
	return filterSample{entries: pick(func(s filterSample) float64 { return s.entries }), perEntry: pick(func(s filterSample) float64 { return s.perEntry }),
		perMessage: pick(func(s filterSample) float64 { return s.perMessage })}
}

func (c *filtered) line(ofJava []filterSample) string {
	asks, keeps, java := medianSample(c.samples[weirAsks]), medianSample(c.samples[weirKeeps]), medianSample(ofJava)
	mega := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return fmt.Sprintf("%.3g", x/1e6)
	}
	return strings.Join([]string{c.name, mega(asks.entries), micros(asks.perEntry), mega(java.entries), micros(java.perEntry), factor(ratio(asks.entries, java.entries)),
		factor(c.aim), factor(ratio(java.perEntry, asks.perEntry)), mega(c.first.entries), mega(keeps.entries), fmt.Sprintf("%.5f", keeps.perEntry), micros(keeps.perMessage)}, "\t") + "\t"
}
