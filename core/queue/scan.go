package queue

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// scanBlock is how many index entries are judged together.
const scanBlock = filter.BatchMax

// judgeBlock is how many records are fetched and judged together by a program that needs them. It is small because most
// pulls want few messages, and records that were fetched beyond those would be judged again by the next pull.
const judgeBlock = 64

// scan is one pull's walk over a queue's index. It is pooled for its buffers.
//
//	raw entries -> tags codes -> bits that may match -> [records -> verdicts] -> picked entries -> lent records
type scan struct {
	p      *Pulls
	r      *transport.Pull
	prog   *program
	pre    *prefilter
	queue  message.QueueKey
	low    message.Offset   // the queue's first entry
	high   message.Offset   // its end
	next   message.Offset   // the first entry not looked at yet
	oldest message.Position // where the log begins

	countMax int
	sizeMax  int // bytes; known when the first entry is picked
	count    int // picked so far
	size     int // bytes of the picked
	gone     bool
	fault    error

	cursor verdict.Cursor // over what the program has said already; closed when that isn't kept
	jumped int            // entries passed by it, and
	spared int            // those among them that were never looked at
	blocks int            // of the cover, looked at
	part   judgedRun

	units    unitReader
	codes    [scanBlock]int64
	keep     [scanBlock / 64]uint64
	final    bool                   // what keep has left of the block matches
	out      [scanBlock / 64]uint64 // ruled out by the prefilter, when any is
	picked   []message.Entry
	places   []int // of the picked, within the block
	judged   []message.Entry
	offsets  []int // of the judged, within the block
	tally    tally
	scratch  transport.Records
	batch    filter.Batch
	verdicts filter.Verdicts
}

func newScan() *scan {
	return &scan{
		picked: make([]message.Entry, 0, 64), places: make([]int, 0, 64), judged: make([]message.Entry, 0, judgeBlock), offsets: make([]int, 0, judgeBlock),
	}
}

func (s *scan) begin(p *Pulls, r *transport.Pull, c chooser, low, high message.Offset) {
	prog := c.prog
	s.p, s.r, s.prog, s.pre, s.queue, s.low, s.high, s.next = p, r, prog, c.pre, queueOf(r), low, high, r.Offset
	s.oldest = p.set.Log.Begin()
	s.countMax = min(max(1, int(r.MaxNum)), p.set.Config.PullMessagesMax)
	s.sizeMax, s.count, s.size, s.gone, s.fault = 0, 0, 0, false, nil
	s.jumped, s.spared, s.blocks, s.part.max, s.tally = 0, 0, 0, judgeBlock, tally{}
	if p.set.Verdicts != nil && prog.keepable() {
		s.cursor.Begin(p.set.Verdicts.Cover(s.queue, prog.key))
		p.live.touch(r.Topic, prog, p.set.Clock.Now())
	}
}

// end lets go of what belongs to the pull.
func (s *scan) end() {
	if s.prog != nil {
		s.p.figures.add(s)
	}
	s.scratch.Release()
	s.cursor.Begin(nil)
	clear(s.batch.Records[:cap(s.batch.Records)])
	s.p, s.r, s.prog, s.pre, s.fault = nil, nil, nil, nil, nil
	s.batch = filter.Batch{TagsCodes: s.batch.TagsCodes[:0], Records: s.batch.Records[:0]}
}

// run scans until the answer is full, the queue ends, or enough was looked at, and sets the pull's answer.
func (s *scan) run(ctx context.Context) {
	cfg := &s.p.set.Config
	least := max(cfg.ScanEntriesMin, int(s.r.MaxNum))
	var deadline time.Time
	for s.next < s.high {
		n, want, full := 0, s.want(least), false
		if s.cursor.Open() {
			n, full = s.covered(ctx)
			want = n
		} else {
			n, full = s.block(ctx, want)
		}
		if s.fault != nil || n == 0 {
			break
		}
		scanned, far := s.scanned(), s.blocks >= coverBlocks
		if s.r.Records.Count > 0 {
			// A run that is shorter than asked for ends with its index file, and so does the answer.
			if full || n < want || scanned >= max(least, cfg.ScanEntriesFound) {
				break
			}
			if !far {
				continue
			}
		}
		if scanned < least && !far {
			continue
		}
		now := s.p.set.Clock.Now()
		if deadline.IsZero() {
			deadline = now.Add(cfg.ScanTimeMax)
		}
		if !now.Before(deadline) {
			break
		}
	}
	s.answer()
}

// scanned returns how many entries were looked at one by one.
func (s *scan) scanned() int { return int(s.next-s.r.Offset) - s.jumped }

// want returns how many entries to look at next: no more than necessary, up to those that have to be looked at.
func (s *scan) want(least int) int {
	want := scanBlock
	if scanned := s.scanned(); scanned < least {
		want = min(want, least-scanned)
	}
	return int(min(int64(want), int64(s.high-s.next)))
}

// answer sets the pull's answer from what the scan has come to.
func (s *scan) answer() {
	r := s.r
	r.NextBeginOffset = s.next
	switch {
	case r.Records.Count > 0:
		r.Code, r.Remark = message.Success, statusFound
	case s.fault != nil && s.next == r.Offset:
		s.refuse()
	case s.gone:
		r.Code, r.Remark = message.PullRetryImmediately, statusRemoving
	default:
		r.Code, r.Remark = message.PullRetryImmediately, statusNoMatch
	}
}

