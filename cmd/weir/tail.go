package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// tailGroup is a group that every broker has, so that looking at a topic leaves no group behind.
const tailGroup = message.GroupTools

// tailFlags say what is shown.
type tailFlags struct {
	from       string
	filter     string
	filterType string
	count      int64
	properties bool
}

// shown is one message in machine output: one JSON document a line.
type shown struct {
	Topic      string            `json:"topic"`
	Broker     string            `json:"broker"`
	Queue      int32             `json:"queue"`
	Offset     int64             `json:"offset"`
	ID         string            `json:"id"`
	Tag        string            `json:"tag,omitempty"`
	Stored     string            `json:"stored"`
	Born       string            `json:"born"`
	Properties map[string]string `json:"properties"`
	Body       string            `json:"body"`
	Encoding   string            `json:"body_encoding,omitempty"` // base64 when the body is no text
}

func (a *app) tailCommand() *cobra.Command {
	var f tailFlags
	c := &cobra.Command{
		Use:               "tail TOPIC",
		ValidArgsFunction: a.completeTopic(),
		Short:             "show messages as they arrive, until interrupted; consumes nothing",
		Long: "Show messages as they arrive, until interrupted or --count are shown.\n\n" +
			"No group is touched: nothing is consumed or committed. A topic that doesn't exist yet is waited for.",
		Example: "  weir tail orders --from first --filter 'created || paid'\n  weir tail orders -o json | jq .body",
		Args:    exactArgs("TOPIC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := message.CheckTopic(args[0]); err != nil {
				return usage(err)
			}
			if _, _, err := parseFrom(f.from); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			err := a.with(ctx, func(ctx context.Context, cl *client.Client) error { return a.tail(ctx, cl, args[0], &f) })
			if ctx.Err() != nil && cmd.Context().Err() == nil {
				return nil // interrupted, which is how it ends
			}
			return err
		},
	}
	c.Flags().StringVar(&f.from, "from", "last", "where to begin: first, last, or a time (RFC 3339, or how long ago: 10m)")
	c.Flags().StringVarP(&f.filter, "filter", "f", "*", "only messages that match: tags as 'A || B'")
	c.Flags().StringVar(&f.filterType, "filter-type", message.ExpressionTag, "language of --filter: TAG, SQL92, ...")
	c.Flags().Int64VarP(&f.count, "count", "c", 0, "end after so many messages")
	c.Flags().BoolVar(&f.properties, "properties", false, "show properties")
	return a.clientCommand(c)
}

// parseFrom reads --from: a word, or a time in ms.
func parseFrom(s string) (word string, at int64, err error) {
	switch s {
	case "first", "last":
		return s, 0, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return "", t.UnixMilli(), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return "", time.Now().Add(-d).UnixMilli(), nil
	}
	return "", 0, usage(fmt.Errorf("--from %q: want first, last, a time such as 2026-01-31T12:00:00Z, or how long ago, such as 10m", s))
}

// tailing is one run of tail.
type tailing struct {
	app    *app
	client *client.Client
	topic  string
	flags  *tailFlags
	cancel context.CancelCauseFunc

	mu    sync.Mutex // guards what follows, and the output
	seen  map[string]bool
	shown int64
	tags  *message.Tags
}

// errEnough ends tail when --count messages were shown.
var errEnough = errors.New("enough")

func (a *app) tail(ctx context.Context, cl *client.Client, topic string, f *tailFlags) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &tailing{app: a, client: cl, topic: topic, flags: f, cancel: cancel, seen: map[string]bool{}}
	if f.filterType == message.ExpressionTag {
		tags, err := message.ParseTags(f.filter)
		if err != nil {
			return usage(err)
		}
		t.tags = &tags
	}
	var wg sync.WaitGroup
	err := t.watch(ctx, &wg)
	cancel(err)
	wg.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, errEnough) && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// watch looks for the topic's queues, now and then again, and follows each.
