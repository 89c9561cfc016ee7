package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// weir keeps what filters have said of messages; then the real Java broker opens the directory and puts other messages in their
// places. When weir is back every group must get exactly what matches of what is there now.

func TestVerdictsOverJava(t *testing.T) { verdictsOverJava(t, (*sut.Broker).Stop) }

func TestVerdictsOverKilledJava(t *testing.T) { verdictsOverJava(t, kill) }

// The topics of the store, each with one queue.
const (
	grown = "VerdictGrown" // gets more messages under Java
	anew  = "VerdictAnew"  // is deleted under Java, and made again with other messages at the same offsets
	torn  = "VerdictTorn"  // loses its end, after which Java stores others at the same offsets and positions, of the same sizes

	judgedBefore = 200
	tornAt       = 70 // within the second of the words that are kept
)

// judgedFilters are the filters, and what they mean.
var judgedFilters = map[string]func(life, kind string, number int) bool{
	"kind = 'a'":                            func(_, kind string, _ int) bool { return kind == "a" },
	"kind = 'b' AND num BETWEEN 50 AND 160": func(_, kind string, n int) bool { return kind == "b" && n >= 50 && n <= 160 },
	"num > 100 OR kind IN ('a', 'c')":       func(_, kind string, n int) bool { return n > 100 || kind == "a" },
	"kind = 'c' OR missing IS NOT NULL":     func(string, string, int) bool { return false },
	"life = 'first' AND NOT (num < 10)":     func(life, _ string, n int) bool { return life == "first" && n >= 10 },
	"life = 'other' AND num < 150":          func(life, _ string, n int) bool { return life == "other" && n < 150 },
}

// judgedMessage has the same size in both lives, and other verdicts.
func judgedMessage(topic, life string, number int) *raw.Message {
	odd := number % 2
	if life == "other" {
		odd = 1 - odd
	}
	return &raw.Message{Topic: topic, Body: fmt.Appendf(nil, "%s %s %04d", topic, life, number),
		Properties: raw.FormatProperties("kind", "ab"[odd:odd+1], "num", fmt.Sprintf("%04d", number), "life", life)}
}

func verdictsOverJava(t *testing.T, end func(*sut.Broker, testing.TB)) {
	t.Parallel()
	if sut.Default() == sut.Java {
		t.Skip("Java keeps no verdicts")
	}
	repo.NeedJava(t)
	options := sut.Options{Kind: sut.Weir, DataDir: t.TempDir(), SegmentSize: handoverSegment, QueueEntries: handoverEntries,
		WeirSettings: map[string]string{"QUEUES__VERDICTS__SAVE_INTERVAL": "100ms"}}
	weir := sut.Start(t, options)
	var before []*raw.Record // of torn
	use(t, weir, func(ctx context.Context, c *raw.Conn) {
		for _, topic := range []string{grown, anew, torn} {
			must(t, c.CreateTopic(ctx, topic, 1))
			pullJudged(ctx, t, c, "live", topic) // so that messages are judged when they arrive
			sendJudged(ctx, t, c, topic, "first", 0, judgedBefore)
			checkJudged(ctx, t, c, "before", topic, judgedBefore, 0)
			awaitVerdicts(t, weir, topic)
		}
		var err error
		before, err = c.ReadQueue(ctx, torn, 0)
		must(t, err)
	})
	end(weir, t)
	loseTail(t, weir.DataDir(), before[tornAt].LogOffset)

	options.Kind, options.Home = sut.Java, t.TempDir()
	java := sut.Start(t, options)
	use(t, java, func(ctx context.Context, c *raw.Conn) {
		sendJudged(ctx, t, c, torn, "other", tornAt, judgedBefore+20)
		after, err := c.ReadQueue(ctx, torn, 0)
		must(t, err)
		for i := tornAt; i < judgedBefore; i++ {
			if after[i].LogOffset != before[i].LogOffset || after[i].Size != before[i].Size {
				t.Fatalf("message %d is %d bytes at %d, and was %d at %d: the test means to have it in the same place",
					i, after[i].Size, after[i].LogOffset, before[i].Size, before[i].LogOffset)
			}
		}
		must(t, c.DeleteTopic(ctx, anew))
		must(t, c.CreateTopic(ctx, anew, 1))
		sendJudged(ctx, t, c, anew, "other", 0, judgedBefore)
		sendJudged(ctx, t, c, grown, "other", judgedBefore, judgedBefore+100)
	})
	end(java, t)

	weir.Start(t)
	if len(verdictFiles(t, weir, grown)) < len(judgedFilters) {
		t.Errorf("of the topic that only grew there are no verdicts any more: %v", verdictFiles(t, weir, grown))
	}
	use(t, weir, func(ctx context.Context, c *raw.Conn) {
		for range 2 { // the second time by what the first has kept
			checkJudged(ctx, t, c, "after", grown, judgedBefore+100, 100)
			checkJudged(ctx, t, c, "after", anew, judgedBefore, judgedBefore)
			checkJudged(ctx, t, c, "after", torn, judgedBefore+20, judgedBefore+20-tornAt)
		}
	})
	pushJudged(t, weir)
}

