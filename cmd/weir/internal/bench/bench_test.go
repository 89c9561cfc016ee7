package bench

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/sdk/wire"
)

func TestParseStat(t *testing.T) {
	line := "4711 (a) b ) (c) S 1 2 3 4 5 6 7 8 9 10 111 222 13 14 15 16 17 18 19 20 333 22 23"
	u, err := parseStat([]byte(line))
	if err != nil || u.ticks != 111+222 || u.resident != 333*int64(os.Getpagesize()) {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 2 3", "1 (x) S 1 2 3 4 5 6 7 8 9 10 x 222 13 14 15 16 17 18 19 20 333"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gave no error", bad)
		}
	}
	if got := parseAnonymous([]byte("VmRSS:\t 10 kB\nRssAnon:\t     2048 kB\nRssFile: 1 kB\n")); got != 2048<<10 {
		t.Errorf("RssAnon is %d", got)
	}
	before, err := readUsage(os.Getpid())
	if err != nil || before.resident == 0 {
		t.Errorf("our own usage: %+v, %v", before, err)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		f          float64
		n, want, d int
	}{{0.1, 1000, 100, 1}, {0.25, 1000, 250, 1}, {1, 10, 10, 0}, {0, 10, 0, 0}, {0.003, 10_000, 30, 1}} {
		s, got := share{f: c.f}, 0
		for range c.n {
			if s.next() {
				got++
			}
		}
		if got < c.want-c.d || got > c.want+c.d {
			t.Errorf("share %v: %d of %d, want %d", c.f, got, c.n, c.want)
		}
	}
}

func TestPhases(t *testing.T) {
	p := &phases{warm: 100}
	if p.counted(99) || !p.counted(100) {
		t.Error("the warm-up is counted")
	}
	p.end.Store(200)
	if p.counted(200) || !p.more(199, 1) || p.more(200, 1) {
		t.Error("the end isn't seen")
	}
	q := &phases{limited: true}
	q.left.Store(5)
	if !q.more(1, 3) || q.more(1, 3) {
		t.Error("5 messages gave other than one request of 3")
	}
}

// TestRequests makes requests and finds what is patched in them where it belongs.
func TestRequests(t *testing.T) {
	for _, typ := range []wire.Type{wire.JSON, wire.Binary} {
		for _, batch := range []int{1, 3} {
			c := content{topic: "T", group: "G", size: 64, batch: batch, tag: "A", share: 1, header: typ, stamped: true, unique: true}
			prefix := keyPrefix(2)
			rs, err := c.requestsFor(5, prefix)
			if err != nil || len(rs) != 1 {
				t.Fatalf("%d kinds, %v", len(rs), err)
			}
			counter := uint32(0xfe)
			rs[0].patch(&counter, 0x0102030405060708)
			var h wire.Header
			body, err := h.Decode(rs[0].frame.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			var s wire.SendHeader
			if err := s.Decode(&h); err != nil {
				t.Fatal(err)
			}
			if string(s.Topic) != "T" || s.QueueID != 5 || s.Batch != (batch > 1) || counter != 0xfe+uint32(batch) {
				t.Errorf("%+v, counter %x", s, counter)
			}
			items := []message.BatchItem{{Body: body, Properties: message.Properties(s.Properties)}}
			if batch > 1 {
				items = nil
				for b := message.Batch(body); ; {
					item, rest, ok, err := b.Next()
					if err != nil {
						t.Fatal(err)
					}
					if !ok {
						break
					}
					items, b = append(items, item), rest
				}
			}
			if len(items) != batch {
				t.Fatalf("%d items, want %d", len(items), batch)
			}
			for i, item := range items {
				if !bytes.HasPrefix(item.Body, []byte{1, 2, 3, 4, 5, 6, 7, 8}) || len(item.Body) != 64 {
					t.Errorf("item %d: the body begins with %x", i, item.Body[:8])
				}
				want := prefix + []string{"000000FE", "000000FF", "00000100"}[i]
				if id, _ := item.Properties.Get(message.PropUniqKey); string(id) != want {
					t.Errorf("item %d: key %s, want %s", i, id, want)
				}
				if tag, _ := item.Properties.Get(message.PropTags); string(tag) != "A" {
					t.Errorf("item %d: tag %q", i, tag)
				}
			}
		}
	}
}

func TestResult(t *testing.T) {
	a, b := newTally(), newTally()
	a.record(int64(2*time.Second), int64(2*time.Second-time.Millisecond), 2, 2000)
	b.record(int64(3*time.Second), int64(3*time.Second-3*time.Millisecond), 2, 2000)
	b.fail("SYSTEM_BUSY", 2)
	a.merge(&b)
	r := a.result("produce", 0)
	if r.Messages != 4 || r.Requests != 2 || r.Seconds != 1 || r.Rate != 4 || r.Failed != 2 || r.Errors["SYSTEM_BUSY"] != 1 {
		t.Errorf("%+v", r)
	}
	if r.Latency.Max < 2990 || r.Latency.Max > 3010 || r.Latency.P50 < 990 || r.Latency.P50 > 1010 {
		t.Errorf("latency %+v", r.Latency)
	}
}
