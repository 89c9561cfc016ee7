package wasm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// allowed refuses what changes modules when the configuration doesn't allow it.
func (s *store) allowed() error {
	if !s.cfg.Push.Enabled {
		return fault(filter.ErrModuleRefused, "set filters.wasm.push.enabled in broker.yaml to allow it")
	}
	return nil
}

// PushModule implements filter.ModuleStore.
func (s *store) PushModule(ctx context.Context, p filter.ModulePart) (received int64, pushed *filter.ModuleInfo, err error) {
	if err := s.allowed(); err != nil {
		return 0, nil, err
	}
	p.SHA256 = strings.ToLower(p.SHA256)
	if raw, err := hex.DecodeString(p.SHA256); err != nil || len(raw) != sha256.Size {
		return 0, nil, fault(ErrHash, "%q is no SHA-256", printable([]byte(p.SHA256), 100))
	}
	if p.Size < 1 || p.Size > int64(s.cfg.Limits.Size) {
		return 0, nil, fault(ErrTooLarge, "it has %d bytes; filters.wasm.limits.size allows %s", p.Size, s.cfg.Limits.Size)
	}
	if err := s.nameable(p.Name); err != nil {
		return 0, nil, err
	}
	received, bin, err := s.uploads.add(&p, s.set.Clock.Now())
	if err != nil || bin == nil {
		return received, nil, err
	}
	if got := hashOf(bin); hex.EncodeToString(got[:]) != p.SHA256 {
		return received, nil, fault(ErrHash, "what arrived has %x; push it again", got)
	}
	pushed, err = s.deploy(ctx, p.Name, p.SHA256, bin, p.Shadow)
	return received, pushed, err
}

// nameable says whether a module can be pushed under a name.
func (s *store) nameable(name string) error {
	switch {
	case !namePattern.MatchString(name):
		return fault(ErrManifest, "the name %q: want lower case letters, digits, _ . and -", printable([]byte(name), 100))
	case s.names.reserved(name):
		return fault(filter.ErrModuleRefused, "broker.yaml declares a module %s; push under another name", name)
	}
	return nil
}

