package scenario

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
)

// requests asks from the first process and answers in the second: every request gets its own answer, and one that nobody answers ends by
// its time.
func requests(t *testing.T, w *world) {
	const topic, askers = "RequestTopic", 8
	w.topic(t, topic, 2)
	w.second.Replier(t, w.consumer("replier", topic))
	r := w.first.Requester(t, agent.ProducerOptions{Name: "requester", Group: "requesters", NameServer: w.broker.NameServer()})
	defer r.Stop(t)
	if answer, err := r.Request(topic, "silence", 1000); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("silence answered %q, %v", answer, err)
	}
	// The broker finds who asked by a heartbeat. The Go client, unlike Java's, doesn't send one before its first question.
	w.awaitProducer(t, "requesters-producer")
	var all sync.WaitGroup
	for i := range askers {
		all.Go(func() {
			question := fmt.Sprintf("%d+1", i)
			answer, err := r.Request(topic, question, 60_000)
			if want := fmt.Sprintf("1+%d", i); err != nil || answer != want {
				t.Errorf("asked %s and got %q, %v; want %s", question, answer, err, want)
			}
		})
	}
	all.Wait()
	// The answers are stored as well, a little after they were handed over, as they were sent: without the broker's properties.
	records := w.awaitStored(t, w.broker.Cluster()+"_REPLY_TOPIC", 1, askers)
	if len(records) != askers {
		t.Fatalf("%d answers are stored", len(records))
	}
	for _, rec := range records {
		p := rec.Properties
		if p["MSG_TYPE"] != "reply" || p["CORRELATION_ID"] == "" || p["REPLY_TO_CLIENT"] == "" || p["CLUSTER"] != "" || p["PUSH_REPLY_TIME"] != "" {
			t.Errorf("an answer is stored with %v", p)
		}
	}
	// To somebody who isn't there.
	w.raw(t, func(ctx context.Context, c *raw.Conn) error {
		f, err := c.Call(ctx, 325, map[string]string{"a": "g", "b": w.broker.Cluster() + "_REPLY_TOPIC", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0",
			"i": raw.FormatProperties("REPLY_TO_CLIENT", "nobody"), "j": "0", "k": "false", "m": "false"}, []byte("x"))
		if err != nil {
			return err
		}
		if f.Code != raw.SystemError || f.Remark != "push reply message fail, channel of <nobody> not found." {
			return fmt.Errorf("an answer to nobody is answered %d: %s", f.Code, f.Remark)
		}
		return nil
	})
}

// awaitProducer waits until the broker knows a producer of the group.
func (w *world) awaitProducer(t *testing.T, group string) {
	t.Helper()
	limit := time.Now().Add(75 * time.Second)
	for known := false; !known; {
		w.raw(t, func(ctx context.Context, c *raw.Conn) (err error) {
			known, err = c.HasProducer(ctx, group)
			return err
		})
		if !known && time.Now().After(limit) {
			t.Fatalf("the broker knows no producer of %s after 75 s", group)
		}
		<-time.After(20 * time.Millisecond)
	}
}
