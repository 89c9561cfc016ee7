// Package consumequeue keeps, for one queue of one topic, the entries that say where its messages are in the commit log.
// Entry number N is the message with queue offset N.
//
//	consumequeue/<topic>/<queue id>/00000000000000000000   entries [0, n)          n entries of 20 bytes a file,
//	                                00000000000006000000   entries [n, 2n)         named by its first byte's number
//
//	entry:  | position i64 | size i32 | tags code i64 |    big-endian; see message.Entry
//
//	consumequeue_ext/<topic>/<queue id>/00000000000000000000   units, see message.ExtUnit; files of 48 MiB
//	                                    00000000000050331648
//
// It is derived data: everything in it can be made again from the log, as long as the log reaches back. So a queue is
// never a reason to lose a message, and never believed about what the log itself can say.
//
// # Nouns
//
// The end is the offset that the next message will get. The minimum is the first offset whose record is still in the
// log. The log end of a queue is the position behind the record of its last entry. A filler is an entry (0, 2^31-1, 0)
// without a message: RocketMQ writes them in front of a queue's first entry when that isn't number 0, because a file
// is filled from its beginning. All of them are below the minimum, so readers do not meet them. A unit is what the
// extension file holds of a message; the entry then has the unit's address for a tags code. A queue may have no
// extension file, or units for some entries only.
//
// # What it promises
//
//   - Offset N is always at byte 20·N. An entry that would land elsewhere is refused (Gap), unlike in RocketMQ.
//   - Adding an entry that is there already changes nothing (Known), so dispatching a part of the log again is harmless.
//   - Readers see whole entries only, and only up to the end that Commit has published.
//   - Commit can be repeated after an error, such as a full disk, and loses nothing.
//   - Units are written before the entries that name them, and flushed before. A unit that is lost all the same, or
//     broken, is as none: what it says is in the record too, but for the bitmap, which only saves work.
//   - Units follow each other without a gap, and none is put at an address that an entry names, as Java's broker expects.
//
// # Concurrency
//
// One goroutine adds, commits, repairs and removes. Reading, Bounds, Flush and CorrectMin may go on beside it at any time.
package consumequeue
