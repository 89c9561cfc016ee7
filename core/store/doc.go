// Package store keeps messages on disk in the files of Apache RocketMQ 4.9.7: one commit log that all messages are
// appended to, and for each queue of a topic a list of entries that point into it.
//
//	<Dir>/lock                             POSIX lock, taken before anything is touched
//	<Dir>/abort                            there while a store is open; found at Open it means recovery
//	<Dir>/checkpoint                       up to which store times log and queues are flushed
//	<Dir>/commitlog/00000000000000000000   records, see message.Record; segment after segment
//	<Dir>/consumequeue/<topic>/<id>/…      entries, see package consumequeue
//	<Dir>/consumequeue_ext/<topic>/<id>/…  more of each message than its entry has room for, when there is
//	<Dir>/weir/flushed                     ours: up to which position log and queues are flushed
//	<Dir>/weir/deleted                     ours: topics whose older records must not come back
//
// # Nouns
//
// A Message is what is to be stored, a Batch the messages that are stored and answered together. Positions count bytes
// of the log, offsets count messages of a queue. The committed end is behind the last byte handed to the
// system, the durable end behind the last byte known to be on the disk, the visible end where readers stop: the
// durable end with sync flush, the committed end otherwise. Dispatch makes queue entries of visible records.
//
// # What it promises
//
//   - An answered message survives what the flush mode says: async a crash of the process, sync a power cut.
//   - Queue offsets are dense: a refused message leaves no hole. Positions and store times never go back.
//   - Nothing is readable, dispatched or announced before its promise is kept.
//   - A unit (the messages of one producer's batch) is stored whole in one segment or not at all.
//   - Interior damage is never cut away silently: a bad record below the noted flushed position refuses to open.
//   - A full disk refuses messages with the reason and heals by itself; the first failed fdatasync is final.
//   - What we close opens in RocketMQ 4.9.7, and the reverse; see spec of the formats in docs.
//
// # What it costs
//
// Append encodes outside the lock, copies under it, and writes with one pwrite for all that came together; no
// allocation for a message. Entries are made in rounds, one pwrite for each queue and round, by the appender or, when
// there are many, by the dispatcher goroutine. Reading lends
// bytes of mappings (hot) or of a pread (cold).
//
// # Files to read
//
// append.go, tail.go and commit.go are the way in; dispatch.go makes it readable; read.go is the way out; recover.go
// and rebuild.go open what a crash left.
//
// # Locks
//
// In the order in which they are taken:
//
//	dispatcher.mu  one round of dispatch, or the removal of a topic
//	appender.mu    positions, queue offsets, the tail buffer
//	queueTable.mu  which queues there are
//	tombstones.mu  which topics were deleted, and where
package store
