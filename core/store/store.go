package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store/consumequeue"
	"github.com/weirmq/weir/core/store/segment"
)

// Options is what the broker hands to a store. It is for code; Config is for operators.
type Options struct {
	FS     vfs.FS       // nil: the real disk
	Dir    string       // RocketMQ's storePathRootDir
	Config Config       //
	Logger *slog.Logger // nil: silent
	Clock  clock.Clock  // nil: the machine's
	// DelayLevels are the delays of level 1, 2 and so on: the entries of delayed messages hold the time of delivery. nil:
	// RocketMQ's 18 levels.
	DelayLevels []time.Duration
	// OnArrival is told, in the order of the log, what has become readable. It is called by one goroutine at a time, that of
	// the dispatcher or of an appender, and dispatching waits for it; the slice and its records are borrowed. It is not called
	// for what Open finds.
	OnArrival func([]message.Arrival)
	// Bitmaps sets, with ConsumeQueueExt, the Bitmap of each of the messages that are about to become readable. It is called
	// as OnArrival is, and before it; the bitmaps are borrowed from it until then. nil: messages have none.
	Bitmaps func([]message.Arrival)
	// Keep is asked before the segments of the log before a position are deleted, and returns up to where they may be. It must not block. nil: all may be.
	Keep func(to message.Position) message.Position
	// OnFatal is told once that the store can't go on: the broker has to stop. It is called on a goroutine of its own.
	OnFatal func(error)
}

// Store is an open store. All methods are safe for concurrent use.
type Store struct {
	fs          vfs.FS
	dir         string
	cfg         Config
	sync        bool // sync flush
	bodyMax     int  // bytes of a body
	unitMax     int  // bytes that one unit may take in the log
	bufferMax   int  // bytes of the write buffer
	logger      *slog.Logger
	clock       clock.Clock
	background  context.Context
	delayLevels []time.Duration
	onArrival   func([]message.Arrival)
	bitmaps     func([]message.Arrival)
	keep        func(message.Position) message.Position
	onFatal     func(error)
	inMemory    int64 // bytes of log that fit into memory

	lock       vfs.Lock
	log        *segment.Files
	queues     queueTable
	deleted    tombstones
	app        appender
	dispatcher dispatcher
	residency  residency
	scratch    sync.Pool // of *scratch
	cold       sync.Pool // of *coldBytes
	stats      counters
	keys       keyIndex
	indexTime  atomic.Int64 // the checkpoint's third time: files of the key index whose messages are older are whole on the disk
	extSize    int64        // of the queues' extension files, in bytes
	unclean    bool         // the stop before
	rebuilding bool         // within Open

	// Positions in the log, and the store time of the last message before each.
	committed, durable, dispatched, queuesFlushed          atomic.Int64
	committedTime, durableTime, dispatchedTime, queuesTime atomic.Int64
	lastFailLog                                            atomic.Pointer[time.Time]
	flushMu                                                sync.Mutex // one flush of the log at a time
	noteMu                                                 sync.Mutex // guards noted
	noted                                                  note       // the last note written
	busyRemark                                             string

	stop, stopWriter chan struct{} // closed to end the goroutines
	prepare          chan struct{} // the next segment is wanted; has room for one
	loops            sync.WaitGroup

	lifeMu   sync.Mutex // Start and Close; guards started and closed
	started  bool
	closed   bool
	closeErr error
}

