// Package schedule keeps messages back until their time has come.
//
// A message with a delay level (property DELAY) waits in RocketMQ's topic SCHEDULE_TOPIC_XXXX, in the queue of its level: all
// messages of a queue wait equally long, so they come due in the order in which they were stored, and only the first of each
// queue has to be watched. The queue's entries hold the time of delivery in place of a tag. When it has come the message is
// stored again under its real topic and queue.
//
//	producer -> SCHEDULE_TOPIC_XXXX, queue level-1, REAL_TOPIC and REAL_QID noted
//	            … due: stored again in the real topic; config/delayOffset.json says how far each level is
//
// A message with a time of its own (TIMER_DELIVER_MS and the like) waits in RocketMQ 5's topic rmq_sys_wheel_timer, in the order in which it was stored. In
// which order such messages come due is kept by pending, beside the queue:
//
//	producer -> rmq_sys_wheel_timer, TIMER_OUT_MS, REAL_TOPIC and REAL_QID noted
//	            … looked at: its time and position go into pending.Set
//	            … due: stored again in the real topic, unless a record of the same time recalls it
//	            … its segment about to be deleted: stored again in rmq_sys_wheel_timer
//
// timer.go and recall.go have the rules, timers.go the loop, timer_work.go its steps; census.go says what waits in a store that nobody has opened.
//
// # What it promises
//
// Nothing is delivered early, and nothing is lost: a level goes on behind a message only when that is stored in its real topic,
// or can never be. After a crash the deliveries of the last save_interval may come twice. Files and records are RocketMQ
// 4.9.7's (ScheduleMessageService), both ways.
//
// # What it costs
//
// One goroutine sleeps until the next message is due, at most sleepMax. Messages that are due together are stored again
// as one batch.
package schedule