// ModuleName returns what a module's manifest calls it.
func ModuleName(bin []byte) (string, error) {
	parsed, err := wasmbin.Parse(bin, bounds())
	if err != nil {
		return "", fault(ErrMalformed, "%s", err)
	}
	text, ok := parsed.Custom(manifestSection)
	if !ok {
		return "", errNoManifest()
	}
	m, err := ParseManifest(text)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

// deploy checks, compiles, starts and tests a module, stores it, and publishes it: as the current version, or as a shadow.
func (s *store) deploy(ctx context.Context, name, hash string, bin []byte, shadow bool) (*filter.ModuleInfo, error) {
	s.deploying.Lock()
	defer s.deploying.Unlock()
	now, running := s.current()
	if !running {
		return nil, ErrStopped
	}
	x := now.clone()
	mod := x.find(name)
	if mod == nil {
		if len(x.Modules) >= s.cfg.Push.Modules {
			return nil, fault(ErrTooLarge, "there are %d modules, filters.wasm.push.modules allows no more; remove one", len(x.Modules))
		}
		mod = &pushedModule{Name: name}
		x.Modules = append(x.Modules, mod)
		slices.SortFunc(x.Modules, func(a, b *pushedModule) int { return cmp.Compare(a.Name, b.Name) })
	}
	if i := slices.IndexFunc(mod.Versions, func(v pushedVersion) bool { return v.SHA256 == hash }); i >= 0 {
		return s.again(ctx, x, mod, mod.Versions[i].Number, shadow)
	}
	gone, err := s.makeRoom(x, mod, int64(len(bin)))
	if err != nil {
		return nil, err
	}
	id := versionID{name, mod.Last + 1}
	r, err := s.reporter(name)
	if err != nil {
		return nil, err
	}
	m, err := s.load(ctx, id, bin)
	if err == nil {
		if err = s.prove(ctx, m, r); err != nil {
			m.life.release()
		}
	}
	if err != nil {
		r.journal.add(s.set.Clock.Now(), "error", id.number, "was pushed and refused: "+err.Error())
		s.forgetReporter(name)
		return nil, fmt.Errorf("push WASM module %s: %w", name, err)
	}
	mod.Last = id.number
	mod.Versions = append(mod.Versions, versionOf(m, id.number, hash, s.set.Clock.Now().UnixMilli()))
	if err := s.folder.writeModule(hash, bin); err != nil {
		m.life.release()
		return nil, fmt.Errorf("store WASM module %s: %w", id, err)
	}
	s.publish(id, m)
	err = s.turn(x, mod, id.number, shadow, m)
	if err == nil {
		s.removeFiles(gone...)
	}
	return s.info(id), err
}

func versionOf(m *module, number int, hash string, now int64) pushedVersion {
	v := pushedVersion{Number: number, SHA256: hash, Version: m.manifest.Version, Size: m.size, Pushed: now, Kinds: m.manifest.Kind, Pure: !m.impure}
	for i := range m.manifest.Functions {
		v.Functions = append(v.Functions, m.manifest.Functions[i].Name)
	}
	return v
}

// again publishes a version that is there already.
func (s *store) again(ctx context.Context, x *index, mod *pushedModule, number int, shadow bool) (*filter.ModuleInfo, error) {
	id := versionID{mod.Name, number}
	if !shadow && mod.Current == number || shadow && mod.Shadow == number {
		return s.info(id), nil
	}
	if shadow && mod.Current == number {
		return nil, fault(filter.ErrModuleRefused, "%s is the current version, which can't be its own shadow", id)
	}
	m, _, err := s.take(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.info(id), s.turn(x, mod, number, shadow, m)
}

// turn makes a version of mod, which is x's, the current one or the shadow, and x the index. It takes over m, counted in.
func (s *store) turn(x *index, mod *pushedModule, number int, shadow bool, m *module) error {
	if shadow {
		mod.Shadow = number
		err := s.apply(x)
		m.life.release()
		return err
	}
	if mod.Current != number {
		mod.Before, mod.Current = mod.Current, number
	}
	if mod.Shadow == number {
		mod.Shadow = 0
	}
	if err := s.commit(x); err != nil {
		m.life.release()
		return err
	}
	s.mu.Lock()
	old := s.warm[mod.Name]
	s.warm[mod.Name] = m
	s.mu.Unlock()
	s.set.Logger.Info("a WASM module has a new current version", "module", mod.Name, "version", number, "was", mod.Before,
		"sha256", hex.EncodeToString(m.hash[:]))
	if r, err := s.reporter(mod.Name); err == nil {
		r.journal.add(s.set.Clock.Now(), "info", number, fmt.Sprintf("is the current version; before it was %d", mod.Before))
	}
	s.renewed()
	if old != nil {
		old.life.release()
	}
	return nil
}

// commit writes an index and makes it the one that counts.
func (s *store) commit(x *index) error {
	if err := s.folder.writeIndex(x); err != nil {
		return fmt.Errorf("save the index of WASM modules: %w", err)
	}
	s.mu.Lock()
	s.index = x
	s.mu.Unlock()
	s.epoch.Add(1)
	return nil
}

// apply is commit, and tells everybody.
func (s *store) apply(x *index) error {
	if err := s.commit(x); err != nil {
		return err
	}
	s.renewed()
	return nil
}

func (s *store) renewed() {
	if s.renew != nil {
		s.renew()
	}
}

// makeRoom takes versions out of x so that another one of mod with size bytes fits, and returns the hashes of those.
func (s *store) makeRoom(x *index, mod *pushedModule, size int64) (gone []string, err error) {
	for len(mod.Versions) >= s.cfg.Push.Versions {
		i := slices.IndexFunc(mod.Versions, func(v pushedVersion) bool {
			return v.Number != mod.Current && v.Number != mod.Before && v.Number != mod.Shadow && !s.inUse(versionID{mod.Name, v.Number})
		})
		if i < 0 {
			return nil, fault(ErrTooLarge, "%s has %d versions, all of them in use, and filters.wasm.push.versions allows no more", mod.Name, len(mod.Versions))
		}
		gone = append(gone, mod.Versions[i].SHA256)
		mod.Versions = slices.Delete(mod.Versions, i, i+1)
	}
	if x.size()+size > int64(s.cfg.Push.Size) {
		return nil, fault(ErrTooLarge, "all modules would have %d bytes; filters.wasm.push.size allows %s; remove some", x.size()+size, s.cfg.Push.Size)
	}
	return gone, nil
}

func (s *store) inUse(id versionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[id] != nil
}

// removeFiles removes the files of hashes that no version has any more.
func (s *store) removeFiles(hashes ...string) {
	x, _ := s.current()
	for _, hash := range hashes {
		if x.uses(hash) {
			continue
		}
		if err := s.folder.removeModule(hash); err != nil {
			s.set.Logger.Warn("remove the file of a WASM module", "sha256", hash, "error", err)
		}
	}
}

// forgetReporter drops the reporter of a name that no module has.
func (s *store) forgetReporter(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.find(name) == nil {
		delete(s.reports, name)
	}
}

// change prepares a change of a module: a copy of the index, and the module in it.
func (s *store) change(name string) (*index, *pushedModule, error) {
	if err := s.allowed(); err != nil {
		return nil, nil, err
	}
	now, running := s.current()
	if !running {
		return nil, nil, ErrStopped
	}
	x := now.clone()
	if mod := x.find(name); mod != nil {
		return x, mod, nil
	}
	return nil, nil, fault(filter.ErrNoModule, "%s", printable([]byte(name), 100))
}

// ActivateModule implements filter.ModuleStore.
func (s *store) ActivateModule(ctx context.Context, name string, number int) (*filter.ModuleInfo, error) {
	s.deploying.Lock()
	defer s.deploying.Unlock()
	x, mod, err := s.change(name)
	if err != nil {
		return nil, err
	}
	if number == 0 {
		number = mod.Before
	}
	id := versionID{name, number}
	if mod.version(number) == nil {
		if number == 0 {
			return nil, fault(filter.ErrNoModule, "%s has no version before the current one; say which it shall be", name)
		}
		return nil, fault(filter.ErrNoModule, "%s", id)
	}
	if number == mod.Current {
		return s.info(id), nil
	}
	m, _, err := s.take(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.turn(x, mod, number, false, m); err != nil {
		return nil, err
	}
	return s.info(id), nil
}

// SwitchModule implements filter.ModuleStore.
func (s *store) SwitchModule(_ context.Context, name string, on bool) error {
	s.deploying.Lock()
	defer s.deploying.Unlock()
	x, mod, err := s.change(name)
	if err != nil || mod.Disabled != on {
		return err
	}
	mod.Disabled = !on
	if err := s.commit(x); err != nil {
		return err
	}
	why := ErrDisabled
	if on {
		why = nil
	}
	s.mu.Lock()
	for id, m := range s.loaded {
		if id.name == name {
			m.life.turnOff(why)
		}
	}
	s.mu.Unlock()
	s.set.Logger.Info("a WASM module was switched", "module", name, "enabled", on)
	s.renewed()
	return nil
}

// RemoveModule implements filter.ModuleStore.
func (s *store) RemoveModule(_ context.Context, name string, number int) error {
	s.deploying.Lock()
	defer s.deploying.Unlock()
	x, mod, err := s.change(name)
	if err != nil {
		return err
	}
	gone := mod.Versions
	if number != 0 {
		v := mod.version(number)
		switch {
		case v == nil:
			return fault(filter.ErrNoModule, "%s@%d", name, number)
		case number == mod.Current && len(mod.Versions) > 1:
			return fault(filter.ErrModuleRefused, "%s@%d is the current version; make another one current first (weir plugin rollback %s)", name, number, name)
		}
		gone = []pushedVersion{*v}
	}
	mod.Versions = slices.DeleteFunc(slices.Clone(mod.Versions), func(v pushedVersion) bool {
		return slices.ContainsFunc(gone, func(g pushedVersion) bool { return g.Number == v.Number })
	})
	for _, n := range []*int{&mod.Before, &mod.Shadow, &mod.Current} {
		if mod.version(*n) == nil {
			*n = 0
		}
	}
	if len(mod.Versions) == 0 {
		x.Modules = slices.DeleteFunc(x.Modules, func(m *pushedModule) bool { return m == mod })
	}
	if err := s.commit(x); err != nil {
		return err
	}
	s.unload(name, gone)
	var hashes []string
	for _, v := range gone {
		hashes = append(hashes, v.SHA256)
	}
	s.removeFiles(hashes...)
	s.forgetReporter(name)
	s.set.Logger.Info("a WASM module was removed", "module", name, "version", number)
	s.renewed()
	return nil
}

// unload turns off the modules of versions that are gone. Their programs, if any are left, close them.
func (s *store) unload(name string, gone []pushedVersion) {
	var warm *module
	s.mu.Lock()
	for _, v := range gone {
		id := versionID{name, v.Number}
		m := s.loaded[id]
		if m == nil {
			continue
		}
		m.life.turnOff(ErrRemoved)
		delete(s.loaded, id)
		if s.warm[name] == m {
			warm = m
			delete(s.warm, name)
		}
	}
	s.mu.Unlock()
	if warm != nil {
		warm.life.release()
	}
}

// ReloadModule says that pushed modules have no file that anybody changes.
func (s *store) ReloadModule(context.Context, string) (bool, error) { return false, filter.ErrNoModule }

// ModuleLog returns what a module has said, and what happened to it.
func (s *store) ModuleLog(name string) ([]filter.ModuleLine, bool) {
	x, _ := s.current()
	if x.find(name) == nil {
		return nil, false
	}
	r, err := s.reporter(name)
	if err != nil {
		return nil, false
	}
	return r.journal.all(), true
}
