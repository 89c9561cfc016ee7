// Package segment keeps a long run of bytes in fixed-size files named by offset: the commit log (1 GiB files) and each
// consume queue (6,000,000 bytes). The layout is that of RocketMQ's MappedFileQueue, so that a Java broker opens what we
// wrote and the reverse:
//
//	dir/00000000000000000000   bytes [0, size)
//	dir/00000000001073741824   bytes [size, 2*size)        the name is the position of the first byte, 20 digits
//	dir/00000000002147483648   bytes [2*size, 3*size)      always full length; what is not written yet is a hole
//
// # Nouns
//
// A position is a count of bytes from the beginning of the run; it never changes while old files are removed in front
// and new ones are made behind. A Segment is one file. Files is the ascending list of them, without holes. A View is a
// range of bytes of one segment, read in place. How far the run is written, acknowledged or valid is not known here:
// that is the owner's (core/store), which also decides what is a record and what is padding.
//
// # What it promises
//
//   - A View's bytes stay mapped until it is released, whatever happens to its segment: removal unlinks the file,
//     the last release unmaps it. A read at a removed or missing position is ErrNotFound, never a fault.
//   - Bytes are written with pwrite, never through a mapping, so a full disk is an error (ENOSPC) and not SIGBUS. A failed
//     write changes nothing but bytes of the range it was given; write the range again or cut the run with TruncateTo.
//   - After the first failed Datasync every later one fails with the same error: the kernel may have dropped the pages.
//   - Opening looks at everything before it changes anything, and refuses what a Java broker would refuse.
//   - Segments in front of a cut keep their bytes and modification times; bytes behind it in the same segment are not
//     zeroed, as in RocketMQ.
//
// # What it costs
//
// Files are opened and mapped at first use, so a store with many queues starts without touching them. A View takes two
// atomic operations and no allocation. Reading through a View touches pages that may have to come from the disk, which
// blocks the thread: ask View.Resident and use ReadAt for cold ranges. The last Release of a removed segment unmaps it,
// which can take milliseconds for a large one.
//
// # Concurrency
//
// All reading and finding is lock-free: the list is copied on change and published through an atomic pointer. WriteAt
// and Datasync take no common lock either; writes to overlapping ranges must not race (the owner's append lock), and
// neither may a write and the removal of its segment by TruncateTo or DropFrom.
//
// Locks, always taken in this order:
//
//	Files.mu        changes of the list: Create, Ensure, TruncateTo, DropFrom, RemoveBefore, Close
//	Segment.syncMu  one Datasync of a segment at a time, so that the second waits for the first one's result
//	Segment.openMu  opening and mapping the file at first use
package segment
