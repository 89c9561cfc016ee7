package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// replayFlags say which messages an expression is tried on.
type replayFlags struct {
	filterFlags
	topic string
	last  int64
	from  string
	file  string
	show  int
}

// replayed is what `filter test` finds.
type replayed struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Messages int    `json:"messages"`
	// RuledOut were by the queue's index, and not judged.
	RuledOut    int     `json:"ruled_out_by_index"`
	Judged      int     `json:"judged"`
	Matched     int     `json:"matched"`
	Rejected    int     `json:"rejected"` // ruled out or false
	Unknown     int     `json:"unknown"`
	Raised      int     `json:"raised"`
	Undecided   int     `json:"undecided"`
	Selectivity float64 `json:"selectivity"`
	Nanos       float64 `json:"ns_per_judged_message"`
	Interrupted bool    `json:"interrupted,omitempty"`
	Fault       string  `json:"fault,omitempty"`
	// Stages are those that an entry has to pass, in their order.
	Stages   []stagePassed `json:"stages"`
	Kept     *keptOf       `json:"kept,omitempty"`
	Warnings []string      `json:"warnings"`
	Shown    []shown       `json:"shown,omitempty"`

	took time.Duration
}

func (a *app) filterTestCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "test EXPRESSION",
		Short: "try an expression on messages that a topic has, or on those of a file",
		Long: "Try an expression on messages that a topic has, or on those of a file.\n\n" +
			"The messages are read from the brokers and judged in this process, by the filters of the configuration. No group is touched:\n" +
			"nothing is consumed or committed. --last counts in all queues together and takes as many from each.\n\n" +
			"A file has a JSON object a line, as 'weir tail -o json' writes them: properties, tag, body, body_encoding.",
		Example: "  weir filter test \"amount > 100\" --topic orders --last 100000\n  weir filter test \"a LIKE 'x%'\" --dialect strict --file messages.jsonl --show 5",
		Args:    exactArgs("EXPRESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (f.topic == "") == (f.file == "") {
				return usage(errors.New("say what to try the expression on: --topic or --file"))
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, err := a.replay(ctx, &f, args[0])
			if err != nil {
				return a.refuse(err, args[0])
			}
			return a.print(r, func() { a.showReplayed(r) })
		},
	}
	f.flags(c)
	c.Flags().StringVar(&f.topic, "topic", "", "the `TOPIC` whose messages are read")
	c.Flags().Int64Var(&f.last, "last", 10_000, "how many of the newest messages")
	c.Flags().StringVar(&f.from, "from", "", "instead of --last, where to begin: first, or a time (RFC 3339, or how long ago: 10m)")
	c.Flags().StringVar(&f.file, "file", "", "a `FILE` of messages, - for standard input")
	c.Flags().IntVar(&f.show, "show", 0, "show so many messages that match")
	_ = c.RegisterFlagCompletionFunc("topic", a.completeTopic())
	return c
}

func (a *app) replay(ctx context.Context, f *replayFlags, text string) (*replayed, error) {
	p, err := a.compile(ctx, &f.filterFlags, "", text)
	if err != nil {
		return nil, err
	}
	defer p.close()
	r := &replaying{app: a, flags: f, program: p.Program, out: &replayed{Type: f.kind, Text: text, Warnings: append([]string{}, p.Warnings()...)}}
	r.index, _ = p.Program.(filter.IndexMatcher)
	if d, ok := p.Program.(filter.Describer); ok {
		r.about = d.Describe()
	}
	if len(r.about.Parts) > 1 {
		r.cheap, _ = p.Program.(filter.Prefilter)
	}
	if f.file != "" {
		err = r.file(ctx, f.file)
	} else {
		if err := message.CheckTopic(f.topic); err != nil {
			return nil, usage(err)
		}
		err = a.with(ctx, func(ctx context.Context, cl *client.Client) error { return r.topic(ctx, cl) })
		r.progress(true)
	}
	if errors.Is(err, context.Canceled) {
		r.out.Interrupted, err = true, nil // it prints what it has
	}
	r.finish()
	return r.out, err
}

// replaying is one run of `filter test`.
type replaying struct {
	app     *app
	flags   *replayFlags
	program filter.Program
	index   filter.IndexMatcher
	cheap   filter.Prefilter // nil when there is one part only
	about   filter.Description
	out     *replayed

	final  bool // the index decides
	passed int  // the cheap part

	total    int64 // messages to expect
	told     time.Time
	batch    filter.Batch
	all      []*client.Received
	some     []*client.Received
	keep     [filter.BatchMax / 64]uint64
	verdicts filter.Verdicts
}

