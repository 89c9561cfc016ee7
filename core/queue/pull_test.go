package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

type getVector struct {
	Setup  string
	Topic  string
	Queue  int32
	Offset int64
	MaxNum int32
	Tags   []int32
	Result json.RawMessage
}

type getResult struct {
	Status              string
	NextBegin, Min, Max message.Offset
	Count, Bytes        int
}

// vectorTags finds tag texts with the vectors' codes.
var vectorTags = map[int32]string{2598919: "TagA", 12345: "no such tag"}

// TestVectorsOfRealReads compares reads with those of the real 4.9.7 classes over the same queues and with its limits.
//
// Two differences are wanted. A pull that has found nothing goes on in the next index file, where Java answers 20 and is
// asked again: the answer must then be one of the places to which Java's next pulls lead. And an entry at position 0
// whose segment is gone counts as gone, where Java delivers whatever begins the first segment.
func TestVectorsOfRealReads(t *testing.T) {
	text, err := os.ReadFile("testdata/store-get.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Get []getVector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Get {
		t.Run(fmt.Sprintf("%s/%s@%d/%d,%d,%v", v.Setup, v.Topic, v.Queue, v.Offset, v.MaxNum, v.Tags), func(t *testing.T) {
			checkVector(t, v)
		})
	}
}

