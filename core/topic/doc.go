// Package topic keeps what a broker knows of its topics and subscription groups: two tables, Topics and Groups, each
// with a version and a file in RocketMQ's own format (config/topics.json, config/subscriptionGroup.json), which a Java
// broker reads as well as we read its.
//
// # What it promises
//
// Reading never waits and never allocates: a table is an immutable map behind one atomic pointer. A *transport.TopicConfig
// or *transport.GroupConfig that a look-up returned never changes; a change publishes a new one.
//
// A change is visible, and its caller is answered, only after the file that contains it is safely on disk and the
// OnChange hook has returned. So whoever got an answer to a send, a heartbeat or a topic creation may rely on the topic's
// route. A change that can't be saved doesn't happen, and the error says why.
//
// # What it costs
//
// A change copies the map and writes the whole file with three syncs, as RocketMQ's does without the syncs. Changes that
// come while one is being written are written together by the next, so that a thousand new groups at once cost a few
// writes. Both tables are bounded by a quota.
package topic
