package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/schedule/pending"
	"github.com/weirmq/weir/core/transport"
)

// timerWork is the buffers of one step of Timers. The loop's goroutine has the only one.
type timerWork struct {
	batch      []pending.Entry
	entries    []message.Entry
	records    transport.Records
	messages   []message.Message
	places     []int // of each message, its entry's
	errs       []error
	properties message.Properties // the arena of those that are made

	recalls   map[uint64][]pending.Entry // of recallDue, by key
	recallDue int64
}

// stepPieces is how many batches a step delivers before it looks at the queue again.
const stepPieces = 16

func (w *timerWork) reset() {
	w.records.Release()
	clear(w.messages)
	clear(w.errs)
	w.messages, w.places, w.errs, w.properties = w.messages[:0], w.places[:0], w.errs[:0], w.properties[:0]
}

// room returns an empty string at the arena's free end, and keep makes what was built there a part of it. What doesn't fit lies elsewhere.
func (w *timerWork) room() message.Properties { return w.properties[len(w.properties):] }

func (w *timerWork) keep(p message.Properties) message.Properties {
	if used := len(w.properties); cap(w.properties)-used >= len(p) {
		w.properties = w.properties[:used+len(p)]
	} else {
		w.properties = make(message.Properties, 0, max(2*cap(w.properties), propertiesMin)) // for the next ones
	}
	return p[:len(p):len(p)]
}

// propertiesMin is the size in bytes of a first arena.
const propertiesMin = 64 << 10

// read lends the records of w.entries from number from on, up to the first that can't be had, and calls f with each. It returns how many entries those are: when that one
// is passed over for good it counts, and the error is nil.
func (w *timerWork) read(t *Timers, from int, f func(i int, rec message.Record)) (n int, err error) {
	w.records.Release()
	entries := w.entries[from:]
	n, err = t.set.Log.Lend(entries, &w.records)
	eachRecord(&w.records, entries, func(i int, rec message.Record) { f(from+i, rec) })
	if n == len(entries) {
		return n, nil
	}
	switch at := entries[n].Position; {
	case isFiller(entries[n]):
		return n + 1, nil
	case at < t.set.Log.Begin():
		t.lose(at, "the log doesn't have it any more")
		return n + 1, nil
	case t.givesUp(at):
		t.lose(at, "it can't be read: "+err.Error())
		return n + 1, nil
	}
	return n, fmt.Errorf("%w: %w", errNoRecord, err)
}

// collect reads up to a batch of the queue's entries from an offset on.
func (w *timerWork) collect(t *Timers, from message.Offset) error {
	w.entries = w.entries[:0]
	raw, ref, err := t.set.Log.Entries(TimerQueue(), from, batchEntries)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		return err
	}
	size := 0
	for ; len(raw) >= message.EntrySize; raw = raw[message.EntrySize:] {
		e := message.DecodeEntry(raw)
		if size += int(e.Size); size > batchBytes && len(w.entries) > 0 {
			break
		}
		w.entries = append(w.entries, e)
	}
	return nil
}

// scan adds what the queue has, a batch. It says whether there is more.
func (t *Timers) scan() (more bool, err error) {
	low, high, ok := t.set.Log.Bounds(TimerQueue())
	t.look = max(t.look, low)
	if !ok || t.look >= high || t.pending.Full() {
		return false, nil
	}
	w := &t.work
	defer w.reset()
	if err := w.collect(t, t.look); err != nil {
		return false, err
	}
	first := t.look
	n, err := w.read(t, 0, func(i int, rec message.Record) { t.add(first+message.Offset(i), w.entries[i], rec) })
	if t.look = first + message.Offset(n); n > 0 {
		last := w.entries[n-1]
		t.pending.Skip(pending.Place{Offset: t.look, Position: last.Position + message.Position(last.Size)})
	}
	return err == nil && t.look < high, err
}

