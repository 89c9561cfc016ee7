package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/core/message"
)

// Levels are the delays of level 1, 2 and so on. It is immutable.
type Levels []time.Duration

// DefaultLevels is RocketMQ's table, as text.
const DefaultLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// levelsMax bounds a table: each level is a queue.
const levelsMax = 1000

var levelUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// ParseLevels reads a table as RocketMQ's messageDelayLevel has it: whole numbers with s, m, h or d, separated by blanks.
func ParseLevels(text string) (Levels, error) {
	var l Levels
	for _, word := range strings.Fields(text) {
		unit := levelUnits[word[len(word)-1]]
		n, err := strconv.ParseInt(word[:len(word)-1], 10, 64)
		if unit == 0 || err != nil || n < 1 || n > int64(math.MaxInt64/unit) {
			return nil, fmt.Errorf("delay level %q: a level is a whole number above 0 with s, m, h or d, such as 10s", word)
		}
		l = append(l, time.Duration(n)*unit)
	}
	if len(l) == 0 || len(l) > levelsMax {
		return nil, fmt.Errorf("%d delay levels: a table has 1 to %d of them", len(l), levelsMax)
	}
	return l, nil
}

// Clamp returns the level that a wish for level means: the highest one when there is none so high.
func (l Levels) Clamp(level int) int { return min(level, len(l)) }

// Delay returns how long messages of a level wait.
func (l Levels) Delay(level int) time.Duration { return l[level-1] }

// Queue returns the queue in which messages of a level wait.
func Queue(level int) message.QueueKey {
	return message.QueueKey{Topic: message.TopicSchedule, ID: message.QueueID(level - 1)}
}

// Redirect returns where a message waits that asks for level, which is above 0, and appends to dst the properties that it is stored with
// there: the level that it gets, and topic and queue to which it belongs.
func (l Levels) Redirect(dst, p message.Properties, level int, topic string, id message.QueueID) (message.QueueKey, message.Properties) {
	asked := level
	level = l.Clamp(level)
	if asked == level {
		dst = message.AppendWithout(dst, p, message.PropRealTopic, message.PropRealQueueID)
	} else {
		dst = message.AppendWithout(dst, p, message.PropRealTopic, message.PropRealQueueID, message.PropDelay)
		dst = message.AppendProperty(dst, message.PropDelay, strconv.Itoa(level))
	}
	dst = message.AppendProperty(dst, message.PropRealTopic, topic)
	dst = message.AppendProperty(dst, message.PropRealQueueID, strconv.Itoa(int(id)))
	return Queue(level), dst
}
