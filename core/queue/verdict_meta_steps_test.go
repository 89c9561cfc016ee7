package queue

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
)

// The steps of the metamorphic test.

// sendOn sends without waiting until the messages have been judged: what comes next meets the dispatcher at any point.
func (m *metamorphic) sendOn(q message.QueueKey) {
	n := m.r.IntN(100)
	if n > 0 {
		m.w.append(q, n, m.number, "A", "B")
		m.number += uint64(n)
	}
}

// reload gives the module another version while messages arrive, so that both versions judge some of them.
func (m *metamorphic) reload(q message.QueueKey) {
	w := m.w
	for range 3 {
		m.sendOn(q)
		w.compiler.version.Add(1)
		w.on.Renew(context.Background())
		w.off.Renew(context.Background())
	}
	w.awaitDispatch(q)
}

func (m *metamorphic) removeFiles(message.QueueKey) {
	for _, f := range verdictFiles(m.t, m.w.fs, verdictDir) {
		if m.r.IntN(2) == 0 {
			_ = m.w.fs.Remove(f)
		}
	}
}

func (m *metamorphic) restart(message.QueueKey) {
	m.w.close()
	m.w.open()
}

func (m *metamorphic) expire(message.QueueKey) {
	if err := m.w.store.DeleteExpired(); err != nil {
		m.t.Fatal(err)
	}
	m.w.on.keepVerdicts()
}

func (m *metamorphic) send(q message.QueueKey) {
	n := 1 + m.r.IntN(200)
	if m.r.IntN(3) == 0 {
		m.w.send(q, n, m.number)
	} else {
		m.w.send(q, n, m.number, "A", "B")
	}
	m.number += uint64(n)
}

// damage changes a byte in some files and cuts others.
func (m *metamorphic) damage(message.QueueKey) {
	for _, path := range verdictFiles(m.t, m.w.fs, verdictDir) {
		if m.r.IntN(2) == 0 {
			continue
		}
		data, err := vfs.ReadFile(m.w.fs, path, 1<<20)
		if err != nil {
			m.t.Fatal(err)
		}
		f, err := m.w.fs.Open(path, vfs.ReadWrite)
		if err != nil {
			m.t.Fatal(err)
		}
		at := m.r.IntN(len(data))
		if m.r.IntN(2) == 0 {
			err = f.Truncate(int64(at))
		} else {
			_, err = f.WriteAt([]byte{data[at] ^ 1<<m.r.IntN(8)}, int64(at))
		}
		if err != nil {
			m.t.Fatal(err)
		}
		_ = f.Close()
	}
}

// crash goes on with what a crash has left.
func (m *metamorphic) crash(left *vfs.Mem) {
	_ = m.w.store.Close(context.Background()) // of the old file system
	m.w.fs = left
	m.w.open()
}

// deleteTopic deletes the queue's topic, and makes it anew with that queue.
func (m *metamorphic) deleteTopic(q message.QueueKey) {
	m.forget(q.Topic)
	m.send(q)
}

func (m *metamorphic) forget(topic string) {
	w := m.w
	if w.covers != nil {
		if err := w.covers.Forget(topic); err != nil {
			m.t.Fatal(err)
		}
		defer w.covers.Allow(topic)
	}
	if err := w.store.DeleteTopic(topic); err != nil {
		m.t.Fatal(err)
	}
	for _, q := range allQueues() {
		if q.Topic == topic {
			w.sent[q] = 0
		}
	}
}

// elsewhere runs the store without verdicts, as RocketMQ would: sends, makes a topic anew, and comes back.
func (m *metamorphic) elsewhere(q message.QueueKey) {
	w := m.w
	w.close()
	w.verdicts = false
	w.open()
	if m.r.IntN(2) == 0 {
		m.forget(q.Topic)
	}
	for range m.r.IntN(4) {
		m.send(q)
	}
	w.close()
	w.verdicts = true
	w.open()
}

// cutLog takes the end of the log away, as a disk that lost it would have. Perhaps somebody else stores other messages in
// its place before we come back.
func (m *metamorphic) cutLog(q message.QueueKey) {
	w := m.w
	low, high, ok := w.store.Bounds(q)
	if !ok || low == high {
		return
	}
	e, found, err := entryAt(w.store, q, max(low, high-1-message.Offset(m.r.Int64N(200))))
	if err != nil {
		m.t.Fatal(err)
	}
	w.close()
	if found {
		m.zeroLog(int64(e.Position))
	}
	if m.r.IntN(2) == 0 {
		w.verdicts = false
		w.open()
		for range m.r.IntN(4) {
			m.send(q)
		}
		w.close()
		w.verdicts = true
	}
	w.open()
}

// zeroLog makes all of the log from a position on zero, and the store believe that it didn't stop cleanly.
func (m *metamorphic) zeroLog(from int64) {
	w := m.w
	size := int64(w.storeCfg.SegmentSize)
	list, err := w.fs.ReadDir("/store/commitlog")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, info := range list {
		start, _ := strconv.ParseInt(info.Name, 10, 64)
		at := max(0, from-start)
		if at >= size {
			continue
		}
		f, err := w.fs.Open(filepath.Join("/store/commitlog", info.Name), vfs.ReadWrite)
		if err != nil {
			m.t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, info.Size-at), at); err != nil {
			m.t.Fatal(err)
		}
		_ = f.Sync()
		_ = f.Close()
	}
	_ = w.fs.Remove("/store/weir/flushed")
	f, err := w.fs.Open("/store/abort", vfs.Create)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = f.Close()
	_ = w.fs.SyncDir("/store/weir")
	_ = w.fs.SyncDir("/store")
}
