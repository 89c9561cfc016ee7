package topic

import (
	"fmt"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// EnsureForSend returns the topic that a message is sent to, and creates it by RocketMQ's rule when it doesn't exist:
//
// The producer names another topic, usually TBW102, as a template. If that exists and its permission has the inherit bit,
// the new topic gets its permission without that bit, its filter type, and min(defaultQueueNums, the template's write
// queues) read and write queues, which may be 0. Otherwise a retry topic is created with one queue, and every other
// topic is refused with TopicNotExist. unit is the producer's unit mode. Without topics.auto_create there is no TBW102.
// Producers of 4.3 call it AUTO_CREATE_TOPIC_KEY.
//
// A known topic costs a look-up and no allocation. created is true for the caller whose call created it.
func (t *Topics) EnsureForSend(name, template []byte, defaultQueueNums int32, unit bool) (c *transport.TopicConfig, created bool, err error) {
	if c, ok := t.table.lookup(name); ok {
		return c, false, nil
	}
	return t.createForSend(string(name), string(template), defaultQueueNums, unit)
}

func (t *Topics) createForSend(name, template string, queues int32, unit bool) (*transport.TopicConfig, bool, error) {
	if err := message.CheckTopic(name); err != nil {
		return nil, false, err
	}
	sysFlag := int32(0)
	if unit && message.IsRetryTopic(name) {
		sysFlag = message.TopicUnitSub
	} else if unit {
		sysFlag = message.TopicUnit
	}
	// Looking before queueing for the table keeps those who send to unknown topics away from those who create some.
	if _, err := t.derive(t.table.live.Load().values, name, template, queues, sysFlag); err != nil {
		return nil, false, err
	}
	return t.create(name, message.TopicNotExist, func(values map[string]*transport.TopicConfig) (*transport.TopicConfig, error) {
		return t.derive(values, name, template, queues, sysFlag)
	})
}

// derive makes the topic that a send creates.
func (t *Topics) derive(values map[string]*transport.TopicConfig, name, template string, queues, sysFlag int32) (*transport.TopicConfig, error) {
	from, ok := values[template]
	if !ok && template == message.TopicAutoCreateOld {
		from, ok = values[message.TopicAutoCreate]
	}
	if ok && message.Perm(from.Perm).CanInherit() {
		c := plain(name, max(0, min(queues, from.WriteQueues)), from.Perm&^int32(message.PermInherit))
		c.FilterType, c.SysFlag = from.FilterType, sysFlag
		return c, nil
	}
	if message.IsRetryTopic(name) {
		c := plain(name, 1, permRW)
		c.SysFlag = sysFlag
		return c, nil
	}
	return nil, t.refuseSend(name, template, ok)
}

// refuseSend says why a topic doesn't come into being by being sent to.
func (t *Topics) refuseSend(name, template string, templateExists bool) error {
	var why string
	switch {
	case template == "":
		why = "the producer names no topic to create it after"
	case (template == message.TopicAutoCreate || template == message.TopicAutoCreateOld) && !t.cfg.AutoCreate:
		why = "topics.auto_create is off"
	case !templateExists:
		why = fmt.Sprintf("the topic %q, after which it was to be created, doesn't either", template)
	default:
		why = fmt.Sprintf("the topic %q, after which it was to be created, has no inherit permission", template)
	}
	return &message.Error{Code: message.TopicNotExist, Remark: fmt.Sprintf(
		"topic %q does not exist and %s; create it with: weir topic create %s", name, why, name)}
}

// EnsureRetry returns the retry topic of a group and creates it, with the given number of queues, when it doesn't exist.
// unit is the consumer's unit mode. It fails for groups whose retry topic's name would be too long.
func (t *Topics) EnsureRetry(group string, queues int32, unit bool) (*transport.TopicConfig, error) {
	sysFlag := int32(0)
	if unit {
		sysFlag = message.TopicUnitSub
	}
	return t.ensure(message.RetryTopic(group), max(0, min(queues, QueuesMax)), sysFlag)
}

// EnsureDLQ returns the dead letter topic of a group and creates it with one queue when it doesn't exist.
func (t *Topics) EnsureDLQ(group string) (*transport.TopicConfig, error) {
	return t.ensure(message.DLQTopic(group), 1, 0)
}

// EnsureSystem returns a topic of the broker's own that exists on demand only, such as those of transactions.
func (t *Topics) EnsureSystem(name string, queues int32) (*transport.TopicConfig, error) {
	return t.ensure(name, queues, 0)
}

func (t *Topics) ensure(name string, queues, sysFlag int32) (*transport.TopicConfig, error) {
	if c, ok := t.table.get(name); ok {
		return c, nil
	}
	c, _, err := t.create(name, message.SystemError, func(map[string]*transport.TopicConfig) (*transport.TopicConfig, error) {
		c := plain(name, queues, permRW)
		c.SysFlag = sysFlag
		return c, nil
	})
	return c, err
}

// create adds a topic unless it has come into being meanwhile. full is the code of a refusal because of the quota. The
// retry topic of a known group may have a name that CheckTopic wouldn't let in.
func (t *Topics) create(name string, full message.Code, build func(map[string]*transport.TopicConfig) (*transport.TopicConfig, error)) (c *transport.TopicConfig, created bool, err error) {
	if err := message.CheckKnownTopic(name); err != nil {
		return nil, false, err
	}
	err = t.table.change(func(d *draft[transport.TopicConfig]) error {
		var known bool
		if c, known = d.values[name]; known {
			return nil
		}
		if err := t.checkRoom(d, name, full); err != nil {
			return err
		}
		var err error
		if c, err = build(d.values); err != nil {
			return err
		}
		created = true
		d.put(name, c)
		return nil
	})
	if err != nil {
		return nil, false, answer(err, message.ServiceNotAvailable, fmt.Sprintf("topic %q was not created", name))
	}
	return c, created, nil
}