// add adds the record of an entry.
func (t *Timers) add(at message.Offset, e message.Entry, rec message.Record) {
	if _, _, err := message.ViewRecord(rec); err != nil {
		t.lose(e.Position, "its record is damaged")
		return
	}
	w := scanWaiting(rec.Properties())
	due, err := strconv.ParseInt(string(w.out), 10, 64)
	if err != nil {
		t.lose(e.Position, "it has no TIMER_OUT_MS that is a number")
		return
	}
	mark := pending.Mark{Due: due, Kind: pending.Deliver, Position: e.Position}
	if w.recalls != nil {
		mark.Kind = pending.Recall
	}
	if t.passed.Passed(at, mark) {
		return
	}
	behind := pending.Place{Offset: at + 1, Position: e.Position + message.Position(e.Size)}
	t.pending.Add(pending.Entry{Mark: mark, Size: e.Size, Key: w.key()}, behind)
}

// waiting is what the properties of a record in TimerQueue say. The texts lie in them.
type waiting struct{ out, recalls, topic, uniqKey []byte }

func scanWaiting(p message.Properties) (w waiting) {
	for rest := p; ; {
		name, value, next, ok := rest.Next()
		if !ok {
			return w
		}
		switch string(name) {
		case message.PropTimerOutMS:
			w.out = value
		case message.PropTimerDelKey:
			w.recalls = value
		case message.PropRealTopic:
			w.topic = value
		case message.PropUniqKey:
			w.uniqKey = value
		}
		rest = next
	}
}

// key is the same for a message and for what recalls it by topic and key.
func (w *waiting) key() uint64 {
	if w.recalls != nil {
		return uint64(fnvStart.add(w.recalls))
	}
	return uint64(fnvStart.add(w.topic).add([]byte{'+'}).add(w.uniqKey))
}

// fnv is FNV-1a of the texts that were added. It is stored, so it must not change.
type fnv uint64

const fnvStart fnv = 14695981039346656037

func (h fnv) add(b []byte) fnv {
	for _, c := range b {
		h = (h ^ fnv(c)) * 1099511628211
	}
	return h
}

// deliver stores again what is due. It says whether more may be due now.
func (t *Timers) deliver() (more bool, err error) {
	w := &t.work
	for piece := 0; ; piece++ {
		now := t.set.Clock.Now().UnixMilli()
		if err := t.take(now); err != nil {
			t.set.Logger.Warn("timed messages are read from their queue again: what was derived from it is damaged", "error", err)
			t.reset()
			return true, nil
		}
		if len(w.batch) == 0 {
			clear(w.recalls)
			return false, nil
		}
		if err := t.put(now); err != nil {
			t.returnRecalls()
			return false, err
		}
		next, ok, err := t.pending.Peek()
		if len(w.recalls) > 0 && (!ok || next.Due != w.recallDue) {
			clear(w.recalls)
		}
		// What is recalled is known for one time only: its messages are dealt with before anything else.
		if stopped := t.loop.Stopped(); stopped || piece >= stepPieces && len(w.recalls) == 0 {
			t.returnRecalls()
			return err == nil && ok && !stopped, nil
		}
	}
}

// reset reads the whole queue again.
func (t *Timers) reset() {
	t.passed = t.pending.Progress()
	t.pending.Reset()
	clear(t.work.recalls)
	t.look, _, _ = t.set.Log.Bounds(TimerQueue())
}

// returnRecalls puts back what recalls messages of a time that aren't all dealt with.
func (t *Timers) returnRecalls() {
	for _, list := range t.work.recalls {
		for _, e := range list {
			t.pending.Return(e)
		}
	}
	clear(t.work.recalls)
}

