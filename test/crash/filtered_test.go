package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/raw"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestKillFiltered kills a broker while groups consume with SQL92 filters, some with the same expression. Each group must get
// exactly the messages that match, in order, whatever was judged before a kill, when it arrived or at a pull.
func TestKillFiltered(t *testing.T) {
	count := kills(t)
	broker := sut.Start(t, sut.Options{Flush: "async", Home: keptDir(t), SegmentSize: 1 << 20, QueueEntries: 1000,
		WeirSettings: map[string]string{"QUEUES__VERDICTS__SAVE_INTERVAL": "100ms"}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	withConn(ctx, t, broker, func(c *raw.Conn) error { return c.CreateTopic(ctx, topic, queues) })

	var next atomic.Uint64
	book, groups := newLedger(), filteredGroups()
	acknowledged := 0
	for round := range count {
		stop := consumeFiltered(ctx, broker.Addr(), groups)
		acks := loadAndKill(ctx, t, broker, &next)
		stop()
		acknowledged += len(acks)
		if rand.IntN(8) == 0 {
			broker.KillWhileStarting(time.Duration(rand.IntN(60)+1) * time.Millisecond)
		}
		broker.Start(t)
		withConn(ctx, t, broker, func(c *raw.Conn) error {
			if err := book.verify(ctx, c, acks, next.Load()); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
			for _, g := range groups {
				if err := g.catchUp(ctx, c, book); err != nil {
					return fmt.Errorf("after kill %d: group %s (%s): %w", round+1, g.name, g.expression, err)
				}
			}
			return nil
		})
	}
	delivered := 0
	for _, g := range groups {
		for _, list := range g.got {
			delivered += len(list)
		}
		// All over again, by verdicts that were kept over many kills.
		again := &filteredGroup{name: g.name + "-again", expression: g.expression, matches: g.matches}
		withConn(ctx, t, broker, func(c *raw.Conn) error {
			if err := again.catchUp(ctx, c, book); err != nil {
				return fmt.Errorf("from the beginning: %s: %w", g.expression, err)
			}
			return nil
		})
	}
	if delivered == 0 {
		t.Error("no filter delivered anything")
	}
	t.Logf("%d kills; %d messages acknowledged, %d delivered by %d filters, each that matches and no other", count, acknowledged, delivered, len(groups))
}

// filteredGroup consumes all queues with an expression.
type filteredGroup struct {
	name, expression string
	matches          func(seq uint64) bool
	next             [queues]int64
	got              [queues][]int64 // offsets
}

func filteredGroups() []*filteredGroup {
	three := func(seq uint64) bool { return seq%10 == 3 }
	return []*filteredGroup{
		{name: "three", expression: "mod = '3'", matches: three},
		{name: "three-too", expression: "mod = '3'", matches: three},
		{name: "number", expression: "mod BETWEEN 4 AND 6 AND TAGS = 'Tag'", matches: func(seq uint64) bool { return seq%10 >= 4 && seq%10 <= 6 }},
		{name: "old", expression: "seq < 1000 OR mod IN ('8', 'x')", matches: func(seq uint64) bool { return seq < 1000 || seq%10 == 8 }},
		{name: "none", expression: "mod = '10'", matches: func(uint64) bool { return false }},
	}
}

// consumeFiltered lets every group consume, each over a connection of its own, until the connections end. The function that it
// returns waits for that. A group that can't connect any more has nothing to do.
func consumeFiltered(ctx context.Context, addr string, groups []*filteredGroup) (wait func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() {
			c, err := raw.Dial(ctx, addr)
			if err != nil {
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				for queue := range queues {
					if err := g.pull(ctx, c, queue); err != nil {
						return // the broker is gone
					}
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// pull asks for messages of one queue once. Being at the end is no error.
func (g *filteredGroup) pull(ctx context.Context, c *raw.Conn, queue int) error {
	p, err := c.PullBy(ctx, g.name, topic, queue, g.next[queue], "SQL92", g.expression)
	if err != nil {
		return err
	}
	for _, r := range p.Records {
		g.got[queue] = append(g.got[queue], r.QueueOffset)
	}
	g.next[queue] = p.Next
	return nil
}

// catchUp pulls to the end of what is known of the queues, and compares.
func (g *filteredGroup) catchUp(ctx context.Context, c *raw.Conn, book *ledger) error {
	for queue, known := range book.queues {
		for end := int64(len(known)); g.next[queue] < end; {
			before := g.next[queue]
			if err := g.pull(ctx, c, queue); err != nil {
				return err
			}
			if g.next[queue] <= before {
				return fmt.Errorf("queue %d: stuck at %d of %d", queue, before, end)
			}
		}
		if g.next[queue] > int64(len(known)) {
			return fmt.Errorf("queue %d: at %d, behind the end %d", queue, g.next[queue], len(known))
		}
		var want []int64
		for offset, seq := range known {
			if g.matches(seq) {
				want = append(want, int64(offset))
			}
		}
		if !slices.Equal(g.got[queue], want) {
			return fmt.Errorf("queue %d: %w", queue, difference(g.got[queue], want))
		}
	}
	return nil
}

// difference names the first offset that one list has and the other hasn't.
func difference(got, want []int64) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%d of %d matching messages came, the one at %d didn't", len(got), len(want), want[i])
		case i >= len(want):
			return fmt.Errorf("%d messages came, %d match; the one at %d is too many", len(got), len(want), got[i])
		case got[i] != want[i]:
			return fmt.Errorf("message %d that came is the one at %d, want that at %d", i, got[i], want[i])
		}
	}
	return errors.New("they are equal")
}

// TestFilteredGroupFindsWhatIsMissing judges the judge.
func TestFilteredGroupFindsWhatIsMissing(t *testing.T) {
	for _, x := range []struct {
		got  []int64
		want string
	}{
		{[]int64{1, 5}, "2 of 3 matching messages came, the one at 9 didn't"},
		{[]int64{1, 5, 9, 10}, "4 messages came, 3 match; the one at 10 is too many"},
		{[]int64{1, 9}, "message 1 that came is the one at 9, want that at 5"},
	} {
		if got := difference(x.got, []int64{1, 5, 9}).Error(); got != x.want {
			t.Errorf("%v: %s, want %s", x.got, got, x.want)
		}
	}
}
