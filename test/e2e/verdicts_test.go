package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
)

// Filters' verdicts are kept over a restart, may be deleted in whole or in part, go with their topic, and are removed where
// the configuration wants none. What a group gets is the same all the time.
func TestKeptVerdicts(t *testing.T) {
	dir := t.TempDir()
	br := brokertest.Start(t, brokertest.DataDir(dir), brokertest.Set("queues.verdicts.save_interval", "100ms"))
	verdicts := filepath.Join(dir, "weir", "verdicts")
	c := client.New(client.Options{NameServers: []string{br.NameServer()}, Timeout: 30 * time.Second})
	defer c.Close()
	q := client.Queue{Topic: "Orders", Broker: "broker-a", Addr: br.Addr()}

	send := func(n int) {
		t.Helper()
		for from := 0; from < n; from += 100 {
			var batch []*client.Message
			for i := from; i < min(n, from+100); i++ {
				batch = append(batch, &client.Message{Topic: q.Topic, QueueKey: "one", Body: fmt.Append(nil, i),
					Properties: map[string]string{"amount": fmt.Sprint(i % 1000)}})
			}
			r, err := c.Producer("orders").SendBatch(context.Background(), batch)
			if err != nil {
				t.Fatal(err)
			}
			q.ID = r.Queue.ID
		}
	}
	pull := func(expr string) (bodies []string, pulls int) {
		t.Helper()
		end, err := c.MaxOffset(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		sub := &client.Subscription{Topic: q.Topic, Type: message.ExpressionSQL92, Expression: expr}
		for at := int64(0); at < end; pulls++ {
			r, err := c.Pull(context.Background(), client.PullRequest{Queue: q, Group: "billing", Offset: at, Max: 1024, Commit: -1, Subscription: sub})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range r.Messages {
				bodies = append(bodies, string(m.Body))
			}
			at = r.Next
		}
		return bodies, pulls
	}
	check := func(what, expr string, step, n int) (pulls int) {
		t.Helper()
		got, pulls := pull(expr)
		var want []string
		for i := 0; i < n; i++ {
			if i%1000%step == 0 && i%1000/step == 7 {
				want = append(want, fmt.Sprint(i))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %d messages by %q, want %d", what, len(got), expr, len(want))
		}
		return pulls
	}

	send(20_000)
	check("the first time", "amount = 70", 10, 20_000)
	if pulls := check("the second time", "amount = 70", 10, 20_000); pulls > 2 {
		t.Errorf("%d pulls over messages whose verdicts are known", pulls)
	}
	br.Restart()
	if n := len(filesBelow(t, verdicts)); n != 1 {
		t.Fatalf("%d files after a stop, want one", n)
	}
	if pulls := check("after a restart", "amount = 70", 10, 20_000); pulls > 2 {
		t.Errorf("after a restart: %d pulls over messages whose verdicts are known", pulls)
	}
	check("another filter", "amount = 7", 1, 20_000)

	br.Stop()
	for i, f := range filesBelow(t, verdicts) {
		if i%2 == 0 {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	br.Restart()
	check("a file removed", "amount = 70", 10, 20_000)
	check("a file removed", "amount = 7", 1, 20_000)
	if err := os.RemoveAll(verdicts); err != nil {
		t.Fatal(err)
	}
	check("all removed while the broker runs", "amount = 70", 10, 20_000)

	if err := c.DeleteTopic(context.Background(), br.Addr(), q.Topic); err != nil {
		t.Fatal(err)
	}
	if files := filesBelow(t, verdicts); len(files) != 0 {
		t.Errorf("files of a deleted topic: %v", files)
	}
	send(300)
	check("made anew", "amount = 70", 10, 300)
	br.Stop()

	off := brokertest.Start(t, brokertest.DataDir(dir), brokertest.Set("queues.verdicts.enabled", "false"))
	if _, err := os.Stat(verdicts); !os.IsNotExist(err) {
		t.Errorf("without kept verdicts the directory is there: %v", err)
	}
	c2 := client.New(client.Options{NameServers: []string{off.NameServer()}, Timeout: 30 * time.Second})
	defer c2.Close()
	c, q.Addr = c2, off.Addr()
	check("without", "amount = 70", 10, 300)
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return files
}
