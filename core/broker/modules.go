package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue"
	"github.com/weirmq/weir/core/transport"
)

// modules are the filters that run modules.
type modules struct {
	hosts []filter.ModuleHost
	store filter.ModuleStore // nil when nothing can be pushed
}

// join takes a compiler in, if it runs modules.
func (m *modules) join(c filter.Compiler) {
	if h, ok := c.(filter.ModuleHost); ok {
		m.hosts = append(m.hosts, h)
	}
	if s, ok := c.(filter.ModuleStore); ok && m.store == nil {
		m.store = s
	}
}

// watch has f called when the expressions of a compiler have come to mean other programs.
func (m *modules) watch(f func()) {
	for _, h := range m.hosts {
		if r, ok := h.(filter.Renewer); ok {
			r.OnRenew(f)
		}
	}
}

func moduleOf(name string) auth.Resource { return auth.Resource{Kind: auth.Module, Name: name} }

// moduleError gives an error of a module operation the code that tools know.
func moduleError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, filter.ErrNoModule):
		return &message.Error{Code: message.QueryNotFound, Remark: err.Error()}
	case errors.Is(err, filter.ErrModuleRefused):
		return &message.Error{Code: message.NoPermission, Remark: err.Error()}
	}
	return err
}

func noModule(name string) error {
	return &message.Error{Code: message.QueryNotFound, Remark: fmt.Sprintf("there is no module %.100q on this broker", name)}
}

// errNoStore says that no filter takes modules in.
var errNoStore = &message.Error{Code: message.NoPermission,
	Remark: "this broker takes in no modules: add wasm to filters and to service.filters in broker.yaml, with push.enabled"}

// Modules implements transport.ModuleAdmin.
func (h *handler) Modules(ctx context.Context, c *transport.Caller, name string) ([]transport.Module, error) {
	resource := moduleOf(name)
	if name == "" {
		resource = wholeBroker
	}
	if err := h.gate.Allow(ctx, c, auth.Describe, resource); err != nil {
		return nil, err
	}
	list := h.listModules(name)
	if name != "" && len(list) == 0 {
		return nil, noModule(name)
	}
	return list, nil
}

