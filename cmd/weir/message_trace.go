package main

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// traceEvent is one thing that happened to a message, as a client has told it.
type traceEvent struct {
	Event  string `json:"event"` // produced, delivered, consumed, transaction
	Time   int64  `json:"time"`  // ms
	Group  string `json:"group"`
	Topic  string `json:"topic,omitempty"`
	Host   string `json:"store_host,omitempty"` // where it was stored
	Cost   int64  `json:"cost_ms"`
	Result string `json:"result"`
	Retry  int    `json:"retry,omitempty"`
}

func (a *app) messageTraceCommand() *cobra.Command {
	var topic string
	c := &cobra.Command{
		Use:   "trace ID",
		Short: "show who produced and who consumed a message, as clients with tracing on have told it",
		Args:  exactArgs("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				ms, err := queryAll(ctx, cl, client.KeyQuery{Topic: topic, Key: args[0], Max: 64, End: math.MaxInt64})
				if err != nil {
					return err
				}
				events := []traceEvent{}
				for _, m := range ms {
					for _, e := range parseTrace(string(m.Body), args[0]) {
						if e.Time == 0 {
							e.Time = m.BornTimestamp // a client that doesn't tell when
						}
						events = append(events, e)
					}
				}
				if len(events) == 0 {
					return notFound("nobody has told what happened to %s: tracing is switched on in clients (enableMsgTrace)", args[0])
				}
				slices.SortStableFunc(events, func(x, y traceEvent) int { return int(x.Time - y.Time) })
				return a.print(events, func() { a.showTrace(events) })
			})
		},
	}
	c.Flags().StringVar(&topic, "trace-topic", message.TopicTrace, "where clients send what they tell")
	return c
}

func (a *app) showTrace(events []traceEvent) {
	rows := make([][]any, len(events))
	for i, e := range events {
		rows[i] = []any{clockOf(e.Time), e.Event, printable(e.Group), printable(e.Topic), printable(e.Host), e.Cost, printable(e.Result)}
	}
	a.table(columns("time", "event", "group", "topic", "stored at", "#ms", "result"), rows, "")
}

// The separators of RocketMQ's trace: fields of an event, and events.
const (
	traceField = "\x01"
	traceEnd   = "\x02"
)

// parseTrace reads what a trace message tells about one id. Lines it doesn't understand are left out.
func parseTrace(body, id string) (out []traceEvent) {
	for line := range strings.SplitSeq(body, traceEnd) {
		f := strings.Split(line, traceField)
		number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
		result := func(i int) string {
			if f[i] == "true" {
				return "success"
			}
			return "failed"
		}
		switch {
		case f[0] == "Pub" && len(f) >= 13 && f[5] == id:
			done := 13 // behind the offset id, which old clients don't tell
			if len(f) == 13 {
				done = 12
			}
			out = append(out, traceEvent{Event: "produced", Time: number(1), Group: f[3], Topic: f[4], Host: f[8], Cost: number(10), Result: result(done)})
		case f[0] == "SubBefore" && len(f) >= 8 && f[5] == id:
			out = append(out, traceEvent{Event: "delivered", Time: number(1), Group: f[3], Retry: int(number(6)), Result: "retry " + f[6]})
		case f[0] == "SubAfter" && len(f) >= 6 && f[2] == id:
			e := traceEvent{Event: "consumed", Cost: number(3), Result: result(4)}
			if len(f) >= 9 {
				e.Time, e.Group = number(7), f[8]
			}
			out = append(out, e)
		case f[0] == "EndTransaction" && len(f) >= 13 && f[5] == id:
			out = append(out, traceEvent{Event: "transaction", Time: number(1), Group: f[3], Topic: f[4], Host: f[8], Result: f[11]})
		}
	}
	return out
}
