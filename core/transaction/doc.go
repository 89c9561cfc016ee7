// Package transaction keeps transactional messages from consumers until their producer has decided about them.
//
// A half message is stored in RMQ_SYS_TRANS_HALF_TOPIC, where nobody reads it. Its producer then commits it, and it is stored again in its
// real topic, or rolls it back. Both write an op message into RMQ_SYS_TRANS_OP_HALF_TOPIC, which names the offset of the half message
// that is finished by it. Of half messages that stay undecided the producer is asked: the check-back.
//
//	send ──> half ──commit──> real topic + op(half)
//	          │ ──rollback──> op(half)
//	          │ undecided for timeout, and a producer of the group is connected:
//	          ├──────────────> half again, one check more + op(half); the producer is asked about the new one
//	          └ asked check_max times, or older than what is kept:
//	                          TRANS_CHECK_MAX_TIME_TOPIC + op(half)
//
// # What it promises
//
// What was committed is stored in its topic before or together with the op message that says so, and what was rolled back never is. A half
// message is finished once: a second commit or rollback is answered and does nothing, even after a check has stored the half message anew. Only after a crash
// may a commit be repeated, when it was stored and its op message wasn't. Only checks that were sent count. Records are RocketMQ 4.9.7's, both ways; it reads our op
// messages like its own (TransactionalMessageServiceImpl).
//
// # What it costs
//
// A bit for each half message from the oldest undecided one on, and a record for each check. Half messages that nobody can be asked about are stored
// anew once an hour, so that the log may forget the old ones.
package transaction
