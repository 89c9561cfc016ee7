package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
)

// pushing starts a broker that takes modules in, and returns a client of it.
func pushing(t *testing.T, set ...brokertest.Option) (*brokertest.Broker, *client.Client) {
	b := brokertest.Start(t, append([]brokertest.Option{brokertest.Set("service.filters", "tag,sql92,wasm"),
		brokertest.Set("filters.wasm.push.enabled", "true"), brokertest.Set("filters.wasm.dispatch", "true")}, set...)...)
	c := client.New(client.Options{NameServers: []string{b.NameServer()}, Timeout: time.Minute})
	t.Cleanup(func() { _ = c.Close() })
	return b, c
}

func guest(t *testing.T, path string) []byte {
	t.Helper()
	bin, err := os.ReadFile(guests + path)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// byWeight makes of the module that compares amounts one that compares weights.
func byWeight(bin []byte) []byte {
	bin = bytes.ReplaceAll(bin, []byte("amount"), []byte("\x00mount"))
	bin = bytes.ReplaceAll(bin, []byte("weight"), []byte("amount"))
	return bytes.ReplaceAll(bin, []byte("\x00mount"), []byte("weight"))
}

func push(t *testing.T, c *client.Client, addr, name string, bin []byte) *wire.Module {
	t.Helper()
	m, err := c.PushModule(t.Context(), addr, name, bin, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pullAll returns the bodies of a queue that an expression accepts.
func pullAll(ctx context.Context, c *client.Client, q client.Queue, kind, expression string) (string, error) {
	var all []string
	for next := int64(0); ; {
		r, err := c.Pull(ctx, client.PullRequest{Queue: q, Group: "pulls", Offset: next, Commit: -1,
			Subscription: &client.Subscription{Topic: q.Topic, Type: kind, Expression: expression}})
		if err != nil {
			return "", err
		}
		for _, m := range r.Messages {
			all = append(all, string(m.Body))
		}
		if r.Code == message.PullNotFound {
			return strings.Join(all, " "), nil
		}
		next = r.Next
	}
}

// TestReloadUnderLoad goes to and fro between two versions that judge the same messages differently, while others pull with
// each of them by its number. Every pull that begins after a change must see nothing but verdicts of the new version, and
// those by number nothing but theirs.
func TestReloadUnderLoad(t *testing.T) {
	b, c := pushing(t)
	const n, limit = 200, 100
	var queue client.Queue
	var want [2][]string
	for i := range n {
		sent, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: fmt.Append(nil, i), QueueKey: "one",
			Properties: map[string]string{"amount": fmt.Sprint(i), "weight": fmt.Sprint(n - i)}})
		if err != nil {
			t.Fatal(err)
		}
		queue = sent.Queue
		if i > limit {
			want[0] = append(want[0], fmt.Sprint(i))
		}
		if n-i > limit {
			want[1] = append(want[1], fmt.Sprint(i))
		}
	}
	bin := guest(t, "/c/examples/threshold/threshold.wasm")
	push(t, c, b.Addr(), "m", bin)
	push(t, c, b.Addr(), "m", byWeight(bin))
	expect := func(kind, expression string, version int) bool {
		got, err := pullAll(t.Context(), c, queue, kind, expression)
		if want := strings.Join(want[version-1], " "); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", expression, got, err, want)
			return false
		}
		return true
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for version := 1; version <= 2; version++ {
		wg.Go(func() {
			for expect("WASM", fmt.Sprintf("m@%d?limit=%d", version, limit), version) {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 30 {
		version := 1 + i%2
		if m, err := c.ActivateModule(t.Context(), b.Addr(), "m", 0); err != nil || m.Number != int32(version) {
			t.Fatal(m, err)
		}
		expect("WASM", "m?limit=100", version)
		expect("SQL92", `wasm.filter('m', '{"limit":100}')`, version)
	}
	close(stop)
	wg.Wait()
}

// TestReloadLosesNothing has a group consume while messages are sent and its module is replaced again and again by one that
// judges alike: in C, in Rust, and back. The group must get what it would have got without, each once and in order. Then it
// is online: its module can't be taken away but by force.
func TestReloadLosesNothing(t *testing.T) {
	b, c := pushing(t)
	push(t, c, b.Addr(), "m", guest(t, "/c/examples/threshold/threshold.wasm"))
	push(t, c, b.Addr(), "m", guest(t, "/rust/examples/threshold/threshold.wasm"))
	send := func(i int) {
		_, err := c.Producer("p").Send(t.Context(), &client.Message{Topic: "T", Body: fmt.Append(nil, i), QueueKey: "one",
			Properties: map[string]string{"amount": fmt.Sprint(i % 10)}})
		if err != nil {
			t.Error(err)
		}
	}
	send(0)
	const n = 1000
	got, all := []string{}, make(chan struct{})
	k, err := c.Consume(t.Context(), client.ConsumerOptions{Group: "g", From: wire.FromFirstOffset,
		Subscriptions: []client.Subscription{{Topic: "T", Type: "WASM", Expression: "m?limit=4"}},
		Handle: func(_ context.Context, ms []*client.Received) error {
			for _, m := range ms {
				if got = append(got, string(m.Body)); string(m.Body) == fmt.Sprint(n-1) {
					close(all)
				}
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i < n; i++ {
			send(i)
		}
	})
	for range 20 {
		if _, err := c.ActivateModule(t.Context(), b.Addr(), "m", 0); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Error("the last message hasn't come")
	}
	inUse(t, c, b.Addr())
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	var want []string
	for i := range n {
		if i%10 > 4 {
			want = append(want, fmt.Sprint(i))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	b.Restart()
	c2 := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c2.Close()
	list, err := c2.Modules(t.Context(), b.Addr(), "m")
	if err != nil || len(list) != 2 || list[1].State != "disabled" {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
}

// inUse looks at module m, which group g filters topic T by, and takes it away.
func inUse(t *testing.T, c *client.Client, addr string) {
	list, err := c.Modules(t.Context(), addr, "m")
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	current := list[1]
	if len(list[0].Uses) > 0 || len(current.Uses) != 1 {
		t.Fatalf("%+v", list)
	}
	use := current.Uses[0]
	if use.Group != "g" || use.Topic != "T" || !use.Live || use.Generation < 1 || use.Generation > 21 || current.State != "current" ||
		current.Programs < 1 || current.Breaker != "closed" {
		t.Errorf("%+v", current)
	}
	err = c.DisableModule(t.Context(), addr, "m", false)
	if err == nil || !strings.Contains(err.Error(), "m@2 is in use: group g filters topic T by it") {
		t.Error(err)
	}
	err = c.RemoveModule(t.Context(), addr, "m", 2, false)
	if err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Error(err)
	}
	if err := c.RemoveModule(t.Context(), addr, "other", 0, false); !isCode(err, message.QueryNotFound) {
		t.Error(err)
	}
	if err := c.DisableModule(t.Context(), addr, "m", true); err != nil {
		t.Error(err)
	}
	lines, err := c.ModuleLog(t.Context(), addr, "m")
	if err != nil || len(lines) < 22 || lines[0].Text != "is the current version; before it was 0" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func isCode(err error, code message.Code) bool {
	var said *message.Error
	return errors.As(err, &said) && said.Code == code
}

// TestPushIsRefused asks brokers that don't take modules in.
func TestPushIsRefused(t *testing.T) {
	bin := guest(t, "/c/examples/threshold/threshold.wasm")
	for set, want := range map[string]string{
		"tag":      "this broker takes in no modules: add wasm to filters and to service.filters",
		"tag,wasm": "set filters.wasm.push.enabled in broker.yaml to allow it",
	} {
		b := brokertest.Start(t, brokertest.Set("service.filters", set), brokertest.Set("filters.wasm.push.enabled", "false"))
		c := client.New(client.Options{NameServers: []string{b.NameServer()}})
		_, err := c.PushModule(t.Context(), b.Addr(), "m", bin, false, nil)
		if !isCode(err, message.NoPermission) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
		_ = c.Close()
	}
}

// TestPushInParts pushes a module that doesn't fit into one request, as a shadow, and then makes it current.
func TestPushInParts(t *testing.T) {
	b, c := pushing(t)
	small := guest(t, "/c/examples/threshold/threshold.wasm")
	push(t, c, b.Addr(), "m", small)
	content := append([]byte{7}, append([]byte("padding"), make([]byte, 600<<10)...)...)
	large := append(bytes.Clone(small), 0)
	large = append(binary.AppendUvarint(large, uint64(len(content))), content...)
	var sent []int
	m, err := c.PushModule(t.Context(), b.Addr(), "m", large, true, func(n int) { sent = append(sent, n) })
	if err != nil || m.Number != 2 || m.State != "shadow" || m.Size != int64(len(large)) {
		t.Fatalf("%+v, %v", m, err)
	}
	if want := fmt.Sprint([]int{256 << 10, 512 << 10, len(large)}); fmt.Sprint(sent) != want {
		t.Errorf("progress %v, want %s", sent, want)
	}
	if m, err := c.ActivateModule(t.Context(), b.Addr(), "m", 2); err != nil || m.State != "current" {
		t.Errorf("%+v, %v", m, err)
	}
}
