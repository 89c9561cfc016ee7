package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/internal/vfs/errorfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// full lets no byte more onto the disk: what would make a file or write to one fails.
func full(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.Create, errorfs.Write, errorfs.Allocate, errorfs.MkdirAll:
		return syscall.ENOSPC
	}
	return nil
}

// TestAFullDisk fills the disk under a whole broker and makes room again: sends are refused with the reason and producers
// may try elsewhere, reads and commits go on, and nothing that was acknowledged or committed is lost.
func TestAFullDisk(t *testing.T) {
	for _, flush := range []string{store.FlushAsync, store.FlushSync} {
		t.Run(flush, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fullDisk(t, flush) })
		})
	}
}

func fullDisk(t *testing.T, flush string) {
	w := newWorld()
	disk := errorfs.Wrap(vfs.NewMem(nil), nil)
	w.fs, w.sec.Store.Flush = disk, flush
	n := w.start(t)
	ctx, c := t.Context(), caller(newSession("10.0.0.3:50001"))
	q := message.QueueKey{Topic: "T"}
	n.mustSend("T", "before")
	n.eventuallyVisible("T", 0, 1)
	if err := n.h.Offsets.CommitOffset(ctx, c, "g", q, 0); err != nil {
		t.Fatal(err)
	}
	n.heartbeat(newSession("10.0.0.4:1"), "a")
	time.Sleep(6 * time.Second) // offsets and metadata are on the disk

	disk.Set(full)
	for range 3 {
		s := n.send(c.Session, newSend("T", "while full")).Sends[0]
		if s.Code != message.ServiceNotAvailable || !strings.Contains(s.Remark, "no space left on device; make room on the broker's disk") {
			t.Errorf("sent to a full disk: %v %q", s.Code, s.Remark)
		}
		time.Sleep(300 * time.Millisecond)
	}
	if s := n.send(c.Session, newSend("New", "x")).Sends[0]; s.Code != message.ServiceNotAvailable || !strings.Contains(s.Remark, "free space on the disk of") {
		t.Errorf("sent to a new topic: %v %q", s.Code, s.Remark)
	}
	if r := n.giveBack(transport.Return{Group: "g", Position: 0}); r.Code != message.SystemError || !strings.Contains(r.Remark, "no space left on device") {
		t.Errorf("returned: %v %q", r.Code, r.Remark)
	}
	if err := n.h.Topics.PutTopic(ctx, c, transport.TopicConfig{Name: "U", ReadQueues: 1, WriteQueues: 1, Perm: 6}); codeOf(t, err) != message.SystemError {
		t.Errorf("put a topic: %v", err)
	}
	p := n.pull("g", "T", 0, 0)
	if p.Code != message.Success || p.Records.Count != 1 || string(message.Record(p.Records.Chunks[0]).Body()) != "before" {
		t.Errorf("pulled from a full disk: %v %q, %d records", p.Code, p.Remark, p.Records.Count)
	}
	p.Records.Release()
	if p := n.pull("newcomers", "T", 0, 0); p.Code != message.Success {
		t.Errorf("pulled by a group that is new: %v %q", p.Code, p.Remark)
	} else {
		p.Records.Release()
	}
	if err := n.h.Offsets.CommitOffset(ctx, c, "g", q, 1); err != nil {
		t.Errorf("commit an offset: %v", err)
	}
	time.Sleep(20 * time.Second) // saving offsets fails meanwhile
	if at, err := n.h.Offsets.CommittedOffset(ctx, c, "g", q, true); at != 1 || err != nil {
		t.Errorf("committed offset %d, %v", at, err)
	}
	select {
	case err := <-n.b.Done():
		t.Errorf("a full disk ends the broker: %v", err)
	default:
	}

	disk.Set(nil)
	time.Sleep(time.Second)
	n.mustSend("T", "after")
	n.eventuallyVisible("T", 0, 2)
	time.Sleep(6 * time.Second)
	data, err := vfs.ReadFile(disk, "/data/config/consumerOffset.json", 1<<20)
	if err != nil || !strings.Contains(string(data), `"T@g":{0:1`) {
		t.Errorf("offsets on the disk: %s, %v", data, err)
	}
	n = n.restart()
	p = n.pull("g", "T", 0, 0)
	var bodies []string
	for _, chunk := range p.Records.Chunks {
		for len(chunk) > 0 {
			rec, size, err := message.ViewRecord(chunk)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, fmt.Sprintf("%d %s", rec.QueueOffset(), rec.Body()))
			chunk = chunk[size:]
		}
	}
	p.Records.Release()
	if got := strings.Join(bodies, ", "); got != "0 before, 1 after" {
		t.Errorf("after a restart there is %s", got)
	}
	n.stop()
}

// TestADiskThatFailsToFlushEndsTheBroker injects one fdatasync error. It is final: nothing is acknowledged any more, the
// fault is delivered, and stopping says that the next start will recover.
func TestADiskThatFailsToFlushEndsTheBroker(t *testing.T) {
	for _, flush := range []string{store.FlushAsync, store.FlushSync} {
		t.Run(flush, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				disk := errorfs.Wrap(vfs.NewMem(nil), nil)
				w.fs, w.sec.Store.Flush = disk, flush
				n := w.start(t)
				n.mustSend("T", "before")
				time.Sleep(time.Second)
				disk.Set(errorfs.OnPath("commitlog", errorfs.Nth(1, errorfs.OnKind(errorfs.Datasync, syscall.EIO))))
				s := n.send(newSession("10.0.0.2:1"), newSend("T", "lost")).Sends[0]
				if flush == store.FlushSync && s.Code != message.ServiceNotAvailable {
					t.Errorf("a message that could not be flushed is acknowledged: %v %q", s.Code, s.Remark)
				}
				time.Sleep(time.Second)
				select {
				case err := <-n.b.Done():
					if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "flush commit log") {
						t.Errorf("the fault is %v", err)
					}
				default:
					t.Fatal("no fault is delivered")
				}
				for range 2 { // although the next flush would succeed
					s := n.send(newSession("10.0.0.2:1"), newSend("T", "never")).Sends[0]
					if s.Code != message.ServiceNotAvailable || !strings.Contains(s.Remark, "nothing more is acknowledged") {
						t.Errorf("after the fault: %v %q", s.Code, s.Remark)
					}
				}
				if err := n.b.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "the next start will recover") {
					t.Errorf("stopped: %v", err)
				}
				w.cfg.Sections = nil
				n = w.start(t)
				n.mustSend("T", "again")
				n.stop()
			})
		})
	}
}
