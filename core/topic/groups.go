package topic

import (
	"fmt"
	"path/filepath"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// GroupsFile is the name of the groups' file in Settings.Dir. It is RocketMQ's and must not change.
const GroupsFile = "subscriptionGroup.json"

// Groups is the table of subscription groups. It is safe for concurrent use.
type Groups struct {
	// OnChange, if set, is told of every change like Topics.OnChange.
	OnChange func(changed []transport.GroupConfig, v transport.DataVersion)

	set   Settings
	cfg   GroupsConfig
	path  string
	table table[transport.GroupConfig]
}

// DefaultGroup returns the settings that a group has when nobody set any.
func DefaultGroup(name string) transport.GroupConfig {
	return transport.GroupConfig{
		Name:                         name,
		ConsumeEnable:                true,
		ConsumeFromMinEnable:         true,
		ConsumeBroadcastEnable:       true,
		RetryQueues:                  1,
		RetryMaxTimes:                16,
		BrokerID:                     0,
		WhichBrokerWhenConsumeSlowly: 1,
		NotifyConsumerIDsChanged:     true,
	}
}

// OpenGroups loads the table. What the file says goes before the built-in groups.
func OpenGroups(set Settings, cfg GroupsConfig) (*Groups, error) {
	g := &Groups{set: set, cfg: cfg, path: filepath.Join(set.Dir, GroupsFile)}
	s := &state[transport.GroupConfig]{values: map[string]*transport.GroupConfig{}}
	for _, name := range message.BuiltinGroups() {
		c := DefaultGroup(name)
		s.values[name] = &c
	}
	err := set.load(g.path, func(data []byte) error { return decodeGroups(data, s) })
	if err != nil {
		return nil, err
	}
	g.table.live.Store(s)
	g.table.next = set.nextVersion
	g.table.save = func(s *state[transport.GroupConfig]) error {
		data, err := encodeGroups(s)
		return set.write(g.path, data, err)
	}
	g.table.changed = func(list []transport.GroupConfig, v transport.DataVersion) {
		if g.OnChange != nil {
			g.OnChange(list, v)
		}
	}
	return g, nil
}

// Lookup finds a group without allocating. What it returns doesn't change.
func (g *Groups) Lookup(name []byte) (*transport.GroupConfig, bool) { return g.table.lookup(name) }

// Group finds a group.
func (g *Groups) Group(name string) (transport.GroupConfig, bool) {
	v, ok := g.table.get(name)
	if !ok {
		return transport.GroupConfig{}, false
	}
	return *v, true
}

// All returns all groups, sorted by name, and the version of the table that they make up.
func (g *Groups) All() ([]transport.GroupConfig, transport.DataVersion) { return g.table.all() }

// Version returns the table's version. It differs after every change.
func (g *Groups) Version() transport.DataVersion { return g.table.live.Load().version }

// Ensure returns a group, and creates it with defaults when it doesn't exist and may come into being by being used: with
// groups.auto_create, or when it is one of RocketMQ's system groups. Otherwise the error is GroupNotExist. A known group
// costs a look-up and no allocation.
func (g *Groups) Ensure(name string) (*transport.GroupConfig, error) {
	if c, ok := g.table.get(name); ok {
		return c, nil
	}
	if err := message.CheckGroup(name); err != nil {
		return nil, err
	}
	if !g.cfg.AutoCreate && !message.IsSystemGroup(name) {
		return nil, &message.Error{Code: message.GroupNotExist, Remark: fmt.Sprintf(
			"group %q does not exist and groups.auto_create is off; create it with mqadmin updateSubGroup, or set groups.auto_create", name)}
	}
	var c *transport.GroupConfig
	err := g.table.change(func(d *draft[transport.GroupConfig]) error {
		var known bool
		if c, known = d.values[name]; known {
			return nil
		}
		if err := g.checkRoom(d, name, message.GroupNotExist); err != nil {
			return err
		}
		fresh := DefaultGroup(name)
		c = &fresh
		d.put(name, c)
		return nil
	})
	if err != nil {
		return nil, answer(err, message.ServiceNotAvailable, fmt.Sprintf("group %q was not created", name))
	}
	return c, nil
}

// Put creates or changes a group.
func (g *Groups) Put(c transport.GroupConfig) error {
	if err := message.CheckGroup(c.Name); err != nil {
		return err
	}
	if c.RetryQueues < 0 || c.RetryQueues > QueuesMax {
		return refuse1("group %q: %d retry queues are out of range, want 0 to %d", c.Name, c.RetryQueues, QueuesMax)
	}
	err := g.table.change(func(d *draft[transport.GroupConfig]) error {
		if _, known := d.values[c.Name]; !known {
			if err := g.checkRoom(d, c.Name, message.SystemError); err != nil {
				return err
			}
		}
		d.put(c.Name, &c)
		return nil
	})
	return answer(err, message.SystemError, fmt.Sprintf("group %q was not saved", c.Name))
}

// Delete removes a group and says whether it was there. Its offsets are the caller's business. A built-in group comes
// back at the next start.
func (g *Groups) Delete(name string) (existed bool, err error) {
	if _, ok := g.table.get(name); !ok {
		return false, nil
	}
	err = g.table.change(func(d *draft[transport.GroupConfig]) error {
		if _, existed = d.values[name]; existed {
			d.delete(name)
		}
		return nil
	})
	if err != nil {
		return false, answer(err, message.SystemError, fmt.Sprintf("group %q was not deleted", name))
	}
	return existed, nil
}

// checkRoom refuses to let the table grow beyond its quota.
func (g *Groups) checkRoom(d *draft[transport.GroupConfig], name string, code message.Code) error {
	if len(d.values) < g.cfg.Max {
		return nil
	}
	return &message.Error{Code: code, Remark: fmt.Sprintf(
		"group %q was not created: there are %d groups already and groups.max is %d; delete groups that nobody uses, or raise groups.max",
		name, len(d.values), g.cfg.Max), Cause: message.CauseQuota}
}