func (h *handler) listModules(name string) (list []transport.Module) {
	uses := h.filters.ModuleUses()
	for _, host := range h.modules.hosts {
		for _, x := range host.ModuleInfos() {
			if name == "" || x.Name == name {
				list = append(list, transport.Module{ModuleInfo: x, Uses: usesOf(uses, x.ModuleRef)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b transport.Module) int {
		if a.Name != b.Name && a.Name < b.Name {
			return -1
		} else if a.Name != b.Name {
			return 1
		}
		return a.Number - b.Number
	})
	return list
}

func usesOf(all []queue.ModuleUse, ref filter.ModuleRef) (list []transport.ModuleUse) {
	for _, u := range all {
		if u.Module == ref {
			list = append(list, transport.ModuleUse{Group: u.Group, Topic: u.Topic, Expression: u.Expression, Live: u.Live,
				Generation: u.Generation, From: u.From})
		}
	}
	return list
}

// ModuleLog implements transport.ModuleAdmin.
func (h *handler) ModuleLog(ctx context.Context, c *transport.Caller, name string) ([]filter.ModuleLine, error) {
	if err := h.gate.Allow(ctx, c, auth.Describe, moduleOf(name)); err != nil {
		return nil, err
	}
	for _, host := range h.modules.hosts {
		if lines, ok := host.ModuleLog(name); ok {
			return lines, nil
		}
	}
	return nil, noModule(name)
}

// PushModule implements transport.ModuleAdmin.
func (h *handler) PushModule(ctx context.Context, c *transport.Caller, p filter.ModulePart) (int64, *transport.Module, error) {
	if err := h.gate.Allow(ctx, c, auth.Deploy, moduleOf(p.Name)); err != nil {
		return 0, nil, err
	}
	if h.modules.store == nil {
		return 0, nil, errNoStore
	}
	received, info, err := h.modules.store.PushModule(ctx, p)
	if err != nil {
		return 0, nil, moduleError(err)
	}
	return received, h.described(info), nil
}

func (h *handler) described(x *filter.ModuleInfo) *transport.Module {
	if x == nil {
		return nil
	}
	return &transport.Module{ModuleInfo: *x, Uses: usesOf(h.filters.ModuleUses(), x.ModuleRef)}
}

// deployer passes the gate for a change of a module and returns who makes it.
func (h *handler) deployer(ctx context.Context, c *transport.Caller, name string) (filter.ModuleStore, error) {
	if err := h.gate.Allow(ctx, c, auth.Deploy, moduleOf(name)); err != nil {
		return nil, err
	}
	if h.modules.store == nil {
		return nil, errNoStore
	}
	return h.modules.store, nil
}

// EnableModule implements transport.ModuleAdmin.
func (h *handler) EnableModule(ctx context.Context, c *transport.Caller, r transport.ModuleRequest) error {
	store, err := h.deployer(ctx, c, r.Name)
	if err != nil {
		return err
	}
	return moduleError(store.SwitchModule(ctx, r.Name, true))
}

// DisableModule implements transport.ModuleAdmin.
func (h *handler) DisableModule(ctx context.Context, c *transport.Caller, r transport.ModuleRequest) error {
	store, err := h.deployer(ctx, c, r.Name)
	if err != nil {
		return err
	}
	if err := h.unused(store, transport.ModuleRequest{Name: r.Name, Force: r.Force}); err != nil {
		return err
	}
	return moduleError(store.SwitchModule(ctx, r.Name, false))
}

// unused refuses to take a module away from the filters of live groups, unless that is forced.
func (h *handler) unused(store filter.ModuleStore, r transport.ModuleRequest) error {
	if r.Force {
		return nil
	}
	uses := h.filters.ModuleUses()
	for _, x := range store.ModuleInfos() {
		if x.Name != r.Name || r.Number != 0 && x.Number != r.Number {
			continue
		}
		for _, u := range usesOf(uses, x.ModuleRef) {
			if u.Live {
				return &message.Error{Code: message.NoPermission, Remark: fmt.Sprintf(
					"%s@%d is in use: group %s filters topic %s by it; force it, and such groups wait, or get what on_open says", x.Name, x.Number, u.Group, u.Topic)}
			}
		}
	}
	return nil
}

// ActivateModule implements transport.ModuleAdmin.
func (h *handler) ActivateModule(ctx context.Context, c *transport.Caller, r transport.ModuleRequest) (*transport.Module, error) {
	store, err := h.deployer(ctx, c, r.Name)
	if err != nil {
		return nil, err
	}
	info, err := store.ActivateModule(ctx, r.Name, r.Number)
	if err != nil {
		return nil, moduleError(err)
	}
	return h.described(info), nil
}

// RemoveModule implements transport.ModuleAdmin.
func (h *handler) RemoveModule(ctx context.Context, c *transport.Caller, r transport.ModuleRequest) error {
	store, err := h.deployer(ctx, c, r.Name)
	if err != nil {
		return err
	}
	if err := h.unused(store, r); err != nil {
		return err
	}
	return moduleError(store.RemoveModule(ctx, r.Name, r.Number))
}

// ReloadModules implements transport.ModuleAdmin.
func (h *handler) ReloadModules(ctx context.Context, c *transport.Caller, name string) ([]string, error) {
	resource := moduleOf(name)
	if name == "" {
		resource = wholeBroker
	}
	if err := h.gate.Allow(ctx, c, auth.Deploy, resource); err != nil {
		return nil, err
	}
	return h.modules.reload(ctx, name)
}

// reload loads the declared modules anew whose files have changed, of one name or of all.
func (m *modules) reload(ctx context.Context, name string) (changed []string, err error) {
	var errs []error
	found := false
	for _, host := range m.hosts {
		for _, x := range host.ModuleInfos() {
			if name != "" && x.Name != name {
				continue
			}
			again, err := host.ReloadModule(ctx, x.Name)
			if errors.Is(err, filter.ErrNoModule) {
				break // the host's modules have no files
			}
			found = true
			errs = append(errs, err)
			if again {
				changed = append(changed, x.Name)
			}
		}
	}
	if name != "" && !found {
		return nil, &message.Error{Code: message.QueryNotFound, Remark: fmt.Sprintf("broker.yaml declares no module %.100q", name)}
	}
	return changed, errors.Join(errs...)
}

// ReloadModules loads the declared modules of filters anew whose files have changed, and returns their names. Those that
// are no good stay as they were.
func (b *Broker) ReloadModules(ctx context.Context) ([]string, error) {
	if b.handler == nil {
		return nil, nil
	}
	return b.handler.modules.reload(ctx, "")
}
