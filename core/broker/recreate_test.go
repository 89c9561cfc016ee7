package broker

import (
	"testing"

	"github.com/weirmq/weir/core/message"
)

// TestRecreatedTopic deletes a topic that a group has consumed, and makes it again: the group must get all of the new one, whether it was
// online and still commits, or was away.
func TestRecreatedTopic(t *testing.T) {
	n := newWorld().start(t)
	ctx, c, q := t.Context(), caller(newSession("10.0.0.1:1")), message.QueueKey{Topic: "T"}
	for range 3 {
		n.mustSend("T", "old")
	}
	commit := func(group string, at message.Offset) {
		t.Helper()
		if err := n.h.Offsets.CommitOffset(ctx, c, group, q, at); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(group string) message.Offset {
		t.Helper()
		at, err := n.h.Offsets.CommittedOffset(ctx, c, group, q, false)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	commit("online", 3)
	commit("away", 3)
	if err := n.h.Topics.DeleteTopic(ctx, c, "T"); err != nil {
		t.Fatal(err)
	}
	commit("online", 3) // it doesn't know yet
	all, err := n.h.GroupAd.AllOffsets(ctx, c)
	if err != nil || len(all["T@online"])+len(all["T@away"]) != 0 {
		t.Errorf("after the deletion there are the offsets %v %v", all, err)
	}
	for _, body := range []string{"1", "2", "3", "4"} {
		n.mustSend("T", body)
	}
	for _, group := range []string{"online", "away"} {
		if at := begin(group); at != 0 {
			t.Errorf("group %s goes on from %d", group, at)
		}
	}
	if p := n.pull("online", "T", 0, 9); p.Code != message.PullOffsetMoved || p.NextBeginOffset != 0 {
		t.Errorf("a pull behind the end is sent to %d with %v", p.NextBeginOffset, p.Code)
	}
	commit("online", 2)
	commit("away", 8)
	if at := begin("online"); at != 2 {
		t.Errorf("a new offset is %d", at)
	}
	if at := begin("away"); at != 0 {
		t.Errorf("an offset behind the end is corrected to %d", at)
	}
	n = n.restart() // and who deleted the topic is still known
	if p := n.pull("online", "T", 0, 9); p.NextBeginOffset != 0 {
		t.Errorf("after a restart, a pull behind the end is sent to %d", p.NextBeginOffset)
	}
	n.mustSend("U", "x")
	if p := n.pull("online", "U", 0, 9); p.NextBeginOffset != 1 {
		t.Errorf("in a topic that was never deleted, a pull behind the end is sent to %d", p.NextBeginOffset)
	}
}
