package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/store/segment"
)

// findings is what inspect has learned without changing anything.
type findings struct {
	unclean  bool // the abort file was there
	noted    bool // note is valid
	note     note
	check    checkpoint
	keys     []message.QueueKey
	queues   int64 // with entries, and
	entries  int64 // the sum of their ends; after a clean stop
	from     int64 // where the walk through the log began: all before is flushed and dispatched
	end      int64 // where valid records end
	cause    error // why they end there; nil at the end of the files
	data     int64 // behind the last byte that isn't zero
	lastTime int64 // store time of the last record, 0 when not seen
	records  int64 // walked over
}

// recover opens what is in the directory, in two steps: inspect looks and decides, and refuses where an operator has to;
// repair then changes what has to be changed.
func (s *Store) recover() error {
	began := s.clock.Now()
	f, err := s.inspect()
	if err != nil {
		return err
	}
	rebuilt, err := s.repair(f)
	if err != nil {
		return err
	}
	s.logRecovery(f, rebuilt, s.clock.Now().Sub(began))
	return nil
}

func (s *Store) logRecovery(f *findings, rebuilt int64, took time.Duration) {
	level, cut := slog.LevelInfo, max(0, f.data-f.end)
	attrs := []slog.Attr{
		slog.Bool("clean", !f.unclean), slog.Int("segments", len(s.log.List())), slog.Int("queues", len(f.keys)),
		slog.Int64("begin", s.log.Min()), slog.Int64("end", f.end), slog.Int64("scanned_bytes", f.end-f.from),
		slog.Int64("scanned_records", f.records), slog.Int64("cut_bytes", cut), slog.Int64("dispatched_records", rebuilt),
		slog.Duration("took", took),
	}
	if cut > 0 {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("cut_because", f.cause))
	}
	s.logger.LogAttrs(s.background, level, "store opened", attrs...)
}

// inspect looks at everything and changes nothing.
func (s *Store) inspect() (*findings, error) {
	f := &findings{}
	var err error
	if f.unclean, err = vfs.Exists(s.fs, s.abortPath()); err != nil {
		return nil, err
	}
	s.unclean = f.unclean
	if f.check, err = s.readCheckpoint(); err != nil {
		return nil, err
	}
	if f.note, f.noted, err = s.readNote(); err != nil {
		return nil, err
	}
	if s.deleted.before, err = s.readDeleted(); err != nil {
		return nil, err
	}
	s.deleted.count.Store(int64(len(s.deleted.before)))
	log, err := s.openLog(true)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if f.keys, err = s.listQueues(); err != nil {
		return nil, err
	}
	if s.extSize, err = consumequeue.FindExtSize(s.fs, s.dir); err != nil {
		return nil, err
	}
	if err := s.openIndex(); err != nil {
		return nil, err
	}
	behind, err := s.inspectQueues(f, log)
	if err != nil {
		return nil, err
	}
	f.from = walkStart(log, f, behind)
	if err := scan(log, f); err != nil {
		return nil, err
	}
	return f, s.judge(log, f)
}

// openLog opens the commit log's segments.
func (s *Store) openLog(readOnly bool) (*segment.Files, error) {
	return segment.OpenDir(s.fs, filepath.Join(s.dir, "commitlog"), int64(s.cfg.SegmentSize),
		segment.Options{SizeKey: "store.segment_size", ReadOnly: readOnly})
}

// listQueues returns the queues there are directories for. Like RocketMQ it passes over files and over directories whose
// name isn't a number.
func (s *Store) listQueues() ([]message.QueueKey, error) {
	root := filepath.Join(s.dir, consumequeue.DirName)
	topics, err := s.fs.ReadDir(root)
	if err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return nil, fmt.Errorf("list the consume queues: %w", err)
	}
	var list []message.QueueKey
	for _, topic := range topics {
		if !topic.IsDir {
			continue
		}
		ids, err := s.fs.ReadDir(filepath.Join(root, topic.Name))
		if err != nil {
			return nil, fmt.Errorf("list the consume queues of %s: %w", topic.Name, err)
		}
		for _, id := range ids {
			n, err := strconv.ParseInt(id.Name, 10, 32)
			if err != nil || n < 0 || !id.IsDir || strconv.FormatInt(n, 10) != id.Name {
				continue
			}
			list = append(list, message.QueueKey{Topic: topic.Name, ID: message.QueueID(n)})
		}
	}
	return list, nil
}

