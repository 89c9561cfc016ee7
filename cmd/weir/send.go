package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/client"
)

// sendFlags say what is sent.
type sendFlags struct {
	tag, queueKey string
	keys          []string
	properties    []string
	delay         int
	after         time.Duration
	at            string
	count         int
	lines         bool
	producer      string
}

// sent is one stored message.
type sent struct {
	Topic    string `json:"topic"`
	Broker   string `json:"broker"`
	Queue    int32  `json:"queue"`
	Offset   int64  `json:"offset"`
	ID       string `json:"id"`
	OffsetID string `json:"offset_id"`
	Status   string `json:"status"`
	Recall   string `json:"recall_handle,omitempty"`
}

func (a *app) sendCommand() *cobra.Command {
	var f sendFlags
	c := &cobra.Command{
		Use:               "send TOPIC [BODY]",
		ValidArgsFunction: a.completeTopic(),
		Short:             "send a message; without BODY, or with -, it is read from standard input",
		Example: "  weir send orders '{\"id\":1}' --tag created --key order-1\n" +
			"  weir send orders --lines < orders.txt\n" +
			"  weir send orders 'pay by now' --after 36h",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ms, err := a.messages(&f, args)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(ctx context.Context, cl *client.Client) error {
				return a.send(ctx, cl, &f, ms)
			})
		},
	}
	c.Flags().StringVarP(&f.tag, "tag", "t", "", "tag")
	c.Flags().StringSliceVarP(&f.keys, "key", "k", nil, "index keys, several with commas")
	c.Flags().StringArrayVarP(&f.properties, "property", "p", nil, "user property as `NAME=VALUE`; may be repeated")
	c.Flags().StringVar(&f.queueKey, "queue-key", "", "messages with the same key go to the same queue")
	c.Flags().IntVar(&f.delay, "delay-level", 0, "RocketMQ's delay level, 1 to 18")
	c.Flags().DurationVar(&f.after, "after", 0, "deliver it so much later, such as 90s or 36h")
	c.Flags().StringVar(&f.at, "at", "", "deliver it at that `TIME`, such as 2027-01-31T09:30:00Z")
	c.Flags().IntVar(&f.count, "count", 1, "send it so many times")
	c.Flags().BoolVar(&f.lines, "lines", false, "send each line of standard input as a message")
	c.Flags().StringVar(&f.producer, "producer-group", "weir_cli", "producer group")
	return a.clientCommand(c)
}

// deliverAt returns when the messages are to be delivered, zero for at once.
func (f *sendFlags) deliverAt(now time.Time) (time.Time, error) {
	switch {
	case f.delay != 0 && (f.after != 0 || f.at != "") || f.after != 0 && f.at != "":
		return time.Time{}, usage(errors.New("--delay-level, --after and --at say the same in three ways: choose one"))
	case f.after < 0:
		return time.Time{}, usage(fmt.Errorf("--after %v is in the past", f.after))
	case f.after > 0:
		return now.Add(f.after), nil
	case f.at == "":
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, f.at)
	if err != nil {
		return time.Time{}, usage(fmt.Errorf("--at %q is no time: want year, month, day, time and zone as in 2027-01-31T09:30:00Z or 2027-01-31T09:30:00+02:00", f.at))
	}
	if !at.After(now) {
		return time.Time{}, usage(fmt.Errorf("--at %s is in the past", f.at))
	}
	return at, nil
}

// messages makes what is to be sent.
func (a *app) messages(f *sendFlags, args []string) ([]*client.Message, error) {
	topic := args[0]
	if err := message.CheckTopic(topic); err != nil {
		return nil, usage(err)
	}
	props := map[string]string{}
	for _, p := range f.properties {
		name, value, ok := strings.Cut(p, "=")
		switch {
		case !ok || name == "":
			return nil, usage(fmt.Errorf("--property %q: want NAME=VALUE", p))
		case message.ReservedProperty(name):
			return nil, usage(fmt.Errorf("--property %s: the name is RocketMQ's own", name))
		case !message.PropertyLegal(name, value):
			return nil, usage(fmt.Errorf("--property %s: name and value can't be empty or hold the characters 1 and 2", name))
		}
		props[name] = value
	}
	at, err := f.deliverAt(time.Now())
	if err != nil {
		return nil, err
	}
	var bodies []string
	switch {
	case len(args) == 2 && args[1] != "-" && f.lines:
		return nil, usage(errors.New("--lines reads standard input; leave BODY out"))
	case len(args) == 2 && args[1] != "-":
		bodies = []string{args[1]}
	default:
		all, err := io.ReadAll(io.LimitReader(a.stdin, 1<<30))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		bodies = []string{strings.TrimSuffix(string(all), "\n")}
		if f.lines {
			bodies = strings.Split(bodies[0], "\n")
		}
	}
	var ms []*client.Message
	for range max(1, f.count) {
		for _, b := range bodies {
			ms = append(ms, &client.Message{Topic: topic, Tag: f.tag, Keys: f.keys, Properties: props, Body: []byte(b),
				DelayLevel: f.delay, DeliverAt: at, QueueKey: f.queueKey})
		}
	}
	return ms, nil
}

// send sends the messages one after the other and says where each is.
func (a *app) send(ctx context.Context, cl *client.Client, f *sendFlags, ms []*client.Message) error {
	p := cl.Producer(f.producer)
	var all []sent
	for _, m := range ms {
		r, err := p.Send(ctx, m)
		if err != nil {
			return unknownTopic(m.Topic, err)
		}
		one := sent{m.Topic, r.Queue.Broker, r.Queue.ID, r.Offset, r.ID, r.OffsetID, r.Code.String(), r.RecallHandle}
		all = append(all, one)
		if a.format == formatTable {
			note := ""
			if r.Code != message.Success {
				note = "  (" + r.Code.String() + ")"
			}
			fmt.Fprintf(a.stdout, "stored in %s, queue %d of %s, offset %d  id %s%s\n", m.Topic, one.Queue, one.Broker, one.Offset, one.ID, note)
			if !m.DeliverAt.IsZero() {
				fmt.Fprintf(a.stdout, "  waits until %s; take it back with: weir message recall %s\n", m.DeliverAt.Format(time.RFC3339), one.Recall)
			}
		}
	}
	if a.format == formatTable {
		return nil
	}
	if len(all) == 1 {
		return a.print(all[0], nil)
	}
	return a.print(all, nil)
}
