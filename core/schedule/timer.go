package schedule

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weirmq/weir/core/message"
)

// TimerQueue returns the queue in which messages wait that have a time of their own, as in RocketMQ 5.
func TimerQueue() message.QueueKey { return message.QueueKey{Topic: message.TopicTimer} }

// timerWish is what a message's properties say about the time of its delivery. The texts lie in them.
type timerWish struct {
	sec, ms, deliver, start []byte
	level                   []byte
	hasOut, recalls         bool
}

func scanTimer(p message.Properties) (w timerWish) {
	for rest := p; ; {
		name, value, next, ok := rest.Next()
		if !ok {
			return w
		}
		switch string(name) {
		case message.PropTimerDelaySec:
			w.sec = value
		case message.PropTimerDelayMS:
			w.ms = value
		case message.PropTimerDeliverMS:
			w.deliver = value
		case message.PropStartDeliver:
			w.start = value
		case message.PropDelay:
			w.level = value
		case message.PropTimerOutMS:
			w.hasOut = true
		case message.PropTimerDelKey:
			w.recalls = true
		}
		rest = next
	}
}

// TimerDue returns when a message with properties p is to be delivered that is stored at now; both are ms since 1970. timed is false for one
// that doesn't wait: it asks for no time or for one that has come, it has a delay level, which wins, or it has waited already (TIMER_OUT_MS).
//
// Of several wishes TIMER_DELAY_SEC wins, then TIMER_DELAY_MS, TIMER_DELIVER_MS and __STARTDELIVERTIME. The error is a *message.Error with
// MessageIllegal: the wish is no number or over the limit (ms), or it is a tombstone's and its time has come.
func TimerDue(p message.Properties, now, limit int64) (due int64, timed bool, err error) {
	w := scanTimer(p)
	if level, err := strconv.ParseInt(string(w.level), 10, 32); w.hasOut || err == nil && level > 0 {
		return 0, false, nil
	}
	switch {
	case w.sec != nil:
		due, err = after(message.PropTimerDelaySec, w.sec, now, 1000)
	case w.ms != nil:
		due, err = after(message.PropTimerDelayMS, w.ms, now, 1)
	case w.deliver != nil:
		due, err = timerNumber(message.PropTimerDeliverMS, w.deliver)
	case w.start != nil:
		due, err = timerNumber(message.PropStartDeliver, w.start)
	default:
		return 0, false, nil
	}
	switch {
	case err != nil:
		return 0, false, err
	case due <= now && w.recalls, due > now && due-now > limit:
		return 0, false, &message.Error{Code: message.MessageIllegal, Remark: fmt.Sprintf("timer message illegal, the delay time should not be bigger "+
			"than the max delay %dms; or if set del msg, the delay time should be bigger than the current time", limit)}
	}
	return due, due > now, nil
}

// after returns the time that lies as many units, in ms, behind now as text says. A time that no int64 holds is the last that one holds.
func after(name string, text []byte, now, unit int64) (int64, error) {
	n, err := timerNumber(name, text)
	switch {
	case err != nil:
		return 0, err
	case n <= 0:
		return now, nil
	case n > (math.MaxInt64-now)/unit:
		return math.MaxInt64, nil
	}
	return now + n*unit, nil
}

func timerNumber(name string, text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, &message.Error{Code: message.MessageIllegal, Remark: fmt.Sprintf("property %s is %.40q, which is not a whole number of 64 bits", name, text)}
	}
	return n, nil
}

// RedirectTimer appends to dst the properties with which a message waits in TimerQueue until due (ms since 1970): p, and the topic and queue to
// which it belongs.
func RedirectTimer(dst, p message.Properties, due int64, topic string, id message.QueueID) message.Properties {
	dst = message.AppendWithout(dst, p, message.PropTimerOutMS, message.PropRealTopic, message.PropRealQueueID)
	dst = message.AppendProperty(dst, message.PropTimerOutMS, strconv.FormatInt(due, 10))
	dst = message.AppendProperty(dst, message.PropRealTopic, topic)
	return message.AppendProperty(dst, message.PropRealQueueID, strconv.Itoa(int(id)))
}

// RestoreTimer appends to dst the properties with which a message that waited with p is delivered at now, which the broker took notice of at
// noticed (both ms since 1970). Unlike after a delay level, REAL_TOPIC and REAL_QID go, and TIMER_OUT_MS stays: it keeps the message from waiting again.
func RestoreTimer(dst, p message.Properties, noticed, now int64) message.Properties {
	dst = message.AppendWithout(dst, p, message.PropRealTopic, message.PropRealQueueID, message.PropTimerEnqueueMS, message.PropTimerDequeueMS)
	dst = message.AppendProperty(dst, message.PropTimerEnqueueMS, strconv.FormatInt(noticed, 10))
	return message.AppendProperty(dst, message.PropTimerDequeueMS, strconv.FormatInt(now, 10))
}
