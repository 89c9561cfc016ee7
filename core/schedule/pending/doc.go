// Package pending keeps the records that wait for times of their own in the order of those times, however many they are, in bounded memory.
//
// Its nouns: an Entry says when a record is due and where it lies in the log; a run is a file of entries in order; a Set gives out the entries of
// all runs and of memory in one order; a Progress says how far the owner is.
//
//	Add -> memory (a heap, up to 65,536) -> full: a run -> eight runs of a size: one run
//	Peek, Pop <- the first of memory and of every run
//
// # What it promises
//
// The set is derived from the queue of the records that wait: what a crash or a damaged file takes is added again by reading the queue from where
// Open says. The progress is not derived: state.json holds it, and says which runs count. A run is complete and durable before state.json names
// it, and is removed only when state.json doesn't name it any more; every block of a run has a checksum.
//
// # What it costs
//
// 32 bytes an entry, on disk; in memory those of the heap, of up to four full heaps on their way to the disk, and a block of 4 KiB for each run, of
// which there are at most seven of each of a few sizes. An entry is written once, and once more for each eightfold of the number that waits. One
// goroutine writes; the owner never waits for a disk but to read a block.
package pending
