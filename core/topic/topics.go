package topic

import (
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// TopicsFile is the name of the topics' file in Settings.Dir. It is RocketMQ's and must not change.
const TopicsFile = "topics.json"

// Topics is the table of topics. It is safe for concurrent use.
type Topics struct {
	// OnChange, if set, is told of every change after it has been saved and before its caller is answered: the topics
	// that were created or changed (none for a deletion) and the table's new version. It must neither change the table nor
	// wait for other machines: all changes wait for it. Set it before the first change.
	//
	// To other name servers the whole table (All) should be sent, not this list: they remember only the version, so a list
	// that got lost would be missing there for good once a later one arrives.
	OnChange func(changed []transport.TopicConfig, v transport.DataVersion)

	set   Settings
	cfg   Config
	path  string
	table table[transport.TopicConfig]
}

// OpenTopics loads the table. What the file says goes before the built-in topics, except that TBW102 follows cfg.
func OpenTopics(set Settings, cfg Config) (*Topics, error) {
	t := &Topics{set: set, cfg: cfg, path: filepath.Join(set.Dir, TopicsFile)}
	s := &state[transport.TopicConfig]{values: builtinTopics(set.Cluster, set.Broker, cfg)}
	err := set.load(t.path, func(data []byte) error { return decodeTopics(data, s) })
	if err != nil {
		return nil, err
	}
	if cfg.AutoCreate {
		s.values[message.TopicAutoCreate] = autoCreateTemplate(cfg)
	} else {
		delete(s.values, message.TopicAutoCreate)
	}
	t.table.live.Store(s)
	t.table.next = set.nextVersion
	t.table.save = func(s *state[transport.TopicConfig]) error {
		data, err := encodeTopics(s)
		return set.write(t.path, data, err)
	}
	t.table.changed = func(list []transport.TopicConfig, v transport.DataVersion) {
		if t.OnChange != nil {
			t.OnChange(list, v)
		}
	}
	return t, nil
}

// Lookup finds a topic without allocating. What it returns doesn't change.
func (t *Topics) Lookup(name []byte) (*transport.TopicConfig, bool) { return t.table.lookup(name) }

// Topic finds a topic.
func (t *Topics) Topic(name string) (transport.TopicConfig, bool) {
	v, ok := t.table.get(name)
	if !ok {
		return transport.TopicConfig{}, false
	}
	return *v, true
}

// All returns all topics, sorted by name, and the version of the table that they make up.
func (t *Topics) All() ([]transport.TopicConfig, transport.DataVersion) { return t.table.all() }

// Version returns the table's version. It differs after every change.
func (t *Topics) Version() transport.DataVersion { return t.table.live.Load().version }

// Put creates or changes a topic as an administrator wants it. Like RocketMQ it ignores c.Order (see SetOrder), and
// fewer queues than before delete no data. System topics and names that RocketMQ doesn't allow are refused.
func (t *Topics) Put(c transport.TopicConfig) error {
	if err := t.checkPut(&c); err != nil {
		return err
	}
	err := t.table.change(func(d *draft[transport.TopicConfig]) error {
		if _, known := d.values[c.Name]; !known {
			if err := t.checkRoom(d, c.Name, message.SystemError); err != nil {
				return err
			}
		}
		d.put(c.Name, &c)
		return nil
	})
	return answer(err, message.SystemError, fmt.Sprintf("topic %q was not saved", c.Name))
}

// checkPut checks and completes what an administrator wants.
func (t *Topics) checkPut(c *transport.TopicConfig) error {
	if err := message.CheckTopic(c.Name); err != nil {
		return err
	}
	if t.System(c.Name) {
		return refuse1("topic %q is the broker's own and can't be changed", c.Name)
	}
	if c.ReadQueues < 0 || c.WriteQueues < 0 || c.ReadQueues > QueuesMax || c.WriteQueues > QueuesMax {
		return refuse1("topic %q: %d read and %d write queues are out of range, want 0 to %d of each",
			c.Name, c.ReadQueues, c.WriteQueues, QueuesMax)
	}
	if c.Perm&^permAll != 0 {
		return refuse1("topic %q: permission %d is unknown, want a sum of 4 (read), 2 (write) and 1 (inherit)", c.Name, c.Perm)
	}
	switch c.FilterType {
	case "":
		c.FilterType = SingleTag
	case SingleTag, MultiTag:
	default:
		return refuse1("topic %q: filter type %q is unknown, want %s or %s", c.Name, c.FilterType, SingleTag, MultiTag)
	}
	c.Order = false
	return nil
}

// Delete removes a topic from the table and says whether it was there. System topics are refused. The topic's data,
// route and offsets are the caller's business.
func (t *Topics) Delete(name string) (existed bool, err error) {
	if err := message.CheckTopic(name); err != nil {
		return false, err
	}
	if t.System(name) {
		return false, refuse1("topic %q is the broker's own and can't be deleted", name)
	}
	if _, ok := t.table.get(name); !ok {
		return false, nil
	}
	err = t.table.change(func(d *draft[transport.TopicConfig]) error {
		if _, existed = d.values[name]; existed {
			d.delete(name)
		}
		return nil
	})
	if err != nil {
		return false, answer(err, message.SystemError, fmt.Sprintf("topic %q was not deleted", name))
	}
	return existed, nil
}

// SetOrder sets the order flag of exactly the topics that are keys of ordered: the name server's list of ordered
// topics, as a registration returned it. nil means that the name server has none and changes nothing, as in RocketMQ.
func (t *Topics) SetOrder(ordered map[string]string) error {
	if ordered == nil {
		return nil
	}
	want := func(c *transport.TopicConfig) bool { _, ok := ordered[c.Name]; return ok }
	edit := func(d *draft[transport.TopicConfig]) error {
		for name, c := range d.values {
			if c.Order != want(c) {
				changed := *c
				changed.Order = !c.Order
				d.put(name, &changed)
			}
		}
		return nil
	}
	for _, c := range t.table.live.Load().values {
		if c.Order != want(c) {
			return answer(t.table.change(edit), message.SystemError, "the topics' order flags were not saved")
		}
	}
	return nil
}

// checkRoom refuses to let the table grow beyond its quota.
func (t *Topics) checkRoom(d *draft[transport.TopicConfig], name string, code message.Code) error {
	if len(d.values) < t.cfg.Max {
		return nil
	}
	return &message.Error{Code: code, Remark: fmt.Sprintf(
		"topic %q was not created: there are %d topics already and topics.max is %d; delete topics that nobody uses, or raise topics.max",
		name, len(d.values), t.cfg.Max), Cause: message.CauseQuota}
}

// refuse1 makes the error with which RocketMQ refuses an administrator's request.
func refuse1(format string, args ...any) error {
	return &message.Error{Code: message.SystemError, Remark: fmt.Sprintf(format, args...)}
}
