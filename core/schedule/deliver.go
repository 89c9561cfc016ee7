package schedule

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// Bounds of a batch that is delivered together.
const (
	batchEntries = 256
	batchBytes   = 1 << 20
)

// delivery is the buffers of one batch. The loop's goroutine has the only one.
type delivery struct {
	entries  []message.Entry
	records  transport.Records
	messages []message.Message
	places   []int // of each message, its entry's
	errs     []error

	// Of dueTime:
	codes [1]int64
	due   int64 // ms
	found bool
}

// deliver stores again what is due of a level's queue from offset next on. It returns how many entries it has dealt with, and when the
// one behind them is due, in ms: not later than now if that isn't known. With an error the entry behind them has to be tried again.
func (w *delivery) deliver(d *Delays, l *lane, next message.Offset, now int64) (used int, due int64, err error) {
	defer w.reset()
	due, err = w.collect(d, l, next, now)
	if err == nil && len(w.entries) == 0 && due <= now {
		err = errors.New("the level's queue has no entry there")
	}
	if err != nil || len(w.entries) == 0 {
		return 0, due, err
	}
	for used < len(w.entries) && err == nil {
		n := 0
		n, err = w.lend(d, l, used)
		if err == nil {
			err = w.put(d, l, used, &n, now)
		}
		used += n
	}
	return used, due, err
}

func (w *delivery) reset() {
	w.records.Release()
	clear(w.messages)
	clear(w.errs)
	w.entries, w.messages, w.places, w.errs = w.entries[:0], w.messages[:0], w.places[:0], w.errs[:0]
}

// collect reads the entries that are due. due is the time of the first that isn't.
func (w *delivery) collect(d *Delays, l *lane, next message.Offset, now int64) (due int64, err error) {
	raw, ref, err := d.set.Log.Entries(l.queue, next, batchEntries)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		return 0, fmt.Errorf("read the level's queue: %w", err)
	}
	size := 0
	for ; len(raw) >= message.EntrySize; raw = raw[message.EntrySize:] {
		e := message.DecodeEntry(raw)
		if e.TagsCode <= message.MaxExtAddress {
			if e.TagsCode, err = w.dueTime(d, l, e); err != nil {
				return 0, err
			}
		}
		at := e.TagsCode
		if latest := now + d.levels.Delay(l.level).Milliseconds(); at > now && at <= latest {
			return at, nil
		}
		// Later than any message of this level can be: the clock was set back or the table has changed. RocketMQ delivers it now.
		if size += int(e.Size); size > batchBytes && len(w.entries) > 0 {
			return now, nil
		}
		w.entries = append(w.entries, e)
	}
	return now, nil
}

// Unit implements message.ExtVisitor: the time of delivery is in the place of a tags code.
func (w *delivery) Unit(_ int, u message.ExtUnit) { w.due, w.found = u.TagsCode, true }

// dueTime returns when the message of an entry is to be delivered that has its tags code in the queue's extension file. Where that is lost, the
// time follows from the record, as in RocketMQ.
func (w *delivery) dueTime(d *Delays, l *lane, e message.Entry) (int64, error) {
	w.codes[0], w.found = e.TagsCode, false
	if d.set.Log.Units(l.queue, w.codes[:], w); w.found {
		return w.due, nil
	}
	var r transport.Records
	defer r.Release()
	if n, err := d.set.Log.Lend([]message.Entry{e}, &r); n == 0 {
		if e.Position < d.set.Log.Begin() {
			return 0, nil // it has gone, and is passed over as soon as it is looked at
		}
		return 0, fmt.Errorf("%w: %w", errNoRecord, err)
	}
	return message.Record(r.Chunks[0]).StoreTimestamp() + d.levels.Delay(l.level).Milliseconds(), nil
}

