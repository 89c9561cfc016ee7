// Package client is a small RocketMQ producer and consumer. The command line and the benchmark are made of it, and it
// may be used by programs that want few parts.
//
// # Nouns
//
//   - A Conn is one connection with many requests in flight. Replies are matched by opaque and handed to a Handler with
//     the caller's token; nothing is allocated and no goroutine is started for a request.
//   - A Client knows the name servers, caches routes, and keeps one Conn for each address.
//   - A Producer sends: synchronously, asynchronously, one-way, in batches.
//   - A Consumer is a member of a group: it heartbeats, shares the queues with the other members, pulls, and commits.
//   - Client has the administrative requests as methods.
//
// # What it promises
//
// Frames that are submitted while a write is under way go out together with the next write. Every buffer is bounded by
// the window of the connection times the size of a frame. Bytes handed to a Handler are borrowed until it returns.
//
// With TLS in the options all connections are encrypted, and the peers' certificates checked. A TLSError says that this failed.
//
// It speaks to weir and to RocketMQ 4.9.7 and 5.x alike.
package client
