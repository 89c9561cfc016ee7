package broker

import (
	"fmt"
	"strconv"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/store"
	"github.com/weirmq/weir/core/transport"
)

// sendProperties is what the broker must know of a message's properties before it stores it, found in one pass.
type sendProperties struct {
	wait        bool // WAIT is absent or "true"
	strip       bool // WAIT or CLUSTER, or a separator at the end, must be taken out
	transaction bool
	timed       bool   // a time of delivery is asked for
	delay       []byte // the level's text
}

func scanProperties(p message.Properties) sendProperties {
	found := sendProperties{wait: true, strip: len(p) > 0 && p[len(p)-1] == 0x02}
	for rest := p; ; {
		name, value, next, ok := rest.Next()
		if !ok {
			return found
		}
		switch string(name) {
		case message.PropWait:
			found.wait, found.strip = isTrue(value), true
		case message.PropCluster:
			found.strip = true
		case message.PropTransaction:
			found.transaction = isTrue(value)
		case message.PropDelay:
			found.delay = value
		case message.PropTimerDeliverMS, message.PropTimerDelayMS, message.PropTimerDelaySec, message.PropStartDeliver:
			found.timed = true
		}
		rest = next
	}
}

// delayed says whether a delay level above 0 is asked for.
func (p *sendProperties) delayed() bool {
	level, ok := p.delayLevel()
	return ok && level > 0
}

// delayLevel returns the delay level that is asked for, 0 without one. It reads numbers as Java does; what is none can't
// be stored, as the level decides where to.
func (p *sendProperties) delayLevel() (level int, ok bool) {
	if len(p.delay) == 0 {
		return 0, true
	}
	n, err := strconv.ParseInt(string(p.delay), 10, 32)
	return int(n), err == nil
}

// half says whether a message is a half message. One in a retry topic that a client older than 4.6.1 has sent may still say that it was
// transactional once.
func (p *sendProperties) half(s *transport.Send) bool {
	return p.transaction && !(s.ReconsumeTimes > 0 && p.delayed())
}

// refuse refuses what can't be stored as what it says it is.
func (p *sendProperties) refuse(s *transport.Send) error {
	if !p.half(s) && hidden(s.SysFlag) {
		return &message.Error{Code: message.NoPermission, Remark: "the flags say that this is a half message or a rollback, and its property TRAN_MSG doesn't: no consumer would see it"}
	}
	if _, ok := p.delayLevel(); !ok {
		return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf("property DELAY is %q, which is not a number", p.delay)}
	}
	return nil
}

// hidden says whether a record with these flags is one that no consumer ever sees: it would be acknowledged and lost.
func hidden(sysFlag int32) bool {
	t := message.TransactionType(sysFlag)
	return t == message.FlagPrepared || t == message.FlagRollback
}

// rewrite returns the property string to store: without WAIT, with this broker's CLUSTER. It lives in w's arena.
func (w *sendWork) rewrite(p message.Properties, found sendProperties, topic string) message.Properties {
	out := w.room(len(p) + len(w.handler.clusterProperty) + 1)
	switch {
	case message.IsDLQTopic(topic):
		// A dead letter is for people: a level left over from its retries must not delay it.
		out = message.AppendWithout(out, p, message.PropWait, message.PropCluster, message.PropDelay)
	case found.strip:
		out = message.AppendWithout(out, p, message.PropWait, message.PropCluster)
	default:
		out = append(out, p...)
	}
	return w.keep(message.AppendProperties(out, w.handler.clusterProperty))
}

// delayed sends m to where messages of a level wait, and returns the property string to store: with this broker's CLUSTER, and with WAIT,
// which RocketMQ only takes out of messages that don't wait. It lives in w's arena.
func (w *sendWork) delayed(m *store.Message, p message.Properties, level int) message.Properties {
	h := w.handler
	own := w.keep(message.AppendProperties(message.AppendWithout(w.room(len(p)+len(h.clusterProperty)+1), p, message.PropCluster), h.clusterProperty))
	return w.keep(h.delay(m, w.room(len(own)+delayRoom), own, level))
}

// The size in bytes of a first arena, and of the largest that is kept for the next batch.
const (
	arenaMin  = 4 << 10
	arenaKeep = 1 << 20
)

// room returns an empty string at the arena's free end that can grow by n bytes. An arena that is too small is left to
// the strings in it, and a larger one takes its place.
func (w *sendWork) room(n int) message.Properties {
	used := len(w.properties)
	if cap(w.properties)-used < n {
		w.properties = make(message.Properties, 0, max(n, 2*cap(w.properties), arenaMin))
		used = 0
	}
	return w.properties[used:used]
}

// keep makes a string that was built in room a part of the arena.
func (w *sendWork) keep(p message.Properties) message.Properties {
	w.properties = w.properties[:len(w.properties)+len(p)]
	return p[:len(p):len(p)]
}

// isTrue reads a boolean as Java does.
func isTrue(v []byte) bool {
	return len(v) == 4 && v[0]|0x20 == 't' && v[1]|0x20 == 'r' && v[2]|0x20 == 'u' && v[3]|0x20 == 'e'
}
