// Package index is RocketMQ's key index: it finds messages by the keys that producers gave them, and by the unique key that clients give to
// each.
//
// It is a row of files index/yyyyMMddHHmmssSSS, each a hash table whose chains go from the newest entry to the oldest; the layout is in format.go. A key's hash and
// nothing else of it is kept, so a query finds messages of other keys with the same hash, too: clients compare.
//
// # What it promises
//
// The files are RocketMQ 4.9.7's (IndexService, IndexFile), both ways. What Flush has returned for is on the disk. The index is derived data: after an unclean stop Recover cuts
// it to a position of the log from which the caller puts the keys again, so that each is there once. RocketMQ throws the newest file away instead.
//
// # What it costs
//
// A put is a hash, and two writes to memory. The newest file's slots are kept in memory, 4 bytes each, 20 MB by default once they are all in use; its entries since
// the last flush too. A query reads the slot and the chain's entries from the files, 20 bytes each.
package index