// lend reads the records of the collected entries from number from on, up to the first that the log doesn't have any more. It returns how many entries
// those are, that one included.
func (w *delivery) lend(d *Delays, l *lane, from int) (n int, err error) {
	w.records.Release()
	w.messages, w.places = w.messages[:0], w.places[:0]
	entries := w.entries[from:]
	n, err = d.set.Log.Lend(entries, &w.records)
	eachRecord(&w.records, entries, func(i int, rec message.Record) { w.add(d, l, rec, from+i) })
	if n == len(entries) {
		return n, nil
	}
	switch {
	case isFiller(entries[n]):
		return n + 1, nil
	case entries[n].Position < d.set.Log.Begin():
		d.lose(l, entries[n].Position, "the log doesn't have it any more")
		return n + 1, nil
	case n > 0:
		return n, nil // those before it first
	case l.givesUp(d.set.Clock.Now()):
		d.lose(l, entries[0].Position, "it can't be read: "+err.Error())
		return 1, nil
	}
	return 0, fmt.Errorf("%w: %w", errNoRecord, err)
}

// eachRecord calls f with the record of each of the entries that r was lent for.
func eachRecord(r *transport.Records, entries []message.Entry, f func(i int, rec message.Record)) {
	i := 0
	for _, chunk := range r.Chunks {
		for len(chunk) > 0 {
			size := int(entries[i].Size)
			f(i, message.Record(chunk[:size:size]))
			chunk, i = chunk[size:], i+1
		}
	}
}

// isFiller says whether an entry stands for what was lost with the front of the queue's first file.
func isFiller(e message.Entry) bool { return e.Position == 0 && e.Size == 0x7FFFFFFF }

// add makes the message that a record becomes when its time has come.
func (w *delivery) add(d *Delays, l *lane, rec message.Record, place int) {
	m, why := restore(rec)
	if why != "" {
		d.lose(l, rec.Position(), why)
		return
	}
	w.messages, w.places = append(w.messages, m), append(w.places, place)
}

// restore returns the message that a record of the schedule topic holds for its real topic, or why there is none. Everything stays as it
// is: RocketMQ leaves DELAY, REAL_TOPIC and REAL_QID in the properties too.
func restore(rec message.Record) (m message.Message, why string) {
	if _, _, err := message.ViewRecord(rec); err != nil {
		return m, "its record is damaged"
	}
	p := rec.Properties()
	topic, ok := p.Get(message.PropRealTopic)
	if !ok {
		return m, "it has no REAL_TOPIC"
	}
	if string(topic) == message.TopicTransHalf {
		return m, "a half message can't be delayed"
	}
	id, _ := p.Get(message.PropRealQueueID)
	n, err := strconv.ParseInt(string(id), 10, 32)
	if err != nil {
		return m, "its REAL_QID is no number"
	}
	return message.Message{
		Topic: string(topic), QueueID: message.QueueID(n), Flag: rec.Flag(), SysFlag: rec.SysFlag(), BornTimestamp: rec.BornTimestamp(),
		BornHost: rec.BornHost(), StoreHost: rec.StoreHost(), ReconsumeTimes: rec.ReconsumeTimes(), Body: rec.Body(), Properties: p,
	}, ""
}

// put stores the messages that lend has read. When one can't be stored now, n becomes the number of entries before it.
func (w *delivery) put(d *Delays, l *lane, from int, n *int, now int64) error {
	if len(w.messages) == 0 {
		return nil
	}
	for len(w.errs) < len(w.messages) {
		w.errs = append(w.errs, nil)
	}
	errs := w.errs[:len(w.messages)]
	clear(errs)
	d.set.Put.Put(w.messages, errs)
	for i, err := range errs {
		e := w.entries[w.places[i]]
		if refused, ok := errors.AsType[*message.Error](err); ok && refused.Code == message.MessageIllegal {
			d.lose(l, e.Position, refused.Remark)
			continue
		}
		if err != nil {
			*n = w.places[i] - from
			return fmt.Errorf("store the message of position %d again: %w", e.Position, err)
		}
		d.Figures.Delivered.Add(1)
		if e.TagsCode > message.MaxExtAddress {
			d.Figures.LatestMillis.Store(now - e.TagsCode)
		}
	}
	return nil
}

// lose notes that a message is passed over for good.
func (d *Delays) lose(l *lane, at message.Position, why string) {
	d.Figures.Lost.Add(1)
	d.set.Logger.Error("a delayed message can't be delivered and is passed over", "level", l.level, "position", int64(at), "why", why)
}
