// Package consumequeue keeps, for one queue of one topic, the entries that say where its messages are in the commit log.
// Entry number N is the message with queue offset N.
//
//	consumequeue/<topic>/<queue id>/00000000000000000000   entries [0, n)          n entries of 20 bytes a file,
//	                                00000000000006000000   entries [n, 2n)         named by its first byte's number
//
//	entry:  | position i64 | size i32 | tags code i64 |    big-endian; see message.Entry
//
// It is derived data: everything in it can be made again from the log, as long as the log reaches back. So a queue is
// never a reason to lose a message, and never believed about what the log itself can say.
//
// # Nouns
//
// The end is the offset that the next message will get. The minimum is the first offset whose record is still in the
// log. The log end of a queue is the position behind the record of its last entry. A filler is an entry (0, 2^31-1, 0)
// without a message: RocketMQ writes them in front of a queue's first entry when that isn't number 0, because a file
// is filled from its beginning. All of them are below the minimum, so readers do not meet them.
//
// # What it promises
//
//   - Offset N is always at byte 20·N. An entry that would land elsewhere is refused (Gap), unlike in RocketMQ.
//   - Adding an entry that is there already changes nothing (Known), so dispatching a part of the log again is harmless.
//   - Readers see whole entries only, and only up to the end that Commit has published.
//   - Commit can be repeated after an error, such as a full disk, and loses nothing.
//
// # Concurrency
//
// One goroutine adds, commits, repairs and removes. Reading, Bounds, Flush and CorrectMin may go on beside it at any time.
package consumequeue
