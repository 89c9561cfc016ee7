package wasm

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/weirmq/weir/core/filter"
)

// OnRenew sets what is called when the module has been loaded anew.
func (c *compiler) OnRenew(f func()) { c.renew = f }

// replaced returns what says whether another module than m serves the compiler's expressions.
func (c *compiler) replaced(m *module) func() bool {
	return func() bool {
		now, _ := c.running()
		return now != nil && now != m
	}
}

// ModuleInfos describes the module.
func (c *compiler) ModuleInfos() []filter.ModuleInfo {
	m, _ := c.running()
	if m == nil {
		return nil
	}
	x := filter.ModuleInfo{ModuleRef: m.ref(), Source: sourceDeclared, State: stateCurrent, Size: m.size, Dispatch: c.cfg.Dispatch}
	m.describe(&x)
	return []filter.ModuleInfo{x}
}

// ModuleLog returns what the module has said, and what happened to it.
func (c *compiler) ModuleLog(name string) ([]filter.ModuleLine, bool) {
	m, r := c.running()
	if m == nil || m.name != name {
		return nil, false
	}
	return r.journal.all(), true
}

// ReloadModule loads the module's file anew if its content has changed. Programs of the old module go on until they are
// replaced; then it is closed.
func (c *compiler) ReloadModule(ctx context.Context, name string) (changed bool, err error) {
	c.reloading.Lock()
	defer c.reloading.Unlock()
	old, r := c.running()
	if old == nil || old.name != name {
		return false, filter.ErrNoModule
	}
	bin, err := readModule(c.cfg.Path, c.cfg.Limits.Size)
	if err != nil {
		return false, fmt.Errorf("reload WASM module %s: %w", name, err)
	}
	if hashOf(bin) == old.hash {
		return false, nil
	}
	m, err := loadBinary(ctx, old.name, bin, c.cfg, c.set)
	if err != nil {
		return false, fmt.Errorf("reload WASM module %s from %q: %w", name, c.cfg.Path, err)
	}
	if err := c.prove(ctx, m, r); err != nil {
		m.life.release()
		return false, fmt.Errorf("reload WASM module %s from %q: %w", name, c.cfg.Path, err)
	}
	if !c.swap(old, m) {
		m.life.release()
		return false, fmt.Errorf("reload WASM module %s: %w", name, ErrStopped)
	}
	old.life.release()
	c.set.Logger.Info("loaded a WASM module anew", "module", m.name, "version", m.manifest.Version,
		"sha256", hex.EncodeToString(m.hash[:]), "was", hex.EncodeToString(old.hash[:]))
	if c.renew != nil {
		c.renew()
	}
	return true, nil
}

// swap puts a module in the place of another, unless the compiler has been stopped.
func (c *compiler) swap(old, m *module) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.module != old {
		return false
	}
	c.module = m
	return true
}