// Open locks the directory, checks what is in it, and recovers what a crash has left. When it refuses, with an error that
// says what is wrong and what to do, it has changed nothing. Nothing can be appended before Start.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := newStore(ctx, o)
	if err := vfs.MkdirAllSync(s.fs, s.dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	lock, err := s.fs.Lock(filepath.Join(s.dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.lock = lock
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", s.dir, err), s.letGo())
	}
	return s, nil
}

func newStore(ctx context.Context, o Options) *Store {
	s := &Store{
		fs: o.FS, dir: filepath.Clean(o.Dir), cfg: o.Config, sync: o.Config.Flush == FlushSync,
		bodyMax: int(o.Config.MaxMessageSize), bufferMax: int(o.Config.WriteBuffer),
		logger: o.Logger, clock: o.Clock, background: context.WithoutCancel(ctx), delayLevels: o.DelayLevels,
		onArrival: o.OnArrival, bitmaps: o.Bitmaps, keep: o.Keep, onFatal: o.OnFatal, inMemory: int64(float64(totalMemory()) * inMemoryRatio),
		stop: make(chan struct{}), stopWriter: make(chan struct{}), prepare: make(chan struct{}, 1),
	}
	if s.fs == nil {
		s.fs = vfs.OS{}
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = clock.Real()
	}
	if s.delayLevels == nil {
		s.delayLevels = DefaultDelayLevels()
	}
	s.unitMax = int(min(int64(o.Config.MaxMessageSize)+message.MaxRecordOverhead,
		int64(o.Config.SegmentSize)-message.BlankHeaderSize))
	s.busyRemark = fmt.Sprintf("the broker's disk is too slow: the write buffer of %s was full for %s",
		o.Config.WriteBuffer, o.Config.WriteWait)
	s.scratch.New = func() any { return new(scratch) }
	s.cold.New = func() any { return new(coldBytes) }
	s.app.fill, s.app.spare = &tail{segment: int64(o.Config.SegmentSize)}, &tail{segment: int64(o.Config.SegmentSize)}
	s.app.closing = notStartedRemark
	s.app.wake = make(chan struct{}, 1)
	s.dispatcher.wake = make(chan struct{}, 1)
	return s
}

// DefaultDelayLevels returns RocketMQ's 18 levels: 1s 5s 10s 30s 1m 2m … 10m 20m 30m 1h 2h.
func DefaultDelayLevels() []time.Duration {
	levels := []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second}
	for m := 1; m <= 10; m++ {
		levels = append(levels, time.Duration(m)*time.Minute)
	}
	return append(levels, 20*time.Minute, 30*time.Minute, time.Hour, 2*time.Hour)
}

// openQueue returns a queue, opened if it wasn't. Names that can't be a directory are refused.
func (s *Store) openQueue(key message.QueueKey) (*queue, error) {
	if err := message.CheckKnownTopic(key.Topic); err != nil {
		return nil, &message.Error{Code: message.MessageIllegal, Remark: err.Error()}
	}
	if key.ID < 0 {
		return nil, &message.Error{Code: message.MessageIllegal, Remark: fmt.Sprintf("the queue id %d is negative", key.ID)}
	}
	return s.queues.findOrOpen(key, func(key message.QueueKey) (*queue, error) {
		q, err := consumequeue.Open(s.fs, s.dir, key, consumequeue.Layout{
			PerFile: s.cfg.ConsumeQueueEntries, ExtSize: s.extSize, WriteExt: s.cfg.ConsumeQueueExt, Unclean: s.unclean,
		})
		if err != nil {
			return nil, err
		}
		if s.rebuilding { // a queue that the disk doesn't have is a recovered one too
			if _, err := q.RecoverAll(nil); err != nil {
				return nil, errors.Join(err, q.Close())
			}
		}
		if err := q.ExtError(); err != nil {
			s.logger.Warn("the extension of a consume queue can't be used: its filters judge without it, and none is written",
				slog.Any("queue", key), slog.Any("error", err))
		}
		return &queue{Queue: q, key: key}, nil
	})
}

func (s *Store) abortPath() string { return filepath.Join(s.dir, "abort") }

// createAbort makes the file that tells the next process that this one didn't stop cleanly.
func (s *Store) createAbort() error {
	f, err := s.fs.Open(s.abortPath(), vfs.Create)
	if err != nil {
		return fmt.Errorf("create the abort file: %w", err)
	}
	if err := errors.Join(f.Close(), s.fs.SyncDir(s.dir)); err != nil {
		return fmt.Errorf("create the abort file: %w", err)
	}
	return nil
}