// inspectQueues checks the files of all queues. After a clean stop it returns up to where the log was dispatched: the
// greatest log end of any queue, as RocketMQ has it.
func (s *Store) inspectQueues(f *findings, log *segment.Files) (behind int64, err error) {
	for _, key := range f.keys {
		q, err := consumequeue.Open(s.fs, s.dir, key, consumequeue.Layout{PerFile: s.cfg.ConsumeQueueEntries, ReadOnly: true})
		if err != nil {
			return 0, err
		}
		if !f.unclean {
			_, err = q.RecoverAll(prober(log, key))
			behind = max(behind, int64(q.LogEnd()))
			if _, end := q.Bounds(); end > 0 {
				f.queues, f.entries = f.queues+1, f.entries+int64(end)
			}
		}
		if err = errors.Join(err, q.Close()); err != nil {
			return 0, err
		}
	}
	return behind, nil
}

// prober returns a probe for the entries of a queue: their record in the log has to be this queue's, with this offset.
func prober(log *segment.Files, key message.QueueKey) consumequeue.Probe {
	return func(at message.Offset, e message.Entry) bool {
		if int64(e.Position) < log.Min() {
			return true
		}
		v, err := log.View(int64(e.Position), int(e.Size))
		if err != nil {
			return false
		}
		defer v.Release()
		rec, _, err := message.ViewRecord(v.Bytes())
		return err == nil && rec.QueueOffset() == at && rec.QueueID() == key.ID && string(rec.Topic()) == key.Topic
	}
}

// walkStart returns a position, always between two records, before which everything is flushed, log and queues.
func walkStart(log *segment.Files, f *findings, behind int64) int64 {
	var from int64
	if f.unclean {
		from = boundedStart(log, f.check.bound())
	} else {
		from = thirdLast(log)
	}
	if f.noted && f.note.queued >= log.Min() && f.note.queued <= log.End() {
		from = max(from, f.note.queued)
	}
	if f.miscounted(behind) {
		from = log.Min()
	}
	if !f.unclean && behind < from {
		from = behind
	}
	return max(from, log.Min())
}

// miscounted says that after a clean stop of ours the queues don't have the entries that were counted then. Nobody has
// appended since, and there are as many queues, so some lack entries: all of the log is to be dispatched again. With
// fewer queues a Java broker may have deleted a topic, whose messages must not come back.
func (f *findings) miscounted(behind int64) bool {
	return !f.unclean && f.noted && f.note.clean && behind <= f.note.flushed &&
		f.queues == f.note.queues && f.entries != f.note.entries
}

// thirdLast is where RocketMQ begins after a clean stop.
func thirdLast(log *segment.Files) int64 {
	l := log.List()
	if len(l) == 0 {
		return 0
	}
	return l[max(0, len(l)-3)].Start()
}

// boundedStart is where RocketMQ begins after an unclean stop: at the newest segment whose first record was stored not
// later than bound, else at the oldest.
func boundedStart(log *segment.Files, bound int64) int64 {
	l := log.List()
	for i := len(l) - 1; i >= 0; i-- {
		if t := firstStoreTime(log, l[i].Start()); t != 0 && t <= bound {
			return l[i].Start()
		}
	}
	return log.Min()
}

// firstStoreTime returns the store time of the record that begins at pos, 0 if there is none.
func firstStoreTime(log *segment.Files, pos int64) int64 {
	v, err := log.ViewUpTo(pos, int(log.Size()))
	if err != nil {
		return 0
	}
	defer v.Release()
	rec, _, err := message.ViewRecord(v.Bytes())
	if err != nil || int64(rec.Position()) != pos {
		return 0
	}
	return rec.StoreTimestamp()
}

// scan walks the log from f.from on, verifies every record, and finds where they end.
func scan(log *segment.Files, f *findings) error {
	end, stopped, err := walk(log, f.from, log.End(), true, func(rec message.Record) error {
		f.records++
		f.lastTime = rec.StoreTimestamp()
		return nil
	})
	if err != nil {
		return err
	}
	f.end, f.cause, f.data = end, stopped, end
	if stopped == nil || !f.unclean && zeroAt(log, end) {
		return nil
	}
	f.data, err = lastData(log, end)
	return err
}

// zeroAt says whether the log has nothing where a record would begin.
func zeroAt(log *segment.Files, pos int64) bool {
	v, err := log.ViewUpTo(pos, message.BlankHeaderSize)
	if err != nil {
		return true
	}
	defer v.Release()
	for _, b := range v.Bytes() {
		if b != 0 {
			return false
		}
	}
	return true
}

// judge refuses to go on where data that was on the disk is missing or damaged.
func (s *Store) judge(log *segment.Files, f *findings) error {
	if !f.noted || f.end >= f.note.flushed {
		return nil
	}
	what := "ends"
	if f.cause != nil && !errors.Is(f.cause, segment.ErrNotFound) {
		what = fmt.Sprintf("is damaged (%v)", f.cause)
	}
	file := filepath.Join(s.dir, "commitlog")
	if seg := log.Find(f.end); seg != nil {
		file = seg.Path()
	}
	return &DamageError{Path: file, Position: message.Position(f.end), Flushed: message.Position(f.note.flushed),
		What: what, Note: s.notePath()}
}

