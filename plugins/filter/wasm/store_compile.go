package wasm

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
)

// Serves says whether an expression names a pushed module.
func (s *store) Serves(e filter.Expression) bool {
	ref, _ := parseReference(e.Text)
	return s.knows(ref.name)
}

func (s *store) knows(name string) bool {
	x, _ := s.current()
	if hash, ok := strings.CutPrefix(name, hashPrefix); ok {
		return x.uses(strings.ToLower(hash))
	}
	return x.find(name) != nil && !s.names.reserved(name)
}

// Names lists the pushed modules.
func (s *store) Names() (list []string) {
	x, _ := s.current()
	for _, m := range x.Modules {
		if !s.names.reserved(m.Name) {
			list = append(list, m.Name)
		}
	}
	return list
}

// Compile makes a program of the version that the expression means now.
func (s *store) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type != TypeWASM {
		return nil, fmt.Errorf("compile %s expression: the wasm filter only knows %s", e.Type, TypeWASM)
	}
	ref, err := parseReference(e.Text)
	if err != nil {
		return nil, fmt.Errorf("compile WASM expression: %w", err)
	}
	p, err := s.compile(ctx, ref, ref.settings)
	if err != nil {
		return nil, fmt.Errorf("compile WASM expression: %w", err)
	}
	return p, nil
}

// compile makes a program of what ref means, with a shadow beside it if there is one.
func (s *store) compile(ctx context.Context, ref reference, settings map[string]string) (*program, error) {
	epoch := s.epoch.Load()
	means, err := s.resolve(ref)
	if err != nil {
		return nil, err
	}
	m, r, err := s.take(ctx, means.versionID)
	if err != nil {
		return nil, err
	}
	defer m.life.release()
	p, err := s.program(ctx, m, r, settings)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", means.versionID, err)
	}
	p.renewed = s.renewal(ref, epoch, func(now meaning) bool { return now == means })
	if means.shadow > 0 {
		p.beside = s.shadow(ctx, versionID{means.name, means.shadow}, settings)
	}
	return p, nil
}

// shadow makes the program that judges beside the current one, nil if it can't: nobody suffers from that but the shadow.
func (s *store) shadow(ctx context.Context, id versionID, settings map[string]string) *shadow {
	m, r, err := s.take(ctx, id)
	if err != nil {
		s.set.Logger.Warn("a WASM module can't judge as a shadow", "module", id.name, "version", id.number, "error", err)
		return nil
	}
	defer m.life.release()
	p, err := s.program(ctx, m, r, settings)
	if err != nil {
		r.journal.add(s.set.Clock.Now(), "error", id.number, "can't judge as a shadow: "+err.Error())
		return nil
	}
	return &shadow{program: p}
}

// renewal returns what says whether ref means something else by now than when epoch began. It looks only when something has
// changed.
func (s *store) renewal(ref reference, epoch int64, same func(meaning) bool) func() bool {
	var seen atomic.Int64
	seen.Store(epoch)
	return func() bool {
		now := s.epoch.Load()
		if seen.Load() == now {
			return false
		}
		means, err := s.resolve(ref)
		if err == nil && !same(means) {
			return true
		}
		seen.Store(now)
		return false
	}
}

// FunctionSources returns one for each pushed module.
func (s *store) FunctionSources() (list []filter.FunctionSource) {
	x, _ := s.current()
	for _, m := range x.Modules {
		if !s.names.reserved(m.Name) && !m.Disabled {
			list = append(list, pushedSource{s, m})
		}
	}
	return list
}

// pushedSource offers the functions of a pushed module.
type pushedSource struct {
	s *store
	m *pushedModule
}

var _ filter.FunctionSource = pushedSource{}

// Functions lists those of the current version.
func (p pushedSource) Functions() (string, []string) {
	if v := p.m.version(p.m.Current); v != nil {
		return p.m.Name, v.Functions
	}
	return p.m.Name, nil
}

// Function makes a function of the current version.
func (p pushedSource) Function(ctx context.Context, name string) (filter.Function, error) {
	ref, epoch := reference{name: p.m.Name}, p.s.epoch.Load()
	means, err := p.s.resolve(ref)
	if err != nil {
		return nil, err
	}
	m, r, err := p.s.take(ctx, means.versionID)
	if err != nil {
		return nil, err
	}
	defer m.life.release()
	f, err := p.s.functionOf(ctx, m, r, name)
	if err != nil {
		return nil, err
	}
	f.renewed = p.s.renewal(ref, epoch, func(now meaning) bool { // functions have no shadow
		return now.versionID == means.versionID && now.sha256 == means.sha256
	})
	return f, nil
}

// ServesFilter says whether the reference names this module.
func (p pushedSource) ServesFilter(text string) bool {
	ref, _ := parseReference(text)
	if hash, ok := strings.CutPrefix(ref.name, hashPrefix); ok {
		one := index{Modules: []*pushedModule{p.m}}
		return one.uses(strings.ToLower(hash))
	}
	return ref.name == p.m.Name
}

// Filter makes a function of the whole module.
func (p pushedSource) Filter(ctx context.Context, text string, settings map[string]string) (filter.Function, error) {
	ref, settings, err := parseWhole(text, settings)
	if err != nil {
		return nil, err
	}
	made, err := p.s.compile(ctx, ref, settings)
	if err != nil {
		return nil, err
	}
	return &whole{program: made}, nil
}
