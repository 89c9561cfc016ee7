// Package queue is what consumers see of the broker: pulling, waiting for messages, filters, consumed offsets, groups and
// their members, order locks, what happens to messages that could not be consumed, and the figures about all of it.
//
// Its nouns:
//
//   - Pulls answers pull requests. One that finds nothing may be held; Arrived wakes those whose message has come.
//   - Clients knows who is connected, in which producer and consumer groups, and what each group subscribes.
//   - Programs compiles filter expressions and shares the result between everybody who uses the same text.
//   - Filters registers by what expression each group filters each topic, and saves it in RocketMQ's file.
//   - Verdicts (package verdict) keeps what programs have said of messages, as bits. Programs that are live for a topic judge
//     its messages when they arrive, pulls judge what is left, and a pull walks over bits where they are known.
//   - Offsets keeps how far each group has consumed each queue, and saves it every few seconds.
//   - Locks grants queues to single clients of a group for a minute at a time.
//   - Retry plans where a message goes that a consumer sends back.
//   - Progress computes lags, time spans, resets and the other tables that operators ask for.
//   - Counters holds the rates that tools show.
//
// The package stores nothing itself but the files of offsets and of filters. Messages come from the Log, topics and groups from the tables
// of core/topic, through the small interfaces in log.go and tables.go. Nobody is authenticated here: core/broker does
// that before it calls.
//
// # Promises
//
// A pull is answered once, unless its connection ends while it is held. A message that has been dispatched before a pull
// was held, or after, is never overlooked: holding looks at the queue's end once more after it has registered. Offsets
// go where the client says, backwards too. What a commit sets is on disk after the save interval, and at Stop.
//
// # Costs
//
// A pull allocates nothing that depends on the number of entries or messages; scanning costs a few nanoseconds an entry.
// A held pull is one struct in a list, without goroutine or timer. A commit is two map look-ups and a store.
// Every table has a bound; the bounds are in Config.
//
// # Locks
//
// No lock of this package is held while another package's code runs, with exceptions that take none of ours: the clock,
// Session.Alive, and the program that looks at an arriving message. Within the package the round of arriving messages is
// locked before a waiting list's shard, that before waiting.mu, an offset's shard before its progress; no other two locks are
// held together. Those of package verdict come after all of them.
package queue
