package remoting

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

// WeirMQ's own codes for the modules of filters: WEIR_LIST_MODULES (30001), WEIR_MODULE_LOG (30002), WEIR_PUSH_MODULE (30003),
// WEIR_ENABLE_MODULE (30004), WEIR_DISABLE_MODULE (30005), WEIR_ACTIVATE_MODULE (30006), WEIR_REMOVE_MODULE (30007) and
// WEIR_RELOAD_MODULES (30008).

func addModuleRoutes(h *transport.Handlers, add addRoute) {
	add(h.Modules != nil, apart, wire.CodeListModules, serveModules)
	add(h.Modules != nil, apart, wire.CodeModuleLog, serveModuleLog)
	add(h.Modules != nil, apart, wire.CodePushModule, servePushModule)
	add(h.Modules != nil, apart, wire.CodeEnableModule, serveSwitchModule(transport.ModuleAdmin.EnableModule))
	add(h.Modules != nil, apart, wire.CodeDisableModule, serveSwitchModule(transport.ModuleAdmin.DisableModule))
	add(h.Modules != nil, apart, wire.CodeActivateModule, serveActivateModule)
	add(h.Modules != nil, apart, wire.CodeRemoveModule, serveSwitchModule(transport.ModuleAdmin.RemoveModule))
	add(h.Modules != nil, apart, wire.CodeReloadModules, serveReloadModules)
}

func readModuleHeader(r *request) (x wire.ModuleHeader, req transport.ModuleRequest, err error) {
	err = r.h.Read(&x)
	return x, transport.ModuleRequest{Name: x.Name, Number: int(x.Number), Force: x.Force}, err
}

func serveModules(ctx context.Context, r *request) ([]byte, error) {
	x, _, err := readModuleHeader(r)
	if err != nil {
		return nil, err
	}
	list, err := r.c.e.h.Modules.Modules(ctx, &r.caller, x.Name)
	if err != nil {
		return nil, err
	}
	out := wire.ModuleList{Modules: []wire.Module{}}
	for i := range list {
		out.Modules = append(out.Modules, wireModule(&list[i]))
	}
	return r.json(&out)
}

func serveModuleLog(ctx context.Context, r *request) ([]byte, error) {
	x, _, err := readModuleHeader(r)
	if err != nil {
		return nil, err
	}
	lines, err := r.c.e.h.Modules.ModuleLog(ctx, &r.caller, x.Name)
	if err != nil {
		return nil, err
	}
	out := wire.ModuleLog{Lines: []wire.ModuleLine{}}
	for _, l := range lines {
		out.Lines = append(out.Lines, wire.ModuleLine{Time: l.Time.UnixMilli(), Level: l.Level, Number: int32(l.Number), Text: l.Text})
	}
	return r.json(&out)
}

func servePushModule(ctx context.Context, r *request) ([]byte, error) {
	var x wire.PushModuleHeader
	if err := r.h.Read(&x); err != nil {
		return nil, err
	}
	received, m, err := r.c.e.h.Modules.PushModule(ctx, &r.caller, filter.ModulePart{Name: x.Name, SHA256: x.SHA256, Size: x.Size,
		Offset: x.Offset, Data: r.body, Shadow: x.Shadow})
	if err != nil {
		return nil, err
	}
	out := wire.PushedModule{Received: received}
	if m != nil {
		w := wireModule(m)
		out.Module = &w
	}
	return r.json(&out)
}

// serveSwitchModule serves what answers with nothing.
func serveSwitchModule(do func(transport.ModuleAdmin, context.Context, *transport.Caller, transport.ModuleRequest) error) serveFunc {
	return func(ctx context.Context, r *request) ([]byte, error) {
		_, req, err := readModuleHeader(r)
		if err != nil {
			return nil, err
		}
		return nil, do(r.c.e.h.Modules, ctx, &r.caller, req)
	}
}

func serveActivateModule(ctx context.Context, r *request) ([]byte, error) {
	_, req, err := readModuleHeader(r)
	if err != nil {
		return nil, err
	}
	m, err := r.c.e.h.Modules.ActivateModule(ctx, &r.caller, req)
	if err != nil {
		return nil, err
	}
	w := wireModule(m)
	return r.json(&w)
}

func serveReloadModules(ctx context.Context, r *request) ([]byte, error) {
	x, _, err := readModuleHeader(r)
	if err != nil {
		return nil, err
	}
	names, err := r.c.e.h.Modules.ReloadModules(ctx, &r.caller, x.Name)
	if err != nil {
		return nil, err
	}
	return r.json(&wire.ReloadedModules{Names: notNil(names)})
}

func wireModule(m *transport.Module) wire.Module {
	w := wire.Module{
		Name: m.Name, Number: int32(m.Number), Version: m.Version, SHA256: m.SHA256, Source: m.Source, State: m.State, Size: m.Size,
		Kinds: notNil(m.Kinds), Pure: m.Pure, Dispatch: m.Dispatch, Demoted: m.Demoted, Loaded: m.Loaded, Programs: int32(m.Programs),
		Instances: int32(m.Instances), Breaker: "closed", Fault: m.Fault, Calls: m.Figures.Calls, Records: m.Figures.Records, Fuel: m.Figures.Fuel,
		Failures: m.Figures.Failures, Poison: m.Figures.Poison, Opens: m.Figures.Opens,
		Shadow: wire.ModuleShadow{Compared: m.Shadow.Compared, OnlyCurrent: m.Shadow.OnlyCurrent, OnlyShadow: m.Shadow.OnlyShadow, Failed: m.Shadow.Failed},
		Uses:   []wire.ModuleUsage{},
	}
	if !m.Pushed.IsZero() {
		w.Pushed = m.Pushed.UnixMilli()
	}
	if m.Open {
		w.Breaker = "open"
	}
	for _, u := range m.Uses {
		w.Uses = append(w.Uses, wire.ModuleUsage{Group: u.Group, Topic: u.Topic, Expression: u.Expression, Live: u.Live,
			Generation: int32(u.Generation), From: int64(u.From)})
	}
	return w
}