// Start lets messages in. It is called once, after Open.
func (s *Store) Start(context.Context) error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	if s.started || s.closed {
		return errors.New("start store: it was started or closed before")
	}
	s.started = true
	s.loops.Add(4)
	go s.dispatchLoop()
	go s.prepareLoop()
	go s.maintainLoop()
	go s.writeLoop()
	if !s.sync {
		s.loops.Add(1)
		go s.flushLoop()
	}
	s.app.mu.Lock()
	s.app.open = true
	s.app.mu.Unlock()
	return nil
}

// Close refuses further messages, writes and dispatches those it has, flushes everything and lets the directory go. Only if
// all of that worked the next Open finds a clean stop. It gives up waiting when ctx is done. A second Close
// returns what the first has.
func (s *Store) Close(ctx context.Context) error {
	s.lifeMu.Lock()
	defer s.lifeMu.Unlock()
	if s.closed {
		return s.closeErr
	}
	s.closed = true
	s.closeErr = s.close(ctx)
	return s.closeErr
}

func (s *Store) close(ctx context.Context) error {
	drained := s.drain(ctx)
	close(s.stop)
	close(s.stopWriter)
	ended := make(chan struct{})
	go func() {
		s.loops.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // somebody may still use the files: they and the lock go with the process
		return fmt.Errorf("close store: the next start will recover: %w", errors.Join(drained, ctx.Err()))
	}
	err := errors.Join(drained, s.closeFiles())
	if err = errors.Join(err, s.letGo()); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// drain ends the appending and waits until nobody writes.
func (s *Store) drain(ctx context.Context) error {
	a := &s.app
	a.mu.Lock()
	a.open, a.closing = false, closingRemark
	var idle chan struct{}
	if a.writing {
		if a.idle == nil {
			a.idle = make(chan struct{})
		}
		idle = a.idle
	}
	if a.room != nil { // those who wait for room are refused
		close(a.room)
		a.room = nil
	}
	a.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("messages are still being written: %w", ctx.Err())
	}
}

// closeFiles brings everything to the disk in an order in which each file is true when it gets there.
func (s *Store) closeFiles() error {
	if err := s.unfit(); err != nil {
		return err
	}
	if err := s.flushLog(); err != nil {
		return err
	}
	if err := s.dispatchAll(); err != nil {
		return err
	}
	if err := errors.Join(s.flushQueues(0), s.finishKeys(), s.unfit()); err != nil {
		return err
	}
	if err := s.dropPrepared(); err != nil {
		return err
	}
	if err := s.writeNote(true); err != nil {
		return err
	}
	if err := s.fs.Remove(s.abortPath()); err != nil && !errors.Is(err, vfs.ErrNotExist) {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// dropPrepared removes the segment that was made in advance. One that is the only one stays, unless the log begins at 0: its
// name says where the log goes on.
func (s *Store) dropPrepared() error {
	end := s.committed.Load()
	from := end
	if begin := s.log.Min(); begin > 0 {
		from = max(end, begin+1)
	}
	if err := s.log.DropFrom(from); err != nil && end > 0 {
		return err
	}
	return nil
}

// unfit says why the stop can't be a clean one.
func (s *Store) unfit() error {
	a := &s.app
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.fatal != nil:
		return fmt.Errorf("the next start will recover: %w", a.fatal)
	case a.writing:
		return errors.New("the next start will recover: not everything was written")
	}
	return nil
}

// letGo closes all files and gives the lock back.
func (s *Store) letGo() error {
	var errs []error
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.keys.Index != nil {
		errs = append(errs, s.keys.Close())
	}
	for _, q := range s.queues.all() {
		errs = append(errs, q.Close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// sleep waits and says whether the store goes on.
func (s *Store) sleep(d time.Duration) bool {
	t := s.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-s.stop:
		return false
	}
}