func checkVector(t *testing.T, v getVector) {
	w := vectorWorld(t, v.Setup)
	p := &transport.Pull{Reply: &replies{}, Group: "g", Topic: v.Topic, QueueID: message.QueueID(v.Queue), Offset: message.Offset(v.Offset), MaxNum: v.MaxNum}
	var prog *program
	if len(v.Tags) > 0 {
		var err error
		if prog, err = w.programs.get(context.Background(), filter.Expression{Text: vectorTags[v.Tags[0]]}); err != nil {
			t.Fatal(err)
		}
	}
	w.pulls.read(context.Background(), p, chooser{prog: prog})
	got := getResult{p.Remark, p.NextBeginOffset, p.MinOffset, p.MaxOffset, p.Records.Count, p.Records.Size}
	if strings.HasPrefix(string(v.Result), `"exception`) {
		if p.Code != message.SystemError {
			t.Fatalf("code %v", p.Code)
		}
		return
	}
	var want getResult
	if err := json.Unmarshal(v.Result, &want); err != nil {
		t.Fatal(err)
	}
	if v.Setup == "D, log segments gone" && v.Offset == 0 {
		want = getResult{Status: statusRemoving, NextBegin: 10, Max: 60}
	}
	if got == want {
		return
	}
	if want.Count > 0 || want.Status != statusNoMatch && want.Status != statusRemoving || want.NextBegin == want.Max {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	first := p.NextBeginOffset
	if p.Records.Count > 0 {
		first = message.Record(p.Records.Chunks[0]).QueueOffset()
	}
	if p.Code != message.Success && p.Code != message.PullRetryImmediately || first < want.NextBegin {
		t.Fatalf("got  %+v\nwhere Java goes on at %d", got, want.NextBegin)
	}
}

// vectorWorld builds the store that a setup of the vectors describes, under RocketMQ's limits.
func vectorWorld(t *testing.T, setup string) *world {
	limits := func(c *Config) {
		c.PullMessagesMax, c.PullSizeMax, c.PullSizeMaxCold = 32, 256<<10, 64<<10
		c.ScanEntriesFound, c.ScanTimeMax = 1, 0
		if strings.Contains(setup, "disk") {
			c.PullMessagesMax = 8
		}
		if setup[0] == 'B' {
			c.PullSizeMax = 1000
		}
		if strings.Contains(setup, "500 bytes") {
			c.PullSizeMaxCold = 500
		}
	}
	w := newWorld(t, limits)
	w.log.perFile = 10
	fill := func(topic string, n, body int, tag func(i int) string) {
		for i := range n {
			size := body
			if topic == "A" && i >= 10 {
				size++ // the number is a part of the body
			}
			w.log.send(topic, 0, tag(i), strings.Repeat("x", size))
		}
	}
	tagA := func(int) string { return "TagA" }
	switch setup[0] {
	case 'A':
		fill("A", 25, 2, func(i int) string {
			if i%5 == 0 {
				return "TagA"
			}
			return "TagB"
		})
	case 'B', 'C':
		if setup[0] == 'B' {
			w.log.send("B", 0, "", strings.Repeat("x", 20000))
			w.log.send("B", 0, "", strings.Repeat("x", 10))
		}
		fill("C", 40, 100, tagA)
	case 'S':
		w.log.perFile = 2000
		fill("S", 1000, 1, func(i int) string {
			if i == 900 {
				return "TagA"
			}
			return "TagB"
		})
	case 'D':
		fill("D", 60, 300, tagA)
		w.log.oldest = message.Position(20 * 401)
		if strings.Contains(setup, "after cleaning") {
			w.log.queues[message.QueueKey{Topic: "D"}].low = 20
		}
	}
	if strings.Contains(setup, "disk") {
		w.log.hotFrom = math.MaxInt64
	}
	return w
}

// TestFullAnswerAcrossFiles shows that a pull that has found something stops at the end of an index file, one that
// hasn't goes on, and that filler is passed over.
func TestFullAnswerAcrossFiles(t *testing.T) {
	w := newWorld(t, nil)
	w.log.perFile = 4
	for i := range 12 {
		w.log.send("T", 0, map[bool]string{true: "A", false: "B"}[i == 2 || i >= 9], fmt.Sprint(i))
	}
	q := message.QueueKey{Topic: "T"}
	w.log.setEntry(q, 0, message.Entry{Size: fillerSize})
	for _, c := range []struct {
		offset, next message.Offset
		want         string
	}{{0, 4, "2"}, {3, 12, "9 10 11"}, {10, 12, "10 11"}} {
		prog, err := w.programs.get(context.Background(), filter.Expression{Text: "A"})
		if err != nil {
			t.Fatal(err)
		}
		p := &transport.Pull{Topic: "T", Offset: c.offset, MaxNum: 32}
		w.pulls.read(context.Background(), p, chooser{prog: prog})
		if got := strings.Join(bodies(t, &p.Records), " "); got != c.want || p.NextBeginOffset != c.next {
			t.Errorf("from %d: got %q and next %d, want %q and %d", c.offset, got, p.NextBeginOffset, c.want, c.next)
		}
	}
	p := &transport.Pull{Topic: "T", MaxNum: 32}
	w.pulls.read(context.Background(), p, chooser{})
	if got := strings.Join(bodies(t, &p.Records), " "); got != "1 2 3" {
		t.Errorf("with filler: %q", got)
	}
}

// TestScanGoesOnForATime shows that a pull without a match looks at the least number of entries, then on while it has
// time.
func TestScanGoesOnForATime(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.ScanTimeMax = 0 })
	for range 5000 {
		w.log.send("T", 0, "B", "x")
	}
	w.log.send("T", 0, "A", "found")
	prog, err := w.programs.get(context.Background(), filter.Expression{Text: "A"})
	if err != nil {
		t.Fatal(err)
	}
	p := &transport.Pull{Topic: "T", MaxNum: 32}
	w.pulls.read(context.Background(), p, chooser{prog: prog})
	if p.Code != message.PullRetryImmediately || p.NextBeginOffset != 800 {
		t.Fatalf("without time: code %v, next %d", p.Code, p.NextBeginOffset)
	}
	w = newWorldOver(t, w.log, nil)
	w.pulls.read(context.Background(), p, chooser{prog: prog})
	if p.Code != message.Success || p.NextBeginOffset != 5001 {
		t.Fatalf("with time: code %v, next %d", p.Code, p.NextBeginOffset)
	}
}

// newWorldOver is newWorld over a store that exists.
func newWorldOver(t testing.TB, l *fakeLog, change func(*Config)) *world {
	w := newWorld(t, change)
	w.log, w.pulls.set.Log = l, l
	return w
}