// sendJudged sends messages with numbers from first to before end, which must be their offsets.
func sendJudged(ctx context.Context, t *testing.T, c *raw.Conn, topic, life string, first, end int) {
	t.Helper()
	for i := first; i < end; i++ {
		sent, err := c.Send(ctx, judgedMessage(topic, life, i))
		if err != nil || sent.Offset != int64(i) {
			t.Fatalf("%s: message %d of the %s life: %+v, %v", topic, i, life, sent, err)
		}
	}
	for end := int64(end); ; {
		if high, err := c.MaxOffset(ctx, topic, 0); err != nil || high == end {
			must(t, err)
			return
		}
	}
}

// pullJudged pulls all of a topic by every filter and returns the offsets that came.
func pullJudged(ctx context.Context, t *testing.T, c *raw.Conn, group, topic string) map[string][]int64 {
	t.Helper()
	end, err := c.MaxOffset(ctx, topic, 0)
	must(t, err)
	got := make(map[string][]int64)
	for filter := range judgedFilters {
		got[filter] = []int64{}
		for next := int64(0); ; {
			p, err := c.PullBy(ctx, group, topic, 0, next, "SQL92", filter)
			must(t, err)
			for _, r := range p.Records {
				got[filter] = append(got[filter], r.QueueOffset)
			}
			if next = p.Next; next >= end {
				break
			}
		}
	}
	return got
}

// checkJudged compares what each filter delivers with what it means of the messages that are there, of which so many are
// to be of the other life.
func checkJudged(ctx context.Context, t *testing.T, c *raw.Conn, when, topic string, count, other int) {
	t.Helper()
	all, err := c.ReadQueue(ctx, topic, 0)
	must(t, err)
	others := 0
	for _, r := range all {
		if r.Properties["life"] == "other" {
			others++
		}
	}
	if len(all) != count || others != other {
		t.Fatalf("%s: %s holds %d messages, %d of them of its other life, want %d and %d", when, topic, len(all), others, count, other)
	}
	for filter, got := range pullJudged(ctx, t, c, when, topic) {
		want := []int64{}
		for i, r := range all { // the number is the offset, in both lives
			if judgedFilters[filter](r.Properties["life"], r.Properties["kind"], i) {
				want = append(want, r.QueueOffset)
			}
		}
		if !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: %s by %q: %d messages, want %d; offsets from number %d on %d, want %d",
				when, topic, filter, len(got), len(want), i, got[i:min(i+5, len(got))], want[i:min(i+5, len(want))])
		}
	}
}

// pushJudged has a Java client consume the topics whose messages were replaced.
func pushJudged(t *testing.T, b *sut.Broker) {
	clients := agent.Start(t, agent.Java4, "judged")
	for topic, other := range map[string]int{anew: 0, torn: tornAt} {
		consumer := clients.Push(t, agent.ConsumerOptions{Name: topic, Group: topic + "-group", NameServer: b.NameServer(), Topic: topic,
			SQL: true, Expression: "kind = 'a'"})
		var want []string
		for i := range judgedBefore {
			life := "first"
			if i >= other {
				life = "other"
			}
			if (i%2 == 0) == (life == "first") {
				want = append(want, string(judgedMessage(topic, life, i).Body))
			}
		}
		for _, m := range consumer.Bodies(t, want...) {
			if m.Properties["kind"] != "a" {
				t.Errorf("%s: %q came and doesn't match", topic, m.Body)
			}
		}
	}
}

// verdictFiles lists the files with the verdicts about a topic.
func verdictFiles(t *testing.T, b *sut.Broker, topic string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.DataDir(), "weir", "verdicts", topic, "0", "*", "*"))
	must(t, err)
	return files
}

// awaitVerdicts waits until there are verdicts of every filter on the disk.
func awaitVerdicts(t *testing.T, b *sut.Broker, topic string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); len(verdictFiles(t, b, topic)) != len(judgedFilters); {
		if time.Now().After(limit) {
			t.Fatalf("verdicts of %s: %v after 30 s, want those of %d filters", topic, verdictFiles(t, b, topic), len(judgedFilters))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// loseTail takes the end of the log away, as a power cut may, and lets the store look as if nobody had stopped it.
func loseTail(t *testing.T, dir string, from int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", from/handoverSegment*handoverSegment)), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	_, err = f.WriteAt(make([]byte, info.Size()-from%handoverSegment), from%handoverSegment)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "abort"), nil, 0o600))
}
