package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// Size checks of the put path as RocketMQ does them.
func TestLimitVectors(t *testing.T) {
	type vector struct {
		Max, TopicLength, BodyLength, PropBytes int
		PropChars                               int
		Status                                  string
		RecordLength                            int
	}
	var v struct{ Body, Topic, Properties, Record []vector }
	readJSON(t, "testdata/vectors/store-limits.json", &v)
	cfg := testConfig()
	cfg.MaxMessageSize = 1000
	s := openTest(t, vfs.NewMem(nil), "/store", cfg)
	for _, list := range [][]vector{v.Body, v.Topic, v.Properties, v.Record} {
		for _, x := range list {
			m := Message{Topic: strings.Repeat("t", x.TopicLength), Body: make([]byte, x.BodyLength), BornHost: bornHost, StoreHost: storeHost}
			if x.PropBytes > 0 {
				m.Properties = []byte("p\x01" + strings.Repeat("x", x.PropBytes-2))
			}
			b := put(t, s, m)
			want := message.MessageIllegal
			if x.Status == "PUT_OK" {
				want = message.Success
			}
			if got := b.Messages[0]; got.Code != want || want == message.Success && int(got.size) != x.RecordLength {
				t.Errorf("%+v: %v, %d bytes: %s", x, got.Code, got.size, got.Remark)
			}
		}
	}
}

// ofLength is a message whose record has n bytes.
func ofLength(n int) Message {
	m := Message{Topic: "T", BornHost: bornHost, StoreHost: storeHost}
	m.Body = bytes.Repeat([]byte("b"), n-message.MinRecordSize-1)
	return m
}

// The end of a segment: where the next record goes and what filler is left, for records and for whole batches.
func TestSegmentEndVectors(t *testing.T) {
	var v struct {
		Single []struct {
			Remaining, Second int
			FirstPhy, Phy     message.Position
			Blank             *int
			Tail              string
		}
		Batch []struct {
			Remaining int
			Lengths   []int
			Phy       message.Position
		}
		Oversized []struct {
			Length     int
			LogEnd     message.Position
			NextRecord struct {
				Append struct{ Phy message.Position }
			}
		}
	}
	readJSON(t, "testdata/vectors/store-segment-end.json", &v)
	cfg := testConfig()
	cfg.SegmentSize, cfg.MaxMessageSize = 4096, 8192
	fill := func(t *testing.T, s *Store, remaining int, firstPhy message.Position) {
		t.Helper()
		first := int(firstPhy)
		if firstPhy == 4096 { // it rolled over itself, as it didn't leave room for a blank record
			first = 3000
		}
		put(t, s, ofLength(first))
		if b := put(t, s, ofLength(4096-remaining-first)); b.Messages[0].Position != firstPhy {
			t.Fatalf("first at %d, want %d", b.Messages[0].Position, firstPhy)
		}
	}
	for _, x := range v.Single {
		t.Run(fmt.Sprintf("single/%d", x.Remaining), func(t *testing.T) {
			s := openTest(t, vfs.NewMem(nil), "/store", cfg)
			fill(t, s, x.Remaining, x.FirstPhy)
			if b := put(t, s, ofLength(x.Second)); b.Messages[0].Position != x.Phy {
				t.Fatalf("at %d, want %d", b.Messages[0].Position, x.Phy)
			}
			if x.Blank != nil {
				tail := make([]byte, 8)
				if err := s.log.ReadAt(int64(4096-*x.Blank), tail); err != nil || hex.EncodeToString(tail) != x.Tail {
					t.Fatalf("blank %x, %v, want %s", tail, err, x.Tail)
				}
			}
		})
	}
	for _, x := range v.Batch {
		t.Run(fmt.Sprintf("batch/%d of %d", x.Remaining, len(x.Lengths)), func(t *testing.T) {
			s := openTest(t, vfs.NewMem(nil), "/store", cfg)
			fill(t, s, x.Remaining, 2000)
			var list []Message
			for _, n := range x.Lengths {
				list = append(list, ofLength(n))
			}
			list[0].Unit = int32(len(list))
			b := put(t, s, list...)
			at := x.Phy
			for i, m := range b.Messages {
				if m.Code != message.Success || m.Position != at || m.QueueOffset != message.Offset(2+i) {
					t.Fatalf("%d: %v at %d, offset %d, want %d", i, m.Code, m.Position, m.QueueOffset, at)
				}
				at += message.Position(x.Lengths[i])
			}
		})
	}
	for _, x := range v.Oversized {
		t.Run(fmt.Sprintf("oversized/%d", x.Length), func(t *testing.T) {
			s := openTest(t, vfs.NewMem(nil), "/store", cfg)
			m := put(t, s, ofLength(x.Length)).Messages[0]
			if x.Length+8 > 4096 { // RocketMQ says PUT_OK and stores a blank record
				if m.Code != message.MessageIllegal || s.End() != 0 || !strings.Contains(m.Remark, "at most 4088 are allowed") {
					t.Fatalf("%v %q, end %d", m.Code, m.Remark, s.End())
				}
				return
			}
			if m.Code != message.Success || s.End() != x.LogEnd {
				t.Fatalf("%v, end %d, want %d", m.Code, s.End(), x.LogEnd)
			}
			if m := put(t, s, ofLength(122)).Messages[0]; m.Position != x.NextRecord.Append.Phy {
				t.Fatalf("next at %d, want %d", m.Position, x.NextRecord.Append.Phy)
			}
		})
	}
}