// take takes a batch of messages that are due out of the set, and what recalls them.
func (t *Timers) take(now int64) error {
	w := &t.work
	w.batch = w.batch[:0]
	size := 0
	for len(w.batch) < batchEntries && size < batchBytes {
		e, ok, err := t.pending.Peek()
		if err != nil {
			for _, e := range w.batch {
				t.pending.Return(e)
			}
			w.batch = w.batch[:0]
			return err
		}
		if !ok || e.Due > now {
			return nil
		}
		if len(w.recalls) > 0 && e.Due != w.recallDue {
			if len(w.batch) > 0 {
				return nil // those of that time first
			}
			clear(w.recalls)
		}
		if e.Kind == pending.Recall && len(w.batch) > 0 && len(w.recalls) == 0 {
			return nil // earlier messages first: recalls are known for one time only
		}
		t.pending.Pop()
		if e.Kind == pending.Recall {
			w.recallDue, w.recalls[e.Key] = e.Due, append(w.recalls[e.Key], e)
			t.pending.Done(e.Mark)
			continue
		}
		w.batch = append(w.batch, e)
		size += int(e.Size)
	}
	return nil
}

// put stores the messages of the batch again. Those for which that fails go back into the set.
func (t *Timers) put(now int64) error {
	w := &t.work
	w.entries = w.entries[:0]
	for _, e := range w.batch {
		w.entries = append(w.entries, message.Entry{Position: e.Position, Size: e.Size})
	}
	var failed error
	for from := 0; from < len(w.entries); {
		n, err := w.read(t, from, func(i int, rec message.Record) { t.restore(i, rec, now) })
		failed = errors.Join(failed, t.store(from, n, now))
		if from += n; err != nil {
			failed = errors.Join(failed, err)
			t.pending.Return(w.batch[from])
			from++
		}
	}
	return failed
}

// restore makes the message that a record becomes when its time has come, unless it was recalled.
func (t *Timers) restore(i int, rec message.Record, now int64) {
	w := &t.work
	m, why := restore(rec)
	if why != "" {
		t.lose(w.entries[i].Position, why)
		return
	}
	if w.recalled(t, w.batch[i].Key, rec.Properties()) {
		t.Figures.Recalled.Add(1)
		return
	}
	m.Properties = w.keep(RestoreTimer(w.room(), m.Properties, rec.StoreTimestamp(), now))
	w.messages, w.places = append(w.messages, m), append(w.places, i)
}

// recalled says whether one of the records that recall messages of this time means that with properties p. Before RocketMQ 5.3 such a record, which a
// producer sends by itself, has the message's key only.
func (w *timerWork) recalled(t *Timers, key uint64, p message.Properties) bool {
	if len(w.recalls) == 0 {
		return false
	}
	m := scanWaiting(p)
	for _, k := range [...]uint64{key, uint64(fnvStart.add(m.uniqKey))} {
		for _, e := range w.recalls[k] {
			if t.means(e, &m) {
				return true
			}
		}
	}
	return false
}

// means says whether a record recalls a message. It has to be of the message's topic: who sent it was allowed to send there, and nowhere else.
func (t *Timers) means(e pending.Entry, m *waiting) bool {
	var records transport.Records
	defer records.Release()
	if n, err := t.set.Log.Lend([]message.Entry{{Position: e.Position, Size: e.Size}}, &records); n == 0 || err != nil {
		return false
	}
	rec := message.Record(records.Chunks[0])
	if _, _, err := message.ViewRecord(rec); err != nil {
		return false
	}
	r := scanWaiting(rec.Properties())
	if len(m.uniqKey) == 0 || !bytes.Equal(r.topic, m.topic) {
		return false
	}
	if topic, key, ok := bytes.Cut(r.recalls, []byte{'+'}); ok && bytes.Equal(topic, m.topic) {
		return bytes.Equal(key, m.uniqKey)
	}
	return bytes.Equal(r.recalls, m.uniqKey)
}

