// Command bench compares weir with the Java 4.9.7 broker: one run, one machine, one load generator (`weir bench`, so that
// Java's client is not the limit), one file system.
//
// Every scenario is measured in short rounds that alternate between the brokers, so that whatever else the machine does
// meets both of them, and the median of the rounds is reported. Java's broker gets load until its JIT has settled
// before anything is measured. What other processes used meanwhile is reported too: with more than a few per cent of
// the machine only the ratios mean something.
//
// The raw rate of fdatasync is measured between the rounds of the scenario with one sender and sync flush, by the writes
// that the store makes: one record appended with pwrite, then fdatasync, in a fresh file of a segment's size.
//
// A full run takes about seven minutes and writes some ten GiB into a temporary directory.
package main
