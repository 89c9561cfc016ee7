package wasm

import (
	"os"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// Where modules come from, and what a version is.
const (
	sourceDeclared = "declared"
	sourcePushed   = "pushed"

	stateCurrent  = "current"
	stateStored   = "stored"
	stateShadow   = "shadow"
	stateDisabled = "disabled"
	stateHidden   = "hidden"
	stateBroken   = "broken"
)

// ModuleInfos describes all versions of all modules.
func (s *store) ModuleInfos() (list []filter.ModuleInfo) {
	x, _ := s.current()
	for _, m := range x.Modules {
		for i := range m.Versions {
			list = append(list, s.describe(m, &m.Versions[i]))
		}
	}
	return list
}

func (s *store) info(id versionID) *filter.ModuleInfo {
	x, _ := s.current()
	m := x.find(id.name)
	if m == nil || m.version(id.number) == nil {
		return nil
	}
	info := s.describe(m, m.version(id.number))
	return &info
}

func (s *store) describe(m *pushedModule, v *pushedVersion) filter.ModuleInfo {
	x := filter.ModuleInfo{
		ModuleRef: filter.ModuleRef{Name: m.Name, Number: v.Number, SHA256: v.SHA256}, Version: v.Version, Source: sourcePushed,
		State: s.state(m, v.Number), Size: v.Size, Pushed: time.UnixMilli(v.Pushed), Kinds: v.Kinds, Pure: v.Pure, Dispatch: s.cfg.Dispatch,
	}
	s.mu.Lock()
	loaded := s.loaded[versionID{m.Name, v.Number}]
	s.mu.Unlock()
	if loaded != nil {
		loaded.describe(&x)
		return x
	}
	if st, err := os.Stat(s.folder.module(v.SHA256)); err != nil || st.Size() != v.Size {
		x.State, x.Fault = stateBroken, "its file is gone or damaged; remove the version and push it again"
	}
	return x
}

func (s *store) state(m *pushedModule, number int) string {
	switch {
	case s.names.reserved(m.Name): // broker.yaml declares one of this name
		return stateHidden
	case m.Disabled:
		return stateDisabled
	case number == m.Current:
		return stateCurrent
	case number == m.Shadow:
		return stateShadow
	}
	return stateStored
}
