package transaction

import (
	"strconv"
	"time"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

const (
	// rollAfter is how long a half message that nobody can be asked about stays where it is: then it is stored anew, so that neither the log nor the
	// table has to reach back for it.
	rollAfter = time.Hour
	// rollDistance is how many half messages may follow it until then.
	rollDistance = 4 << 20
	// batchMax is how many half messages are stored anew together.
	batchMax = 64
	// complaintInterval bounds log lines about producers that aren't there.
	complaintInterval = time.Minute
)

// round is the state of the checks. Only the loop's goroutine uses it.
type round struct {
	cursor message.Offset // all half messages before are finished
	// Of an earlier round: once the cursor has passed halfEnd, op messages before opEnd are of no use any more.
	opEnd, halfEnd message.Offset

	high  message.Offset
	now   int64 // ms
	turn  int   // which member of a group is asked next
	open  int64
	batch []action
	quiet time.Time // no complaint before
}

// action is what is done about one undecided half message.
type action struct {
	half    message.Offset
	message message.Message // to be stored; none for a copy that is decided
	why     string          // property of the op message
	ask     transport.Session
}

// check looks at all half messages that aren't finished.
func (k *Keeper) check() {
	r := &k.round
	low, high, _ := k.set.Log.Bounds(HalfQueue)
	_, opEnd, _ := k.set.Log.Bounds(OpQueue)
	r.high, r.now, r.open = high, k.set.Clock.Now().UnixMilli(), 0
	if r.cursor < low {
		r.cursor = low
	}
	for at := k.table.advance(r.cursor, high); at < high && !k.loop.Stopped(); {
		end := k.unfinished(at, high)
		err := k.each(HalfQueue, at, end, func(o message.Offset, rec message.Record) bool {
			k.look(o, rec)
			return !k.loop.Stopped()
		})
		if err != nil {
			k.complain("half messages can't be read; they are checked later", "error", err)
			break
		}
		at = k.table.advance(end, high)
	}
	k.flush()
	k.Figures.Open.Store(r.open)
	k.commit(high, opEnd)
}

// unfinished returns the end of the run of half messages from at on that have to be looked at.
func (k *Keeper) unfinished(at, high message.Offset) message.Offset {
	for end := at + 1; ; end++ {
		if end >= high || !k.table.open(end) {
			return end
		}
	}
}

// commit saves how far the queues are looked through.
func (k *Keeper) commit(high, opEnd message.Offset) {
	r := &k.round
	r.cursor = k.table.advance(r.cursor, high)
	if err := k.set.Offsets.Commit(Group, HalfQueue, r.cursor); err != nil {
		k.complain("the progress of transactions can't be kept", "error", err)
	}
	if r.cursor >= r.halfEnd {
		if err := k.set.Offsets.Commit(Group, OpQueue, r.opEnd); err != nil {
			k.complain("the progress of transactions can't be kept", "error", err)
		}
		r.opEnd, r.halfEnd = opEnd, high
	}
	k.table.trim(r.cursor)
}

// look decides what to do about one half message.
func (k *Keeper) look(o message.Offset, rec message.Record) {
	if !k.table.open(o) {
		return
	}
	r := &k.round
	if rec == nil {
		k.Figures.Lost.Add(1)
		k.set.Logger.Error("an undecided transaction is lost: the log doesn't have its half message any more", "offset", int64(o))
		k.table.finish(o)
		return
	}
	if k.table.isDecided(o) {
		k.add(action{half: o})
		return
	}
	p := rec.Properties()
	stored := rec.StoreTimestamp()
	born := min(rec.BornTimestamp(), stored) // a producer whose clock is ahead
	immunity := k.set.Config.Timeout
	if text, ok := p.Get(message.PropCheckImmunity); ok {
		if n, err := strconv.ParseInt(string(text), 10, 32); err == nil && n >= 0 {
			immunity = time.Duration(n) * time.Second
		}
	}
	r.open++
	if r.now-born < immunity.Milliseconds() {
		return
	}
	checks := k.checks(o, p)
	if _, ok := place(rec); !ok || checks >= k.set.Config.CheckMax || r.now-born > k.set.Reserved.Milliseconds() {
		k.park(o, rec)
		return
	}
	k.ask(o, rec, checks)
}

// checks returns how often the producer of a half message was asked.
func (k *Keeper) checks(o message.Offset, p message.Properties) int {
	text, _ := p.Get(message.PropCheckTimes)
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 0 {
		return 0
	}
	if k.table.isUncounted(o) {
		n--
	}
	return n
}

// ask stores a half message anew, with one check more, and sees to it that a producer is asked about it. Without a producer it stays
// where it is, but not for ever.
func (k *Keeper) ask(o message.Offset, rec message.Record, checks int) {
	r := &k.round
	group, _ := rec.Properties().Get(message.PropProducerGroup)
	a := action{half: o, message: copyOf(rec), why: propRenewed, ask: k.producer(string(group))}
	if a.ask == nil {
		k.Figures.Unasked.Add(1)
		k.complain("transactions are undecided, and no producer of their group is connected to be asked", "group", string(group), "offset", int64(o))
		if r.now-rec.StoreTimestamp() < rollAfter.Milliseconds() && r.high-o < rollDistance {
			return
		}
	} else {
		checks++
	}
	p := message.AppendWithout(nil, rec.Properties(), message.PropCheckTimes, propCopyOf)
	p = message.AppendProperty(p, message.PropCheckTimes, strconv.Itoa(checks))
	a.message.Properties = message.AppendProperty(p, propCopyOf, copyList(rec.Properties(), o))
	k.add(a)
}

// producer returns a connected member of a producer group, each in its turn; nil when there is none.
func (k *Keeper) producer(group string) transport.Session {
	members := k.set.Producers(group)
	for range members {
		k.round.turn++
		if s := members[k.round.turn%len(members)]; s.Alive() {
			return s
		}
	}
	return nil
}

// park puts a half message aside for people to look at.
func (k *Keeper) park(o message.Offset, rec message.Record) {
	if err := k.set.EnsureParked(); err != nil {
		k.complain("undecided transactions can't be put aside", "error", err)
		return
	}
	m := copyOf(rec)
	m.Topic, m.QueueID = message.TopicTransCheckMax, 0
	k.set.Logger.Warn("a transaction stays undecided and is put aside in "+message.TopicTransCheckMax, "offset", int64(o), "position", int64(rec.Position()))
	k.add(action{half: o, message: m, why: propParked})
}

// add collects an action. What it borrows from its record is copied, as the record is given back before the batch is stored.
func (k *Keeper) add(a action) {
	a.message.Body = append([]byte(nil), a.message.Body...)
	a.message.Properties = append(message.Properties(nil), a.message.Properties...)
	r := &k.round
	r.batch = append(r.batch, a)
	if len(r.batch) >= batchMax {
		k.flush()
	}
}

// flush stores what was collected, each message together with the op message that finishes the half message in whose place it is, and
// sends the checks.
func (k *Keeper) flush() {
	r := &k.round
	batch := r.batch
	r.batch = r.batch[:0]
	host, ok := k.set.Host()
	if len(batch) == 0 || !ok {
		return
	}
	var messages []message.Message
	var units []int
	for i := range batch {
		if batch[i].message.Topic != "" {
			messages, units = append(messages, batch[i].message), append(units, i)
		}
		messages, units = append(messages, op(batch[i].half, batch[i].why, host, r.now)), append(units, i)
	}
	stored := k.set.Put.Put(messages, units)
	for i := range batch {
		a, first := &batch[i], stored[0]
		if a.message.Topic != "" {
			stored = stored[1:]
		}
		stored = stored[1:]
		if first.Err != nil {
			k.complain("an undecided transaction can't be stored anew; it is checked later", "error", first.Err)
			continue
		}
		k.settle(a, first)
	}
	clear(batch)
}

// settle notes what was stored for one half message.
func (k *Keeper) settle(a *action, at Stored) {
	switch a.why {
	case propParked:
		k.Figures.Parked.Add(1)
		k.table.putAside(a.half)
	case propRenewed:
		k.Figures.Renewed.Add(1)
		k.table.moved(a.half, at.Offset)
		if a.ask == nil || k.table.isDecided(at.Offset) {
			return
		}
		if err := k.send(a, at); err != nil {
			k.table.setUncounted(at.Offset)
			return
		}
		k.Figures.Checked.Add(1)
	default:
		k.table.finish(a.half)
	}
}

// send asks the producer about the copy at a place.
func (k *Keeper) send(a *action, at Stored) error {
	m := a.message
	topic, _ := m.Properties.Get(message.PropRealTopic)
	id, _ := m.Properties.Get(message.PropRealQueueID)
	n, _ := strconv.ParseInt(string(id), 10, 32)
	key, _ := m.Properties.Get(message.PropUniqKey)
	m.Topic, m.QueueID = string(topic), message.QueueID(n)
	rec, err := message.AppendRecord(nil, &m)
	if err != nil {
		return err
	}
	message.Record(rec).Place(at.Offset, at.Position, at.Time)
	return a.ask.Notify(transport.CheckTransaction{
		Offset: at.Offset, Position: at.Position, UniqueKey: string(key),
		OffsetMessageID: string(message.AppendOffsetID(nil, m.StoreHost, at.Position)), Record: rec,
	})
}

// complain logs, once a minute, what keeps transactions from being ended.
func (k *Keeper) complain(what string, args ...any) {
	now := k.set.Clock.Now()
	if now.Before(k.round.quiet) {
		return
	}
	k.round.quiet = now.Add(complaintInterval)
	k.set.Logger.Warn(what, args...)
}