// store stores what restore has made of n entries from number from on.
func (t *Timers) store(from, n int, now int64) (failed error) {
	w := &t.work
	for len(w.errs) < len(w.messages) {
		w.errs = append(w.errs, nil)
	}
	errs := w.errs[:len(w.messages)]
	if len(w.messages) > 0 {
		t.set.Put.Put(w.messages, errs)
	}
	next := 0 // of places
	for i := from; i < from+n; i++ {
		e := w.batch[i]
		if next >= len(w.places) || w.places[next] != i {
			t.pending.Done(e.Mark) // recalled or lost
			continue
		}
		err := errs[next]
		next++
		if refused, ok := errors.AsType[*message.Error](err); ok && refused.Code == message.MessageIllegal {
			t.lose(e.Position, refused.Remark)
		} else if err != nil {
			t.pending.Return(e)
			failed = fmt.Errorf("store the message of position %d again: %w", e.Position, err)
			continue
		} else {
			t.Figures.Delivered.Add(1)
			t.Figures.LatestMillis.Store(now - e.Due)
		}
		delete(t.stuck, e.Position)
		t.pending.Done(e.Mark)
	}
	w.reset()
	return failed
}

// roll stores again what waits before the position that Keep was asked for, a batch. It says whether there is more.
func (t *Timers) roll() (more bool, err error) {
	to := message.Position(t.wanted.Load())
	rolled := t.pending.Progress().Rolled
	low, high, ok := t.set.Log.Bounds(TimerQueue())
	rolled.Offset = max(rolled.Offset, low)
	if to <= rolled.Position || !ok || t.look < high {
		return false, nil // what the queue has is looked at first
	}
	w := &t.work
	defer w.reset()
	if rolled.Offset < high {
		if err := w.collect(t, rolled.Offset); err != nil {
			return false, err
		}
	} else {
		w.entries = w.entries[:0]
	}
	last := len(w.entries) == 0
	for i, e := range w.entries {
		if e.Position >= to && !isFiller(e) {
			w.entries, last = w.entries[:i], true
			break
		}
	}
	done := t.pending.Progress().Done
	n, err := w.read(t, 0, func(i int, rec message.Record) { t.rollOne(i, rec, done) })
	if n == 0 && err != nil {
		return false, err
	}
	if err := t.storeRolled(); err != nil {
		return false, err
	}
	rolled.Offset += message.Offset(n)
	if n > 0 {
		rolled.Position = max(rolled.Position, w.entries[n-1].Position+message.Position(w.entries[n-1].Size))
	}
	if last || rolled.Offset >= high {
		rolled.Position = max(rolled.Position, to)
		t.pending.Save()
	}
	t.pending.Roll(rolled)
	return rolled.Position < to, err
}

// rollOne makes the message that takes the place of a record if that still waits.
func (t *Timers) rollOne(i int, rec message.Record, done pending.Mark) {
	w := &t.work
	m, why := restore(rec)
	p := rec.Properties()
	says := scanWaiting(p)
	due, err := strconv.ParseInt(string(says.out), 10, 64)
	if why != "" || err != nil {
		return // it was passed over when it was looked at
	}
	mark := pending.Mark{Due: due, Kind: pending.Deliver, Position: w.entries[i].Position}
	if says.recalls != nil {
		mark.Kind = pending.Recall
	}
	if mark.Compare(done) < 0 {
		return
	}
	times, _ := p.Get(message.PropTimerRollTimes)
	n, _ := strconv.Atoi(string(times))
	queue := TimerQueue()
	m.Topic, m.QueueID = queue.Topic, queue.ID
	m.Properties = w.keep(message.AppendReplaced(w.room(), p, message.PropTimerRollTimes, strconv.Itoa(n+1)))
	w.messages, w.places = append(w.messages, m), append(w.places, i)
}

// storeRolled stores what rollOne has made. When one can't be stored, those that were stored come twice.
func (t *Timers) storeRolled() error {
	w := &t.work
	if len(w.messages) == 0 {
		return nil
	}
	for len(w.errs) < len(w.messages) {
		w.errs = append(w.errs, nil)
	}
	t.set.Put.Put(w.messages, w.errs[:len(w.messages)])
	for i, err := range w.errs[:len(w.messages)] {
		if err != nil {
			return fmt.Errorf("store the message of position %d again: %w", w.entries[w.places[i]].Position, err)
		}
	}
	t.Figures.Rolled.Add(int64(len(w.messages)))
	return nil
}
