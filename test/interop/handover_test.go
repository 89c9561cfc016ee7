package interop

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// The store changes hands: one broker fills a directory and ends, the other opens it, finds everything, adds to it and
// ends, and the first opens it again. Files are small, so that log and queues have many of each.

func TestStoreWeirToJava(t *testing.T) { handover(t, sut.Default(), sut.Java, (*sut.Broker).Stop) }

func TestStoreJavaToWeir(t *testing.T) { handover(t, sut.Java, sut.Default(), (*sut.Broker).Stop) }

func TestStoreOfKilledWeirToJava(t *testing.T) { handover(t, sut.Default(), sut.Java, kill) }

func TestStoreOfKilledJavaToWeir(t *testing.T) { handover(t, sut.Java, sut.Default(), kill) }

func kill(b *sut.Broker, _ testing.TB) { b.Kill() }

// content is what a store must hold: records by topic and queue, as they were read from the broker that stored them.
type content map[string][][]*raw.Record

// tally counts the acknowledged messages of each queue.
type tally struct {
	mu     sync.Mutex
	counts map[string]map[int]int
}

func (n *tally) add(topic string, queue, count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counts[topic] == nil {
		n.counts[topic] = make(map[int]int)
	}
	n.counts[topic][queue] += count
}

// The topics of the store, and how many queues each has.
var handoverTopics = map[string]int{"HandPlain": 4, "HandTagged": 2, "HandBatch": 2, "HandRolling": 1, "%RETRY%hand-group": 1}

const (
	handoverSegment = 1 << 20
	handoverEntries = 1000 // of a queue file
)

func handover(t *testing.T, from, to sut.Kind, end func(*sut.Broker, testing.TB)) {
	t.Parallel()
	repo.NeedJava(t)
	dir := t.TempDir()
	killed := reflect.ValueOf(end).Pointer() == reflect.ValueOf(kill).Pointer()
	options := func(kind sut.Kind) sut.Options {
		o := sut.Options{Kind: kind, DataDir: dir, SegmentSize: handoverSegment, QueueEntries: handoverEntries}
		if killed { // with extension files, of which a kill leaves more than entries name
			o.JavaProperties = map[string]string{"enableConsumeQueueExt": "true"}
			o.WeirSettings = map[string]string{"STORE__CONSUME_QUEUE_EXT": "true"}
		}
		return o
	}
	first := sut.Start(t, options(from))
	var want content
	sent := &tally{counts: make(map[string]map[int]int)}
	use(t, first, func(ctx context.Context, c *raw.Conn) {
		fill(ctx, t, c, sent)
		want = read(ctx, t, c, sent)
		commit(ctx, t, c)
	})
	end(first, t)

	second := sut.Start(t, options(to))
	use(t, second, func(ctx context.Context, c *raw.Conn) {
		compare(t, want, read(ctx, t, c, sent))
		checkViews(ctx, t, c, want)
		if !killed { // offsets and configurations may wait some seconds in memory
			checkMetadata(ctx, t, c)
			checkKeys(ctx, t, second)
			consumeRest(t, second, want)
		}
		add(ctx, t, c, want, sent)
		want = read(ctx, t, c, sent)
	})
	end(second, t)

	first.Start(t)
	use(t, first, func(ctx context.Context, c *raw.Conn) {
		compare(t, want, read(ctx, t, c, sent))
		add(ctx, t, c, want, sent)
	})
}

