package broker

import (
	"github.com/weirmq/weir/core/message"
)

// sendProperties is what the broker must know of a message's properties before it stores it, found in one pass.
type sendProperties struct {
	wait        bool // absent or "true"
	strip       bool // WAIT or CLUSTER, or a separator at the end, must be taken out
	transaction bool
	delay       []byte // the level's text
	dlqDelay    bool
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
			found.wait, found.strip = string(value) == "true", true
		case message.PropCluster:
			found.strip = true
		case message.PropTransaction:
			found.transaction = isTrue(value)
		case message.PropDelay:
			found.delay = value
		}
		rest = next
	}
}

// delayed says whether a delay level above 0 is asked for.
func (p *sendProperties) delayed() bool {
	level := 0
	for _, c := range p.delay {
		if c < '0' || c > '9' {
			return false
		}
		level = min(level*10+int(c-'0'), 1<<20)
	}
	return level > 0
}

// refuseUnsupported refuses what must never be delivered as an ordinary message. A message in a retry topic is delivered
// at once whatever its level.
func (p *sendProperties) refuseUnsupported(retry bool) error {
	if p.transaction {
		return &message.Error{Code: message.NoPermission, Remark: "transactional messages are not enabled on this broker yet"}
	}
	if !retry && p.delayed() {
		return &message.Error{Code: message.MessageIllegal, Remark: "delayed messages (property DELAY) are not enabled on this broker yet"}
	}
	return nil
}

// rewrite returns the property string to store: without WAIT, with this broker's CLUSTER. It lives in w's arena.
func (w *sendWork) rewrite(p message.Properties, found sendProperties, topic string) message.Properties {
	out := w.room()
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

// room returns the free end of the arena of property strings.
func (w *sendWork) room() message.Properties { return w.properties[len(w.properties):] }

// keep makes a string that was appended to room() a part of the arena. When it has outgrown the arena, it becomes the
// arena; the strings in the old one stay valid.
func (w *sendWork) keep(p message.Properties) message.Properties {
	w.properties = p
	return p[:len(p):len(p)]
}

// isTrue reads a boolean as Java does.
func isTrue(v []byte) bool {
	return len(v) == 4 && v[0]|0x20 == 't' && v[1]|0x20 == 'r' && v[2]|0x20 == 'u' && v[3]|0x20 == 'e'
}