// The same puts give the same records, byte for byte but for the store time, and the same entries as in RocketMQ.
func TestDispatchVectors(t *testing.T) {
	var v struct {
		Puts []struct {
			Topic, Properties, Hosts, Status, Record string
			Queue                                    message.QueueID
			SysFlag                                  int32
			Phy                                      message.Position
			QueueOffset                              message.Offset
		}
		Batches       []struct{ Records string }
		ConsumeQueues []struct {
			Topic                string
			Queue                message.QueueID
			MinOffset, MaxOffset message.Offset
			Entries              [][3]int64
		}
	}
	readJSON(t, "testdata/vectors/store-dispatch.json", &v)
	cfg := testConfig()
	c := clock.NewManual(time.UnixMilli(1796089234000))
	a := newArrivals()
	s := openTest(t, vfs.NewMem(nil), "/store", cfg, func(o *Options) { o.Clock, o.OnArrival = c, a.add })
	store := func(hexRecords string) {
		t.Helper()
		b, err := hex.DecodeString(hexRecords)
		if err != nil {
			t.Fatal(err)
		}
		want := b
		var list []Message
		for len(b) > 0 {
			rec, n, err := message.ParseRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			// The schedule and transaction services rewrite messages before they reach the store: take what is stored.
			list = append(list, Message{Topic: string(rec.Topic()), Queue: rec.QueueID(), Flag: rec.Flag(), SysFlag: rec.SysFlag(),
				BornTimestamp: rec.BornTimestamp(), BornHost: rec.BornHost(), StoreHost: rec.StoreHost(),
				ReconsumeTimes: rec.ReconsumeTimes(), PreparedTransactionOffset: int64(rec.PreparedPosition()),
				Body: rec.Body(), Properties: rec.Properties()})
			if d := time.UnixMilli(rec.StoreTimestamp()).Sub(c.Now()); d > 0 && len(list) == 1 {
				c.Advance(d)
			}
			b = b[n:]
		}
		list[0].Unit = int32(len(list))
		for i, m := range put(t, s, list...).Messages {
			got := make([]byte, m.size)
			if err := s.log.ReadAt(int64(m.Position), got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want[:m.size]) {
				t.Fatalf("record %d:\n got %x\nwant %x", i, got, want[:m.size])
			}
			want = want[m.size:]
		}
	}
	for _, x := range v.Puts {
		store(x.Record)
	}
	for _, x := range v.Batches {
		store(x.Records)
	}
	total := 0
	for _, x := range v.ConsumeQueues {
		total += len(x.Entries)
	}
	a.wait(t, total)
	for _, x := range v.ConsumeQueues {
		key := message.QueueKey{Topic: x.Topic, ID: x.Queue}
		if first, end, _ := s.Bounds(key); first != x.MinOffset || end != x.MaxOffset {
			t.Errorf("%v: bounds %d %d, want %d %d", key, first, end, x.MinOffset, x.MaxOffset)
		}
		raw, ref, err := s.Entries(key, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range x.Entries {
			e := message.DecodeEntry(raw[20*i:])
			if e != (message.Entry{Position: message.Position(want[0]), Size: int32(want[1]), TagsCode: want[2]}) {
				t.Errorf("%v: entry %d is %+v, want %v", key, i, e, want)
			}
		}
		ref.Release()
	}
}

// The search by time answers as RocketMQ 4.9.7 does, but takes the first of equal times, and isn't misled by the
// modification times of files.
func TestByTimeVectors(t *testing.T) {
	var v struct {
		Queues []struct {
			Times                []int64
			PerFile              int
			Mtimes               []int64
			EntriesBelowLogStart int
			Queries              [][2]int64
		}
	}
	readJSON(t, "testdata/vectors/store-by-time.json", &v)
	key := message.QueueKey{Topic: "T"}
	for i, x := range v.Queues {
		if x.Mtimes != nil || x.EntriesBelowLogStart > 0 {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			cfg := testConfig()
			cfg.ConsumeQueueEntries = x.PerFile
			c := clock.NewManual(time.UnixMilli(1700000000000))
			s := openTest(t, vfs.NewMem(nil), "/store", cfg, func(o *Options) { o.Clock = c })
			for _, at := range x.Times {
				c.Advance(time.UnixMilli(at).Sub(c.Now()))
				put(t, s, text("T", 0, "x"))
			}
			if err := s.dispatchAll(); err != nil {
				t.Fatal(err)
			}
			for _, q := range x.Queries {
				got, err := s.OffsetByTime(key, q[0], transport.Nearest)
				if err != nil {
					t.Fatal(err)
				}
				want := message.Offset(q[1])
				for want > 0 && x.Times[want] == q[0] && x.Times[want-1] == q[0] {
					want--
				}
				if got != want {
					t.Errorf("at %d: %d, want %d", q[0], got, want)
				}
				checkBoundaries(t, s, key, x.Times, q[0])
			}
		})
	}
}

