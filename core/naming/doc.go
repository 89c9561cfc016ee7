// Package naming is the name server: brokers register their topics here, clients ask where a topic is.
//
// A Server implements the name server's roles of core/transport (Router, Registry, KVStore, SessionKeeper), so that any
// transport can serve it, inside a broker's process or alone. The broker in the same process registers through Local,
// without a connection, so that a topic's route is known before its creation is answered.
//
// # What it promises
//
// The tables follow RocketMQ 4.9.7's rules: topics come from brokers with id 0, and only with the first registration or
// one whose data version differs; a registration removes none; a broker that closes its connection, or isn't heard of
// for two minutes, goes at once, with those of its topics that no other broker has. All of it lives in memory and comes
// back by the brokers' next registrations. Only the KV table is kept in a file. Name servers don't talk to each other.
//
// Every method of a role asks the Authorizer before anything else.
//
// # What it costs
//
// A route is assembled from slices and maps that never change, under a read lock: one allocation, a fraction of a
// microsecond. Every table has a limit, and what exceeds it is refused with a sentence that names the limit.
//
// # Locks
//
// Server.mu guards the routes, kvTable.mu the KV table; neither is held while the other is taken or a session is called.
package naming
