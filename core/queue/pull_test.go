package queue

import (
	"context"
	"testing"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func TestPullTags(t *testing.T) {
	w := newWorld(t, nil)
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	s := session(1)
	w.heartbeat(t, s, "c1", consumer("g", sub("T", "A")))
	for i := range 10 {
		w.log.send("T", 0, string(rune('A'+i%2)), string(rune('a'+i)))
	}
	var rs replies
	p := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: &rs, Group: "g", Topic: "T", MaxNum: 32}
	w.pulls.Pull(context.Background(), p)
	if got := bodies(t, &p.Records); p.Code != 0 || len(got) != 5 || got[0] != "a" || got[4] != "i" {
		t.Fatalf("code %v remark %s bodies %v", p.Code, p.Remark, got)
	}
	if p.NextBeginOffset != 10 {
		t.Fatalf("next %d", p.NextBeginOffset)
	}
	p.Records.Release()
	if n := w.log.lent.Load(); n != 0 {
		t.Fatalf("%d references left", n)
	}
	p.Offset, p.Suspend = 10, true
	rs.take()
	w.pulls.Pull(context.Background(), p)
	if w.pulls.Held() != 1 || len(rs.take()) != 0 {
		t.Fatal("not held")
	}
	w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "B", "x")})
	if w.pulls.Held() != 1 {
		t.Fatal("woken by the wrong tag")
	}
	w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "A", "y")})
	if w.pulls.Held() != 0 || p.Code != 0 || bodies(t, &p.Records)[0] != "y" || p.NextBeginOffset != 12 {
		t.Fatalf("code %v next %d", p.Code, p.NextBeginOffset)
	}
}