// DamageError says that a part of the log which was on the disk is missing or damaged. The log was not changed.
type DamageError struct {
	Path     string           // the segment, or the log's directory
	Position message.Position // where good records end
	What     string           // is wrong there
	Flushed  message.Position // up to where they were on the disk, and
	Note     string           // the file that says so; empty when queues were to be made again from the log
}

// Error names file and position and says what an operator can do.
func (e *DamageError) Error() string {
	if e.Note == "" {
		return fmt.Sprintf("make consume queues again from the commit log: %s %s at position %d; restore the file from a "+
			"backup or a replica", e.Path, e.What, e.Position)
	}
	return fmt.Sprintf("open commit log: %s %s at position %d, but everything up to position %d had been flushed; "+
		"nothing was changed: restore the file from a backup or a replica, or, to give up what is behind position %d, "+
		"remove %s and start again", e.Path, e.What, e.Position, e.Flushed, e.Position, e.Note)
}

// repair makes the directory what inspect has found it should be, and fills the store's state. It returns how many queue
// entries were made again.
func (s *Store) repair(f *findings) (rebuilt int64, err error) {
	if err := s.createAbort(); err != nil {
		return 0, err
	}
	if s.log, err = s.openLog(false); err != nil {
		return 0, err
	}
	if err := s.cutLog(f); err != nil {
		return 0, err
	}
	if err := s.cutDeleted(f.end); err != nil {
		return 0, err
	}
	s.durable.Store(f.end)
	s.committed.Store(f.end)
	s.noted = f.note
	s.indexTime.Store(f.check.index)
	if err := s.recoverIndex(f); err != nil {
		return 0, err
	}
	r := rebuild{s: s, from: f.from, end: f.end, resync: f.unclean || f.end > f.from, gaps: map[*queue]int64{},
		suspects: map[*queue]numbered{}}
	if err := r.open(f.keys); err != nil {
		return 0, err
	}
	if err := r.run(); err != nil {
		return 0, err
	}
	if f.lastTime == 0 {
		f.lastTime = s.newestTime()
	}
	s.adopt(f)
	return r.written, nil
}

// cutLog removes what is behind the last good record, and makes what is kept durable: the process that wrote it may have
// died before its flush.
func (s *Store) cutLog(f *findings) error {
	if err := s.log.TruncateTo(f.end); err != nil {
		return err
	}
	if f.data > f.end {
		if err := s.clearLog(f.end, min(f.data, s.log.End())); err != nil {
			return err
		}
	}
	if !f.unclean && f.data <= f.end {
		return nil
	}
	if err := s.log.Resync(f.from, max(f.end, min(f.data, s.log.End()))); err != nil {
		return fmt.Errorf("flush the recovered commit log: %w", err)
	}
	return nil
}

// clearLog zeroes [from, to) where it isn't zero, so that stale records can't be taken for good ones later.
func (s *Store) clearLog(from, to int64) error {
	var b [4096]byte
	for pos := from; pos < to; {
		n := min(to-pos, int64(len(b)))
		if err := s.log.ReadAt(pos, b[:n]); err != nil {
			return err
		}
		if b != [4096]byte{} {
			if err := s.log.WriteAt(pos, zeroChunk[:n]); err != nil {
				return fmt.Errorf("clear the commit log behind its end: %w", err)
			}
		}
		clear(b[:])
		pos += n
	}
	return nil
}

// newestTime returns the store time of the record with the last queue entry.
func (s *Store) newestTime() int64 {
	var newest *queue
	for _, q := range s.queues.all() {
		if newest == nil || q.LogEnd() > newest.LogEnd() {
			newest = q
		}
	}
	if newest == nil {
		return 0
	}
	_, end := newest.Bounds()
	e, err := newest.Entry(end - 1)
	if err != nil {
		return 0
	}
	t, _ := s.StoreTime(e)
	return t
}

// adopt sets the state from which Start goes on.
func (s *Store) adopt(f *findings) {
	s.dispatched.Store(f.end)
	s.queuesFlushed.Store(f.end)
	s.committedTime.Store(f.lastTime)
	s.durableTime.Store(f.lastTime)
	s.dispatchedTime.Store(f.lastTime)
	s.queuesTime.Store(f.lastTime)
	s.dispatcher.time = f.lastTime
	s.app.lastTime = f.lastTime
	s.app.fill.reset(message.Position(f.end), s.bufferMax)
	for _, q := range s.queues.all() {
		q.next = q.Next()
	}
}