// refuse answers a pull that failed at its first entry. A missing index file is passed over, as in RocketMQ.
func (s *scan) refuse() {
	r := s.r
	if missing, ok := errors.AsType[NoEntries](s.fault); ok {
		r.Code, r.Remark, r.NextBeginOffset = message.PullNotFound, statusFoundNull, min(missing.Next(), s.high)
		return
	}
	r.Code, r.Remark = message.SystemError, "pull "+s.queue.String()+": "+s.fault.Error()
}

// block looks at up to want entries and advances next behind those that it has dealt with. It returns how many there
// were, and whether the answer is full.
func (s *scan) block(ctx context.Context, want int) (n int, full bool) {
	raw, ref, err := s.p.set.Log.Entries(s.queue, s.next, want)
	if ref != nil {
		defer ref.Release()
	}
	if err != nil {
		s.fault = err
		return 0, false
	}
	n = min(len(raw)/message.EntrySize, want)
	if n == 0 {
		return 0, false
	}
	raw = raw[:n*message.EntrySize]
	s.picked, s.places, s.units.count = s.picked[:0], s.places[:0], 0
	used := s.choose(ctx, raw)
	full = used < n || s.count >= s.countMax
	if place, ok := s.lend(); !ok {
		used = place // the next pull begins with the record that couldn't be had
	}
	s.countRuledOut(s.out[:], 0, used)
	if s.prog != nil {
		s.tally.byIndex += s.ruledOut(used)
	}
	s.next += message.Offset(used)
	return n, full
}

// choose picks the entries that the program accepts, until the answer is full, and returns how many it has dealt with.
func (s *scan) choose(ctx context.Context, raw []byte) int {
	if s.prog == nil {
		return s.pickAll(raw)
	}
	n := s.decode(raw)
	raw = raw[:n*message.EntrySize]
	if s.final = s.matchIndex(n); s.final {
		return s.pickKept(raw)
	}
	return s.judgeKept(ctx, raw)
}

// ruledOut counts those of the block's first used entries that the index has ruled out.
func (s *scan) ruledOut(used int) int64 {
	if s.final { // what wasn't picked was; counting bits would cost a tenth of a scan by tag
		return int64(used - len(s.picked))
	}
	return int64(used - onesBelow(s.keep[:], used))
}

// pickAll picks every entry until the answer is full, and returns how many it has dealt with.
func (s *scan) pickAll(raw []byte) int {
	n := len(raw) / message.EntrySize
	for i := range n {
		if used, full := s.pick(message.DecodeEntry(raw[i*message.EntrySize:]), i); full {
			return used
		}
	}
	return n
}

// pickKept picks the entries whose bit is left in keep, until the answer is full.
func (s *scan) pickKept(raw []byte) int {
	n := len(raw) / message.EntrySize
	for w := 0; w*64 < n; w++ {
		for word := s.keep[w]; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if used, full := s.pick(message.DecodeEntry(raw[i*message.EntrySize:]), i); full {
				return used
			}
		}
	}
	return n
}

// pick adds the block's i-th entry to the answer, if it is a message that is still there. When the answer is full it
// returns how many entries of the block have been dealt with: those up to the last one picked when the number is
// reached, and those before e when e doesn't fit.
func (s *scan) pick(e message.Entry, i int) (used int, full bool) {
	if !s.present(e) {
		return 0, false
	}
	if s.count == 0 {
		s.sizeMax = s.sizeLimit(e)
	} else if s.size+int(e.Size) > s.sizeMax {
		return i, true
	}
	s.picked, s.places = append(s.picked, e), append(s.places, i)
	s.count++
	s.size += int(e.Size)
	return i + 1, s.count >= s.countMax
}

// present says whether an entry has a record: it isn't filler, and the log still begins before it.
func (s *scan) present(e message.Entry) bool {
	if isFiller(e) || e.Size <= 0 {
		return false
	}
	if e.Position < s.oldest {
		s.gone = true
		return false
	}
	return true
}

// sizeLimit returns how many bytes an answer may have that begins with e. Later entries of a queue are younger.
func (s *scan) sizeLimit(e message.Entry) int {
	limit := int(s.p.set.Config.PullSizeMax)
	if !s.p.set.Log.InMemory(e.Position) {
		limit = int(s.p.set.Config.PullSizeMaxCold)
	}
	if s.r.MaxBytes > 0 {
		limit = min(limit, int(s.r.MaxBytes))
	}
	return limit
}

// lend adds the records of the picked entries to the answer, except those that have gone meanwhile. When one can't be
// had it stops, sets the fault and returns that entry's place in the block.
func (s *scan) lend() (place int, ok bool) {
	defer func() { s.count, s.size = s.r.Records.Count, s.r.Records.Size }()
	for from := 0; from < len(s.picked); from++ {
		n, err := s.p.set.Log.Lend(s.picked[from:], &s.r.Records)
		if from += n; from == len(s.picked) {
			break
		}
		if !s.hasGone(s.picked[from]) {
			s.fault = err
			return s.places[from], false
		}
	}
	return 0, true
}

// hasGone says whether the log begins behind an entry's record by now. Only then may a record that can't be had be
// passed over: one that isn't readable yet, or can't be read, would be lost for the group.
func (s *scan) hasGone(e message.Entry) bool {
	s.oldest = s.p.set.Log.Begin()
	gone := e.Position < s.oldest
	s.gone = s.gone || gone
	return gone
}