// checkBoundaries compares Lower and Upper with a plain walk.
func checkBoundaries(t *testing.T, s *Store, key message.QueueKey, times []int64, ts int64) {
	t.Helper()
	lower, upper := len(times), 0
	for i := len(times) - 1; i >= 0 && times[i] >= ts; i-- {
		lower = i
	}
	for i, at := range times {
		if at <= ts {
			upper = i
		}
	}
	if got, err := s.OffsetByTime(key, ts, transport.Lower); err != nil || got != message.Offset(lower) {
		t.Errorf("lower of %d: %d, %v, want %d", ts, got, err, lower)
	}
	if got, err := s.OffsetByTime(key, ts, transport.Upper); err != nil || got != message.Offset(upper) {
		t.Errorf("upper of %d: %d, %v, want %d", ts, got, err, upper)
	}
}

// A record whose bytes are known (RocketMQ's own encoding of it) comes out of the store.
func TestKnownRecord(t *testing.T) {
	const want = "0000007adaa320a73610a68600000001000000000000000000000000000000000000000000000000" + "0000018bcfe568007f0000010000c350" +
		"0000018bcfe5687bc0a8010a00002a9f00000000000000000000000000000005" +
		"68656c6c6f09546f70696354657374" + "00114b455953016b3102544147530154616741"
	c := clock.NewManual(time.UnixMilli(1700000000123))
	s := openTest(t, vfs.NewMem(nil), "/store", testConfig(), func(o *Options) { o.Clock = c })
	b := put(t, s, Message{Topic: "TopicTest", Queue: 1, BornTimestamp: 1700000000000,
		BornHost: netip.MustParseAddrPort("[::ffff:127.0.0.1]:50000"), StoreHost: storeHost, Body: []byte("hello"),
		Properties: []byte("KEYS\x01k1"), MoreProperties: []byte("TAGS\x01TagA")})
	got := make([]byte, b.Messages[0].size)
	if err := s.log.ReadAt(0, got); err != nil || hex.EncodeToString(got) != want {
		t.Fatalf("%v\n got %x\nwant %s", err, got, want)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	err := Config{Flush: "never", SegmentSize: plugin.GiB * 2, DeleteAt: []int{24}, DiskRefuse: 1.5}.Validate()
	for _, want := range []string{`flush: "never" is unknown; choose async or sync`, "flush_interval: 0s is not between 1ms and 1h",
		"segment_size: 2147483648 is not between 1024 and 2147483647 bytes", "delete_at: 24 is not an hour",
		"consume_queue_entries: 0 is not", "disk_refuse: 1.5 is not between 0 and 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