// topic reads the messages of a topic, queue by queue.
func (r *replaying) topic(ctx context.Context, cl *client.Client) error {
	route, err := cl.FetchRoute(ctx, r.flags.topic)
	if err != nil {
		return unknownTopic(r.flags.topic, err)
	}
	r.kept(ctx, cl, r.flags.topic, route.Read)
	type part struct {
		queue    client.Queue
		from, to int64
	}
	var parts []part
	each := (r.flags.last + int64(max(1, len(route.Read))) - 1) / int64(max(1, len(route.Read)))
	for _, q := range route.Read {
		low, err := cl.MinOffset(ctx, q)
		if err != nil {
			return err
		}
		high, err := cl.MaxOffset(ctx, q)
		if err != nil {
			return err
		}
		from := max(low, high-each)
		if r.flags.from != "" {
			if from, err = r.begin(ctx, cl, q, low); err != nil {
				return err
			}
		}
		parts = append(parts, part{q, from, high})
		r.total += max(0, high-from)
	}
	for _, x := range parts {
		for offset := x.from; offset < x.to; {
			res, err := cl.Pull(ctx, client.PullRequest{Queue: x.queue, Group: tailGroup, Offset: offset, Max: filter.BatchMax, Commit: -1, Records: true,
				Subscription: &client.Subscription{Topic: r.flags.topic}})
			if err != nil {
				return err
			}
			ms := slices.DeleteFunc(res.Messages, func(m *client.Received) bool { return m.Offset >= x.to })
			if err := r.judge(ctx, ms); err != nil {
				return err
			}
			if res.Next <= offset {
				break // the queue has changed under us
			}
			offset = res.Next
		}
	}
	return nil
}

func (r *replaying) begin(ctx context.Context, cl *client.Client, q client.Queue, low int64) (int64, error) {
	word, at, err := parseFrom(r.flags.from)
	if err != nil || word == "first" {
		return low, err
	}
	if word == "last" {
		return 0, usage(errors.New("--from last leaves no messages to try the expression on"))
	}
	return cl.SearchOffset(ctx, q, at)
}

// fileMessage is a line of a file.
type fileMessage struct {
	Topic      string            `json:"topic"`
	Tag        string            `json:"tag"`
	Properties map[string]string `json:"properties"`
	Body       string            `json:"body"`
	Encoding   string            `json:"body_encoding"`
}

// lineMax is the longest line of a file: a message of 4 MiB in base64 and its properties.
const lineMax = 8 << 20

// file reads messages of a file.
func (r *replaying) file(ctx context.Context, name string) error {
	in := r.app.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usage(err)
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax)
	var list []*client.Received
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		m, err := readMessage(lines.Bytes())
		if err != nil {
			return usage(fmt.Errorf("%s, line %d: %w", name, n, err))
		}
		if list = append(list, m); len(list) == filter.BatchMax {
			if err := r.judge(ctx, list); err != nil {
				return err
			}
			list = list[:0]
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return r.judge(ctx, list)
}

// readMessage makes a message of a line, and the record that a broker would store.
func readMessage(line []byte) (*client.Received, error) {
	var in fileMessage
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	body, err := decodeBody(in.Body, in.Encoding)
	if err != nil {
		return nil, err
	}
	if in.Properties == nil {
		in.Properties = map[string]string{}
	}
	if in.Tag != "" {
		in.Properties[message.PropTags] = in.Tag
	}
	m := &client.Received{Topic: in.Topic, Tag: in.Properties[message.PropTags], Properties: in.Properties, Body: body}
	var props message.Properties
	for _, k := range slices.Sorted(maps.Keys(in.Properties)) {
		if !message.PropertyLegal(k, in.Properties[k]) {
			return nil, fmt.Errorf("no message can have the property %q with the value %q", k, in.Properties[k])
		}
		props = message.AppendProperty(props, k, in.Properties[k])
	}
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	m.Record, err = message.AppendRecord(nil, &message.Message{Topic: in.Topic, BornHost: host, StoreHost: host, Body: body, Properties: props})
	return m, err
}

// judge takes messages in as a broker would at a pull: first the index, then, of those that are left, the program.
func (r *replaying) judge(ctx context.Context, ms []*client.Received) error {
	for part := range slices.Chunk(ms, filter.BatchMax) {
		if err := r.judgeBatch(ctx, part); err != nil {
			return err
		}
	}
	r.progress(false)
	return ctx.Err()
}

