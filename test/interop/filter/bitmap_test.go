package filter

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/brokertest"
	"github.com/weirmq/weir/sdk/client"
	"github.com/weirmq/weir/sdk/wire"
	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/metrics"
	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/proc"
	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/repo"
)

// bitmapGroups are the groups of these tests, and what each is to get.
var bitmapGroups = map[string]struct {
	text    string
	matches func(number int, region string) bool
}{
	"bg-few":     {"number BETWEEN 10 AND 19", func(n int, _ string) bool { return n%200 >= 10 && n%200 < 20 }},
	"bg-region":  {"region = 'eu' AND number > 100", func(n int, region string) bool { return region == "eu" && n%200 > 100 }},
	"bg-missing": {"region IS NULL", func(_ int, region string) bool { return region == "" }},
	"bg-none":    {"number < 0", func(int, string) bool { return false }},
	"bg-raise":   {"region = 5 OR number >= 150", func(n int, region string) bool { return region == "" && n%200 >= 150 }},
	"bg-all":     {"number >= 0", func(int, string) bool { return true }},
}

const (
	bitmapTopic   = "Bitmaps"
	bitmapVersion = 1_700_000_000_000
	bitmapCount   = 200 // messages of a part, with the numbers 0 to 199
)

// bitmapStore is a store that changes hands, and what was sent to it.
type bitmapStore struct {
	t       *testing.T
	dir     string
	extSize int // bytes of an extension file, as Java is configured
	sent    int
}

func region(n int) string {
	if n%7 == 0 {
		return ""
	}
	return []string{"eu", "us", "ap"}[n%3]
}

