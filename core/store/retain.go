package store

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weirmq/weir/core/message"
)

// Who may block messages, each with a reason of its own.
const (
	blockQueue = iota // queue entries can't be written
	blockDisk         // the disk is too full
	blockCount
)

// block makes messages be refused for a reason, or no longer when it is empty.
func (s *Store) block(who int, reason string) {
	a := &s.app
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocks[who] = reason
}

// Writable says whether messages are accepted at the moment, and if not, why.
func (s *Store) Writable() (ok bool, reason string) {
	a := &s.app
	a.mu.Lock()
	defer a.mu.Unlock()
	code, reason := s.refusalLocked(s.clock.Now())
	return code == message.Success, reason
}

// retainMax is how many segments one round deletes at most, so that deleting doesn't take the disk from everyone else.
const retainMax = 10

// retain deletes the oldest segments that are due, with the files of entries that point into them, and blocks messages
// while the disk is too full. The last segment always stays.
func (s *Store) retain(now time.Time) error {
	if s.deleted.changed() {
		if err := s.writeDeleted(); err != nil {
			return err
		}
	}
	usage, err := s.fs.DiskUsage(s.dir)
	if err != nil {
		return fmt.Errorf("measure the disk: %w", err)
	}
	used := usage.UsedRatio()
	reason := ""
	if s.cfg.DiskRefuse < 1 && used > s.cfg.DiskRefuse {
		reason = fmt.Sprintf("the broker's disk is %.1f%% full, messages are refused above %.1f%% (store.disk_refuse)",
			used*100, s.cfg.DiskRefuse*100)
	}
	s.block(blockDisk, reason)
	force := s.cfg.DiskClean > 0 && s.cfg.DiskClean < 1 && used > s.cfg.DiskClean
	due := force || used > s.cfg.DiskMaxUsed || slices.Contains(s.cfg.DeleteAt, now.Hour())
	if !due {
		return nil
	}
	return s.deleteExpired(now, force)
}

// deleteExpired deletes the segments in front that are expired, or just the oldest ones with force.
func (s *Store) deleteExpired(now time.Time, force bool) error {
	to := s.log.Min()
	for i, seg := range s.log.List() {
		if i >= retainMax || seg.End() > min(s.dispatched.Load(), s.durable.Load()) {
			break
		}
		mod, err := seg.ModTime()
		if err != nil {
			return err
		}
		if !force && now.Sub(mod) < s.cfg.ReservedTime {
			break
		}
		to = seg.End()
	}
	if to == s.log.Min() {
		return nil
	}
	if s.keep != nil {
		if to = min(to, int64(s.keep(message.Position(to)))); to <= s.log.Min() {
			return nil // what is needed of them is stored again by the next time
		}
	}
	n, err := s.log.RemoveBefore(to)
	if n > 0 {
		level := slog.LevelInfo
		if force {
			level = slog.LevelWarn // the disk is so full that messages go before their time
		}
		s.logger.Log(s.background, level, "commit log segments deleted", slog.Int("segments", n),
			slog.Int64("begin", s.log.Min()), slog.Bool("before_their_time", force))
	}
	if err != nil {
		return err
	}
	if s.keys.Index != nil {
		if err := s.keys.DeleteBefore(message.Position(s.log.Min())); err != nil {
			return err
		}
	}
	return s.expireQueues()
}

// expireQueues moves the minimum of every queue to what is left of the log.
func (s *Store) expireQueues() error {
	begin := message.Position(s.log.Min())
	for _, q := range s.queues.all() {
		if err := s.expireQueue(q, begin); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) expireQueue(q *queue, begin message.Position) error {
	if err := s.beginChange(); err != nil { // the files of a queue are the dispatcher's
		return err
	}
	defer s.endDispatch()
	if err := q.CorrectMin(begin); err != nil {
		return err
	}
	_, err := q.Expire()
	return err
}

// DeleteExpired deletes expired segments, and what is left without messages in the queues, now instead of at the next
// hour of Config.DeleteAt.
func (s *Store) DeleteExpired() error { return s.deleteExpired(s.clock.Now(), false) }