func (r *replaying) judgeBatch(ctx context.Context, ms []*client.Received) error {
	out, b := r.out, &r.batch
	n := len(ms)
	out.Messages += n
	b.Topic, b.TagsCodes, b.Records, r.some = ms[0].Topic, b.TagsCodes[:0], b.Records[:0], r.some[:0]
	for _, m := range ms {
		code := int64(0)
		if m.Tag != "" {
			code = message.TagsCode(m.Tag)
		}
		b.TagsCodes = append(b.TagsCodes, code)
	}
	keep := r.keep[:(n+63)/64]
	for i := range keep {
		keep[i] = ^uint64(0)
	}
	began, final := time.Now(), false
	if r.index != nil {
		final = r.index.MatchIndex(b.TagsCodes, keep)
	}
	codes := slices.Clone(b.TagsCodes)
	b.TagsCodes = b.TagsCodes[:0]
	for i, m := range ms {
		if !filter.HasBit(keep, i) {
			out.RuledOut++
			continue
		}
		b.TagsCodes, b.Records, r.some = append(b.TagsCodes, codes[i]), append(b.Records, m.Record), append(r.some, m)
	}
	if r.final = final; final {
		out.took += time.Since(began)
		out.Judged += n
		for _, m := range r.some {
			r.matched(m)
		}
		return nil
	}
	r.verdicts.Reset(b.Len())
	if err := r.program.Match(ctx, b, &r.verdicts); err != nil {
		return err
	}
	out.took += time.Since(began)
	out.Judged += b.Len()
	if r.cheap != nil {
		for i := range keep {
			keep[i] = ^uint64(0)
		}
		r.cheap.MatchCheap(b, keep)
		for i := range r.some {
			if filter.HasBit(keep, i) {
				r.passed++
			}
		}
	}
	for i, m := range r.some {
		switch v := &r.verdicts; {
		case filter.HasBit(v.True, i):
			r.matched(m)
		case filter.HasBit(v.Unknown, i):
			out.Unknown++
		case filter.HasBit(v.Raise, i):
			out.Raised++
		case filter.HasBit(v.Undecided, i):
			out.Undecided++
		}
	}
	return nil
}

func (r *replaying) matched(m *client.Received) {
	if r.out.Matched++; len(r.all) < r.flags.show {
		r.all = append(r.all, m)
	}
}

// finish computes the rest of the result.
func (r *replaying) finish() {
	out := r.out
	out.Rejected = out.Messages - out.Matched - out.Unknown - out.Raised - out.Undecided
	if out.Messages > 0 {
		out.Selectivity = float64(out.Matched) / float64(out.Messages)
	}
	if out.Judged > 0 {
		out.Nanos = float64(out.took.Nanoseconds()) / float64(out.Judged)
	}
	r.stages()
	if e, ok := r.program.(filter.Explainer); ok && out.Undecided > 0 && e.Fault() != nil {
		out.Fault = e.Fault().Error()
	}
	for _, m := range r.all {
		out.Shown = append(out.Shown, shownOf(m))
	}
}

// progressEvery is how often progress is told, on a terminal.
const progressEvery = 200 * time.Millisecond

// progress tells how far the messages of a topic have been read.
func (r *replaying) progress(done bool) {
	w := r.app.stderr
	if !terminal(w) || r.total == 0 {
		return
	}
	if done {
		fmt.Fprint(w, "\r\x1b[K")
		return
	}
	if time.Since(r.told) < progressEvery {
		return
	}
	r.told = time.Now()
	const width = 30
	full := int(min(width, width*int64(r.out.Messages)/r.total))
	fmt.Fprintf(w, "\r\x1b[K[%s%s] %d of %d messages, %d match", strings.Repeat("=", full), strings.Repeat(" ", width-full), r.out.Messages, r.total, r.out.Matched)
}

func (a *app) showReplayed(r *replayed) {
	if r.Messages == 0 {
		fmt.Fprintln(a.stderr, "there was no message to try the expression on")
		return
	}
	percent := func(n int) string { return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(r.Messages)) }
	rows := [][]any{{"messages", r.Messages, ""}}
	if r.RuledOut > 0 {
		rows = append(rows, []any{"ruled out by the index", r.RuledOut, percent(r.RuledOut)})
		if r.Judged < r.Messages {
			rows = append(rows, []any{"judged", r.Judged, percent(r.Judged)})
		}
	}
	rows = append(rows, []any{"matched", r.Matched, percent(r.Matched)}, []any{"rejected", r.Rejected, percent(r.Rejected)},
		[]any{"unknown", r.Unknown, percent(r.Unknown)}, []any{"raised", r.Raised, percent(r.Raised)})
	if r.Undecided > 0 {
		rows = append(rows, []any{"undecided", r.Undecided, percent(r.Undecided)})
	}
	a.table(columns("what", "#messages", "#share"), rows, "")
	a.showStages(r)
	if r.Judged > 0 {
		fmt.Fprintf(a.stdout, "\n%.0f ns for each message that was judged\n", r.Nanos)
	} else {
		fmt.Fprint(a.stdout, "\nno message had to be judged\n")
	}
	if r.Interrupted {
		fmt.Fprintln(a.stderr, "interrupted: these are the messages up to then")
	}
	if r.Fault != "" {
		fmt.Fprintf(a.stdout, "undecided because: %s\n", r.Fault)
	}
	a.showDoubts("warning", r.Text, r.Warnings)
	for i, m := range r.Shown {
		if i == 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintf(a.stdout, "%s  %s\n", m.place(), printable(m.Body))
		_ = a.showProperties(m.Properties)
	}
}