// TestReadErrorsAreAnswered shows that a store that can't be read answers code 1 and says why.
func TestReadErrorsAreAnswered(t *testing.T) {
	w := newWorld(t, nil)
	w.log.send("T", 0, "", "x")
	w.log.entryErr = errors.New("disk on fire")
	p := &transport.Pull{Topic: "T", MaxNum: 1}
	w.pulls.read(context.Background(), p, chooser{})
	if p.Code != message.SystemError || p.Remark != "pull T@0: disk on fire" {
		t.Errorf("code %v, remark %q", p.Code, p.Remark)
	}
}

// TestNoLostWakeUp lets a message arrive after the read found nothing and before the pull is registered: the arrival
// finds nobody, and the second look at the queue's end answers the pull.
func TestNoLostWakeUp(t *testing.T) {
	w := newWorld(t, nil)
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	w.heartbeat(t, session(1), "c", consumer("g", sub("T", "*")))
	looks := 0
	w.log.onBounds = func() {
		if looks++; looks == 2 {
			w.log.onBounds = nil
			w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "", "early")})
		}
	}
	var got replies
	p := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: "g", Topic: "T", MaxNum: 1,
		Suspend: true, SuspendTimeout: sweepInterval}
	w.pulls.Pull(context.Background(), p)
	if len(got.take()) != 1 || bodies(t, &p.Records)[0] != "early" || w.pulls.Held() != 0 {
		t.Errorf("code %v, held %d", p.Code, w.pulls.Held())
	}
}

// TestHoldersAreBounded shows that one pull too many is answered at once, and that Stop refuses those that are held.
func TestHoldersAreBounded(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.HeldPullsMax = 2 })
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	w.pulls.Start()
	var got replies
	pull := func() {
		p := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: "g", Topic: "T", MaxNum: 1,
			HasSubscription: true, Suspend: true, SuspendTimeout: sweepInterval}
		w.pulls.Pull(context.Background(), p)
	}
	for range 3 {
		pull()
	}
	if n := len(got.take()); n != 1 || w.pulls.Held() != 2 || w.counters.HoldRefused.Load() != 1 {
		t.Fatalf("%d answered at once, %d held", n, w.pulls.Held())
	}
	if err := w.pulls.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	answered := got.take()
	if len(answered) != 2 || answered[0].Code != message.ServiceNotAvailable || w.pulls.Held() != 0 {
		t.Fatalf("%d answered by Stop, first %v", len(answered), answered[0].Code)
	}
	pull()
	if n := len(got.take()); n != 1 {
		t.Errorf("%d answered after Stop", n)
	}
}

// TestRecordThatCannotBeHad shows that a pull stops in front of a record which is in the log but can't be read, with
// and without a filter that needs it, and that nothing behind it is delivered before it.
func TestRecordThatCannotBeHad(t *testing.T) {
	for _, e := range []filter.Expression{{}, tags("A"), tags("A||ext"), {Type: "BODY", Text: "x"}} {
		w := newWorld(t, nil)
		for range 3 {
			w.log.send("T", 0, "A", "x")
		}
		w.log.unreadable = w.log.End()
		last := w.log.send("T", 0, "A", "x")
		if e.Text == "A||ext" { // the index doesn't tell its tag
			last.TagsCode = message.MaxExtAddress - 5
			w.log.setEntry(last.Queue, last.Offset, last.Entry)
		}
		prog := mustGet(t, w.programs, e)
		p := &transport.Pull{Topic: "T", MaxNum: 32}
		w.pulls.read(context.Background(), p, chooser{prog: prog})
		if p.Code != message.Success || p.Records.Count != 3 || p.NextBeginOffset != 3 {
			t.Errorf("%v: code %v, %d records, next %d", e, p.Code, p.Records.Count, p.NextBeginOffset)
		}
		p.Records.Release()
		p.Offset = 3
		w.pulls.read(context.Background(), p, chooser{prog: prog})
		if p.Code != message.SystemError || p.Remark != "pull T@0: not readable yet" || p.NextBeginOffset != 3 {
			t.Errorf("%v: code %v, next %d, %s", e, p.Code, p.NextBeginOffset, p.Remark)
		}
	}
}