func (t *tailing) watch(ctx context.Context, wg *sync.WaitGroup) error {
	waiting, late := false, false
	for {
		route, err := t.client.FetchRoute(ctx, t.topic)
		var said *message.Error
		switch {
		case err == nil:
			for _, q := range route.Read {
				if !t.seen[q.String()] {
					t.seen[q.String()] = true
					fromStart := late // a queue that is made while we watch is shown from its beginning
					wg.Go(func() { t.cancel(t.follow(ctx, q, fromStart)) })
				}
			}
			late, waiting = true, false
		case errors.As(err, &said) && said.Code == message.TopicNotExist:
			if !waiting && len(t.seen) == 0 {
				fmt.Fprintf(t.app.stderr, "there is no topic %s yet; waiting for it\n", t.topic)
			}
			waiting, late = true, true
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return err
		}
		pause := 10 * time.Second
		if waiting {
			pause = 200 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// follow shows one queue until ctx is done.
func (t *tailing) follow(ctx context.Context, q client.Queue, fromStart bool) error {
	offset, err := t.begin(ctx, q, fromStart)
	if err != nil {
		return err
	}
	sub := &client.Subscription{Topic: t.topic, Expression: t.flags.filter, Type: t.flags.filterType}
	failures := 0
	for ctx.Err() == nil {
		r, err := t.client.Pull(ctx, client.PullRequest{Queue: q, Group: tailGroup, Offset: offset, Hold: 15 * time.Second,
			Subscription: sub, Commit: -1})
		if err != nil {
			var said *message.Error
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.As(err, &said) && said.Code != message.SystemBusy && said.Code != message.SystemError {
				return err
			}
			if failures++; failures == 1 {
				fmt.Fprintf(t.app.stderr, "%s; trying again\n", err)
			}
			if failures > 30 {
				return err
			}
			if err := sleepFor(ctx, time.Second); err != nil {
				return err
			}
			continue
		}
		failures, offset = 0, r.Next
		if err := t.show(r.Messages); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin finds the first offset.
func (t *tailing) begin(ctx context.Context, q client.Queue, fromStart bool) (int64, error) {
	word, at, err := parseFrom(t.flags.from)
	switch {
	case err != nil:
		return 0, err
	case fromStart || word == "first":
		return t.client.MinOffset(ctx, q)
	case word == "last":
		return t.client.MaxOffset(ctx, q)
	}
	return t.client.SearchOffset(ctx, q, at)
}

// show writes messages.
func (t *tailing) show(ms []*client.Received) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range ms {
		if t.tags != nil && !t.tags.All && !slices.Contains(t.tags.Names, m.Tag) {
			continue // another tag with the same hash
		}
		if t.flags.count > 0 && t.shown >= t.flags.count {
			return errEnough
		}
		t.shown++
		if err := t.app.showMessage(m, t.flags.properties); err != nil {
			return err
		}
	}
	if t.flags.count > 0 && t.shown >= t.flags.count {
		return errEnough
	}
	return nil
}

// shownOf is a message as it is shown to machines.
func shownOf(m *client.Received) shown {
	s := shown{Topic: m.Topic, Broker: m.Queue.Broker, Queue: m.Queue.ID, Offset: m.Offset, ID: m.ID, Tag: m.Tag,
		Stored: time.UnixMilli(m.StoreTimestamp).Format(time.RFC3339Nano), Born: time.UnixMilli(m.BornTimestamp).Format(time.RFC3339Nano),
		Properties: m.Properties, Body: string(m.Body)}
	if !utf8.Valid(m.Body) {
		s.Body, s.Encoding = base64.StdEncoding.EncodeToString(m.Body), "base64"
	}
	return s
}

// decodeBody undoes that.
func decodeBody(body, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(body), nil
	case "base64":
		return base64.StdEncoding.DecodeString(body)
	}
	return nil, fmt.Errorf("body_encoding %q: want base64, or nothing for text", encoding)
}

// showMessage writes one message: a line for people, or a document.
func (a *app) showMessage(m *client.Received, properties bool) error {
	s := shownOf(m)
	switch a.format {
	case formatJSON:
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s\n", b)
		return err
	case formatYAML:
		if _, err := fmt.Fprintln(a.stdout, "---"); err != nil {
			return err
		}
		return a.print(s, nil)
	}
	body := s.Body
	if s.Encoding != "" {
		body = fmt.Sprintf("(%d bytes, base64) %s", len(m.Body), s.Body)
	}
	_, err := fmt.Fprintf(a.stdout, "%s %s  %s\n", time.UnixMilli(m.StoreTimestamp).Format("15:04:05.000"), s.place(), printable(body))
	if properties && err == nil {
		err = a.showProperties(m.Properties)
	}
	return err
}

// place says in which queue and at which offset a message stands, and its tag.
func (s *shown) place() string {
	place := fmt.Sprintf("%d/%d", s.Queue, s.Offset)
	if s.Tag != "" {
		place += " [" + s.Tag + "]"
	}
	return place
}

// showProperties writes the properties of a message below it, a line each.
func (a *app) showProperties(properties map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		if _, err := fmt.Fprintf(a.stdout, "    %s=%s\n", k, printable(properties[k])); err != nil {
			return err
		}
	}
	return nil
}

// printable keeps control characters of a message from reaching a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0x7f {
			return '·'
		}
		return r
	}, s)
}