func use(t *testing.T, b *sut.Broker, do func(context.Context, *raw.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := raw.Dial(ctx, b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	do(ctx, c)
}

// fill stores what differs in layout: bodies of all lengths, flags, tags of negative and of equal hash, several keys,
// alphabets, no properties at all, batches, and enough to roll log and queue files over.
func fill(ctx context.Context, t *testing.T, c *raw.Conn, sent *tally) {
	for topic, queues := range handoverTopics {
		if !strings.HasPrefix(topic, "%RETRY%") {
			must(t, c.CreateTopic(ctx, topic, queues))
		}
	}
	must(t, c.UpdateGroup(ctx, "hand-group", 7))
	sizes := []int{1, 10, 100, 1000, 4095, 60_000}
	for i := range 60 {
		send(ctx, t, c, sent, &raw.Message{Topic: "HandPlain", Queue: i % 4, Flag: i % 7, Body: body("plain", i, sizes[i%len(sizes)])})
	}
	tags := []string{"TagA", "支付成功", "😀", "AaAa", "BBBB", "polygenelubricants", ""}
	for i := range 140 {
		pairs := []string{"index", fmt.Sprint(i), "größe", "小", "blank inside", "a b=c;d\"e'\\f"}
		if tag := tags[i%len(tags)]; tag != "" {
			pairs = append(pairs, "TAGS", tag)
		}
		if i%3 > 0 {
			pairs = append(pairs, "KEYS", fmt.Sprintf("order-%d user-%d 键%d", i, i%10, i%5), "UNIQ_KEY", fmt.Sprintf("7F0000010000431A%016X", i))
		}
		send(ctx, t, c, sent, &raw.Message{Topic: "HandTagged", Queue: i % 2, Body: body("tagged", i, 64+i), Properties: raw.FormatProperties(pairs...)})
	}
	for i := range 10 {
		var batch []*raw.Message
		for j := range i*3 + 1 {
			batch = append(batch, &raw.Message{
				Topic: "HandBatch", Queue: i % 2, Flag: i, Body: body("batch", i*100+j, 20+j),
				Properties: raw.FormatProperties("TAGS", fmt.Sprintf("Tag%d", j%3), "n", fmt.Sprint(j)),
			})
		}
		if _, err := c.SendBatch(ctx, batch); err != nil {
			t.Fatal(err)
		}
		sent.add("HandBatch", i%2, len(batch))
	}
	roll(ctx, t, c, sent)
	send(ctx, t, c, sent, &raw.Message{Topic: "%RETRY%hand-group", Body: []byte("sent back"), Properties: raw.FormatProperties("RETRY_TOPIC", "HandPlain")})
}

// roll sends 2,500 messages of about 2 KiB into one queue, 32 at a time: five segments and three queue files.
func roll(ctx context.Context, t *testing.T, c *raw.Conn, sent *tally) {
	var senders sync.WaitGroup
	next := make(chan int)
	for range 32 {
		senders.Go(func() {
			for i := range next {
				m := &raw.Message{Topic: "HandRolling", Body: body("rolling", i, 1800+i%400), Properties: raw.FormatProperties("TAGS", fmt.Sprintf("Tag%d", i%4))}
				if _, err := c.Send(ctx, m); err != nil {
					t.Error(err)
				}
				sent.add(m.Topic, m.Queue, 1)
			}
		})
	}
	for i := range 2500 {
		next <- i
	}
	close(next)
	senders.Wait()
}

// body is text that tells which message it belongs to, repeated to a length.
func body(kind string, number, length int) []byte {
	text := fmt.Sprintf("%s %d, ", kind, number)
	return []byte(strings.Repeat(text, length/len(text)+1)[:length])
}

func send(ctx context.Context, t *testing.T, c *raw.Conn, sent *tally, m *raw.Message) *raw.Sent {
	t.Helper()
	place, err := c.Send(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	sent.add(m.Topic, m.Queue, 1)
	return place
}

// read reads all queues. A broker may show a message a moment after it acknowledged it, so this waits until each queue
// is as long as the tally, or longer.
func read(ctx context.Context, t *testing.T, c *raw.Conn, sent *tally) content {
	t.Helper()
	all := make(content)
	for topic, queues := range handoverTopics {
		for queue := range queues {
			for wait := true; wait; {
				end, err := c.MaxOffset(ctx, topic, queue)
				if err != nil {
					t.Fatalf("%s/%d ends at %d, %d were sent: %v", topic, queue, end, sent.counts[topic][queue], err)
				}
				wait = end < int64(sent.counts[topic][queue])
			}
			records, err := c.ReadQueue(ctx, topic, queue)
			if err != nil {
				t.Fatal(err)
			}
			all[topic] = append(all[topic], records)
		}
	}
	return all
}

func compare(t *testing.T, want, got content) {
	t.Helper()
	for topic, queues := range want {
		for queue := range queues {
			wanted, found := queues[queue], got[topic][queue]
			if len(wanted) != len(found) {
				t.Errorf("%s/%d holds %d messages, want %d", topic, queue, len(found), len(wanted))
				continue
			}
			for i := range wanted {
				if !reflect.DeepEqual(wanted[i], found[i]) {
					t.Fatalf("%s/%d message %d is\n%+v, was\n%+v", topic, queue, i, *found[i], *wanted[i])
				}
				if found[i].QueueOffset != int64(i) {
					t.Fatalf("%s/%d message %d has offset %d", topic, queue, i, found[i].QueueOffset)
				}
			}
		}
	}
}

// checkViews reads messages by their place in the log.
func checkViews(ctx context.Context, t *testing.T, c *raw.Conn, want content) {
	t.Helper()
	for _, queues := range want {
		for _, records := range queues {
			for i := 0; i < len(records); i += 1 + len(records)/20 {
				got, err := c.View(ctx, records[i].LogOffset)
				if err != nil {
					t.Fatalf("view %d: %v", records[i].LogOffset, err)
				}
				if !reflect.DeepEqual(got, records[i]) {
					t.Fatalf("view %d is %+v, was %+v", records[i].LogOffset, got, records[i])
				}
			}
		}
	}
}

// checkKeys finds messages by keys in the index files that the first broker wrote.
func checkKeys(ctx context.Context, t *testing.T, b *sut.Broker) {
	t.Helper()
	c := client.New(client.Options{NameServers: []string{b.NameServer()}})
	defer c.Close()
	for i := range 140 {
		for _, q := range []client.KeyQuery{
			{Topic: "HandTagged", Key: fmt.Sprintf("order-%d", i), End: math.MaxInt64},
			{Topic: "HandTagged", Key: fmt.Sprintf("7F0000010000431A%016X", i), Unique: true, End: math.MaxInt64},
		} {
			want := 0
			if i%3 > 0 {
				want = 1
			}
			ms, err := c.QueryMessages(ctx, b.Name(), b.Addr(), q)
			if err != nil || len(ms) != want || want == 1 && ms[0].Properties["index"] != fmt.Sprint(i) {
				t.Fatalf("%d messages by key %s, want %d, %v", len(ms), q.Key, want, err)
			}
		}
	}
}

// commit commits offsets for hand-group: half of each queue.
func commit(ctx context.Context, t *testing.T, c *raw.Conn) {
	for queue, count := range []int64{70, 70} {
		must(t, c.UpdateOffset(ctx, "hand-group", "HandTagged", queue, count/2))
	}
}

func checkMetadata(ctx context.Context, t *testing.T, c *raw.Conn) {
	t.Helper()
	for queue := range 2 {
		if offset, err := c.QueryOffset(ctx, "hand-group", "HandTagged", queue); err != nil || offset != 35 {
			t.Errorf("committed offset of queue %d: %d, %v, want 35", queue, offset, err)
		}
	}
	groups, err := c.Groups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, group, found := strings.Cut(groups, `"groupName":"hand-group"`)
	if group, _, _ = strings.Cut(group, "}"); !found || !strings.Contains(group, `"retryMaxTimes":7`) {
		t.Errorf("group configuration: %q in %s", group, groups)
	}
	// Queues exist as configured: one more does not.
	for topic, queues := range handoverTopics {
		if strings.HasPrefix(topic, "%RETRY%") {
			continue
		}
		if _, err := c.Send(ctx, &raw.Message{Topic: topic, Queue: queues, Body: []byte("x")}); err == nil {
			t.Errorf("%s took a message for queue %d", topic, queues)
		}
	}
}

// consumeRest has a Java client of the group go on: it gets the second half of each queue.
func consumeRest(t *testing.T, b *sut.Broker, want content) {
	t.Helper()
	clients := agent.Start(t, agent.Java4, "rest")
	consumer := clients.Push(t, agent.ConsumerOptions{Name: "rest", Group: "hand-group", NameServer: b.NameServer(), Topic: "HandTagged"})
	var rest []string
	for _, records := range want["HandTagged"] {
		for _, r := range records[35:] {
			rest = append(rest, string(r.Body))
		}
	}
	// The message in the group's retry topic may come along.
	got := consumer.Bodies(t, rest...)
	for _, m := range got {
		if m.Body != "sent back" && m.Offset < 35 {
			t.Errorf("consumed again: %d/%d", m.Queue, m.Offset)
		}
	}
	consumer.Stop(t)
}

// add goes on writing: every queue continues where it ended.
func add(ctx context.Context, t *testing.T, c *raw.Conn, want content, sent *tally) {
	t.Helper()
	for topic, queues := range want {
		for queue, records := range queues {
			for i := range 3 {
				place := send(ctx, t, c, sent, &raw.Message{Topic: topic, Queue: queue, Body: body("added", i, 300)})
				if place.Offset != int64(len(records)+i) {
					t.Errorf("%s/%d: sent to offset %d, want %d", topic, queue, place.Offset, len(records)+i)
				}
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
