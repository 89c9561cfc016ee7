// Package verdict keeps what filter programs have said of messages, so that each message is judged once for each program
// and a pull walks over bits instead of messages.
//
// # Nouns
//
//   - A Cover holds the verdicts of one program about one queue, in blocks of 65,536 entries of the queue's index.
//   - A bit of a block is set when the program says true of the entry. Entries are decided 64 at a time: a second bit for
//     each word says that its 64 verdicts are known. What isn't decided has to be judged.
//   - The tail of a cover is the part of its newest word that has been judged when the message arrived. It is in memory only.
//   - A Mark is what tells one life of a queue from another: an entry's offset, its record's position and store time.
//   - Covers is all of them: the directory, the cache of blocks, the bounds.
//
// # Files
//
//	<data_dir>/weir/verdicts/<topic>/<queue>/<key>/<first offset, 20 digits>
//
// A file is a block of a fixed size, written in one piece:
//
//	   0   "WEIRVRDT"
//	   8   version u32 | crc u32
//	  16   program key, 32 bytes
//	  48   first offset i64
//	  56   queue i32 | zero u32
//	  64   first decided entry: offset i64 | position i64 | store time i64 (ms)
//	  88   last decided entry, the same
//	 112   zero, 16 bytes
//	 128   decided: 16 u64, bit w%64 of number w/64 is word w
//	 256   verdicts: 1024 u64, bit i%64 of word i/64 is entry first+i; zero where the word isn't decided
//	8448
//
// All numbers are big-endian. The crc is CRC-32 (IEEE) of all other bytes.
//
// # What it promises
//
// All of it is derived: it may be deleted at any time, in whole or in part, and comes back as messages are pulled. A
// verdict that is given is one that the program would give of the message that is there now:
//
//   - Open cuts every cover to its queue, and makes that durable, before anything can be stored: bits of messages that a
//     crash has taken don't wait for those that come in their place.
//   - A block counts only while the last entry that it has decided, and the first if that is still there, have the
//     record position and store time that it has noted. RocketMQ may have run in between, cut the log or made the topic anew.
//   - Forget ends the covers of a topic before its queues are removed.
//   - A torn or foreign file has a wrong checksum, version or key and is removed.
//
// # What it costs
//
// Walking takes about a nanosecond for 64 entries without a match. A block takes 9 KiB of memory, from a bounded
// cache, and 8.25 KiB on disk, bounded too. Nothing is synced but what Open cuts and Forget removes. Where a file can't be
// written, for want of space as a rule, its verdicts are lost and judged again.
//
// # Locks
//
// In the order in which they are taken; none is held while a caller's code runs, but for the Index:
//
//	Cover.files  the cover's files, and which blocks there are
//	Covers.mu    which covers there are
//	cache.mu     which blocks are in memory
//	Cover.mu     a cover's blocks in memory, and its tail
//	block.mu     marks of a block, and the change of its words
package verdict
