package message

// TopicTimer is RocketMQ 5's topic of messages that wait for a time of their own. It has one queue.
const TopicTimer = SystemTopicPrefix + "wheel_timer"

// Names of the properties of timed messages (MessageConst of RocketMQ 5.3). They are stored and must not change.
const (
	PropTimerDeliverMS = "TIMER_DELIVER_MS"   // asked for: the time of delivery, ms since 1970
	PropTimerDelayMS   = "TIMER_DELAY_MS"     // asked for: the delay, ms
	PropTimerDelaySec  = "TIMER_DELAY_SEC"    // asked for: the delay, s
	PropStartDeliver   = "__STARTDELIVERTIME" // asked for by clients of Alibaba Cloud: the time of delivery, ms since 1970
	PropTimerOutMS     = "TIMER_OUT_MS"       // set by the broker: the time of delivery, ms since 1970
	PropTimerEnqueueMS = "TIMER_ENQUEUE_MS"   // set on delivery: when the broker took notice of the message
	PropTimerDequeueMS = "TIMER_DEQUEUE_MS"   // set on delivery: when that was
	PropTimerRollTimes = "TIMER_ROLL_TIMES"   // how often the message was stored again while it waited
	PropTimerDelKey    = "TIMER_DEL_UNIQKEY"  // of a tombstone: UNIQ_KEY of the message that it recalls
)