// send sends one part to a broker.
func (s *bitmapStore) send(addr string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := raw.Dial(ctx, addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if s.sent == 0 {
		if err := c.CreateTopic(ctx, bitmapTopic, 2); err != nil {
			s.t.Fatal(err)
		}
	}
	for range bitmapCount {
		n := s.sent
		pairs := []string{"number", strconv.Itoa(n % bitmapCount), "UNIQ_KEY", fmt.Sprintf("%06d", n), "TAGS", "TagA"}
		if r := region(n); r != "" {
			pairs = append(pairs, "region", r)
		}
		if _, err := c.Send(ctx, &raw.Message{Topic: bitmapTopic, Queue: n % 2, Body: []byte("body"), Properties: raw.FormatProperties(pairs...)}); err != nil {
			s.t.Fatal(err)
		}
		s.sent++
	}
	for q := range 2 { // until all can be read
		for end := int64(0); end < int64(s.sent/2); {
			if end, err = c.MaxOffset(ctx, bitmapTopic, q); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// subscribe has the groups subscribe by their filters.
func (s *bitmapStore) subscribe(c *client.Client, addr string) {
	s.t.Helper()
	for group, g := range bitmapGroups {
		heartbeat(s.t, c, addr, group, bitmapTopic, g.text, bitmapVersion)
	}
}

// check pulls everything for each group by its registered filter.
func (s *bitmapStore) check(what string, c *client.Client, addr string) {
	s.t.Helper()
	for group, g := range bitmapGroups {
		var want []string
		for n := range s.sent {
			if g.matches(n, region(n)) {
				want = append(want, fmt.Sprintf("%06d", n))
			}
		}
		got := pullAll(s.t, c, addr, bitmapTopic, client.PullRequest{Group: group, Commit: -1, Version: bitmapVersion})
		if !slices.Equal(got, want) {
			s.t.Errorf("%s: %s gets %d messages, want %d", what, group, len(got), len(want))
		}
	}
}

// shown is what a broker shows of the units of a queue's entries.
type shown struct {
	units   int // with a bitmap
	skipped int // entries that the group's filter needn't read
}

// show asks a broker for its ConsumeQueue entries (QUERY_CONSUME_QUEUE), and whether it would read them for a group. None
// that the group is to get may be left out.
func (s *bitmapStore) show(c *client.Client, addr, group string) (out shown) {
	s.t.Helper()
	for q := range int32(2) {
		for from := int64(0); from < int64(s.sent/2); {
			r, err := c.Call(context.Background(), addr, wire.CodeQueryConsumeQueue,
				&wire.QueryConsumeQueueHeader{Topic: bitmapTopic, QueueID: q, Index: from, Count: 100, ConsumerGroup: group}, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			var reply wire.ConsumeQueueReply
			if err := fastjson.Unmarshal(r.Body, &reply); err != nil {
				s.t.Fatal(err)
			}
			for i, e := range reply.QueueData {
				n := int(from+int64(i))*2 + int(q)
				var unit struct {
					FilterBitMap []byte
					TagsCode     int64
				}
				if e.ExtendDataJSON == "" {
					continue
				}
				if err := json.Unmarshal([]byte(e.ExtendDataJSON), &unit); err != nil || unit.TagsCode != message.TagsCode("TagA") {
					s.t.Fatalf("message %d: unit %s, %v", n, e.ExtendDataJSON, err)
				}
				if len(unit.FilterBitMap) > 0 {
					out.units++
				}
				if !e.Eval {
					out.skipped++
					if bitmapGroups[group].matches(n, region(n)) {
						s.t.Errorf("message %d, which is for %s, isn't read: %s", n, group, e.ExtendDataJSON)
					}
				}
			}
			from += int64(len(reply.QueueData))
		}
	}
	return out
}

// java runs a Java broker that writes and reads bitmaps on the store.
func (s *bitmapStore) java(do func(c *client.Client, addr string)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	jars, err := javamq.Install(ctx, javamq.Server4)
	if err != nil {
		s.t.Fatal(err)
	}
	port := ports.Must(s.t)
	p, err := javamq.Broker{Jars: jars, Home: s.t.TempDir(), Store: s.dir, Name: "broker", Cluster: "DefaultCluster", Port: port,
		NameServer: fmt.Sprint("127.0.0.1:", port+1000), JVM: javamq.QuickStart, Properties: map[string]string{
			"enablePropertyFilter": "true", "enableCalcFilterBitMap": "true", "enableConsumeQueueExt": "true",
			"mappedFileSizeCommitLog": fmt.Sprint(1 << 20), "mappedFileSizeConsumeQueue": fmt.Sprint(100 * 20), "mappedFileSizeConsumeQueueExt": fmt.Sprint(s.extSize),
		}}.Start(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stopJava(ctx, s.t, p)
	addr := fmt.Sprint("127.0.0.1:", port)
	c := client.New(client.Options{NameServers: []string{addr}, Timeout: 30 * time.Second})
	defer c.Close()
	do(c, addr)
}

func stopJava(ctx context.Context, t *testing.T, p *proc.Process) {
	if err := p.Stop(ctx); err != nil && p.Running() {
		t.Errorf("%v\n%s", err, p.Tail())
	}
}

// weir runs a weir broker on the store.
func (s *bitmapStore) weir(ext, kept bool, do func(c *client.Client, addr, listen string)) {
	s.t.Helper()
	listen := ports.Addr(ports.Must(s.t))
	b := brokertest.Start(s.t, brokertest.DataDir(s.dir), brokertest.Set("store.segment_size", "1MiB"),
		brokertest.Set("store.max_message_size", "32KiB"), brokertest.Set("store.consume_queue_entries", "100"),
		brokertest.Set("store.consume_queue_ext", strconv.FormatBool(ext)), brokertest.Set("queues.verdicts.enabled", strconv.FormatBool(kept)),
		brokertest.Set("telemetry.prometheus.listen", listen))
	c := client.New(client.Options{NameServers: []string{b.NameServer()}, Timeout: 30 * time.Second})
	do(c, b.Addr(), listen)
	c.Close()
	b.Stop()
}

// ruledOut reads the counter of entries that were passed over by bitmaps.
func ruledOut(t *testing.T, listen string) int {
	t.Helper()
	text := metrics.Scrape(t, listen)
	m := regexp.MustCompile(`(?m)^weir_filter_ruled_out_total(?:\{[^}]*\})? ([0-9.e+]+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the counter isn't there:\n%s", text)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// TestBitmapsChangeHands has a store of extension files and bitmaps go from Java to weir, with kept verdicts and without, and
// back to Java. Each reads what the other has written: every group gets exactly what its filter accepts, and what it
// doesn't accept is passed over unread.
func TestBitmapsChangeHands(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	s := &bitmapStore{t: t, dir: filepath.Join(t.TempDir(), "store"), extSize: 4096} // so that there are many files
	s.java(func(c *client.Client, addr string) {
		s.send(addr) // before there are filters
		s.subscribe(c, addr)
		s.send(addr)
		s.check("Java's own", c, addr)
		if got := s.show(c, addr, "bg-few"); got.units != bitmapCount || got.skipped == 0 {
			t.Fatalf("Java shows %+v of its own", got)
		}
	})
	for _, kept := range []bool{false, true} {
		s.weir(false, kept, func(c *client.Client, addr, listen string) {
			s.subscribe(c, addr)
			if got := s.show(c, addr, "bg-few"); got.units != bitmapCount || got.skipped < bitmapCount/2 {
				t.Errorf("weir shows %+v of Java's", got)
			}
			s.check(fmt.Sprintf("Java's in weir, kept verdicts %v", kept), c, addr)
			if n := ruledOut(t, listen); n < bitmapCount || n > len(bitmapGroups)*bitmapCount {
				t.Errorf("kept verdicts %v: %d entries were ruled out", kept, n)
			}
		})
	}
	s.weir(true, true, func(c *client.Client, addr, _ string) {
		s.send(addr) // all groups are dead, and their filters judge
		s.subscribe(c, addr)
		s.send(addr)
		s.check("weir's own", c, addr)
	})
	s.java(func(c *client.Client, addr string) {
		s.subscribe(c, addr)
		for group := range bitmapGroups {
			got := s.show(c, addr, group)
			if got.units != 3*bitmapCount {
				t.Errorf("Java shows %d units with bitmaps, want %d", got.units, 3*bitmapCount)
			}
			if wanted := group == "bg-few"; wanted && got.skipped < 3*bitmapCount/2 || group == "bg-all" && got.skipped > 0 {
				t.Errorf("Java passes over %d for %s", got.skipped, group)
			}
		}
		s.check("weir's in Java", c, addr)
		s.send(addr)
		s.check("weir's in Java, and its own", c, addr)
	})
	s.weir(true, true, func(c *client.Client, addr, _ string) {
		s.subscribe(c, addr)
		s.check("Java's on weir's", c, addr)
	})
}

// TestBitmapsOfWeir begins with weir. What Java reads is weir's from the first byte.
func TestBitmapsOfWeir(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	s := &bitmapStore{t: t, dir: filepath.Join(t.TempDir(), "store"), extSize: 48 << 20} // Java's default, which weir begins with
	s.weir(true, false, func(c *client.Client, addr, listen string) {
		s.send(addr)
		s.subscribe(c, addr)
		s.send(addr)
		s.check("weir's own", c, addr)
		if n := ruledOut(t, listen); n < bitmapCount {
			t.Errorf("%d entries were ruled out", n)
		}
	})
	s.java(func(c *client.Client, addr string) {
		s.subscribe(c, addr)
		if got := s.show(c, addr, "bg-region"); got.units != bitmapCount || got.skipped == 0 {
			t.Errorf("Java shows %+v", got)
		}
		s.check("weir's in Java", c, addr)
	})
}
