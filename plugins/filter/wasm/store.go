package wasm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// store serves the expressions that name modules which were pushed to the running broker. A module is loaded when a program
// needs it, and closed when the last of its programs is, but for the current version of one that was pushed in this life of
// the broker: that is kept warm.
//
// Locks are taken in this order: deploying, loading, mu.
type store struct {
	maker
	names  *names
	folder folder
	renew  func() // nil when nobody asks

	deploying sync.Mutex // one change at a time
	uploads   uploads

	// epoch counts the changes of index, so that programs needn't look up what they mean when there was none.
	epoch atomic.Int64

	loading sync.Mutex // held while a module is loaded: one at a time

	mu      sync.Mutex // guards all below
	running bool
	index   *index // never changed, but replaced
	loaded  map[versionID]*module
	warm    map[string]*module // the current versions, counted in
	reports map[string]*reporter
}

// versionID names a version of a pushed module.
type versionID struct {
	name   string
	number int
}

func (v versionID) String() string { return v.name + "@" + strconv.Itoa(v.number) }

var (
	_ filter.Compiler        = (*store)(nil)
	_ filter.Sharer          = (*store)(nil)
	_ filter.ModuleStore     = (*store)(nil)
	_ filter.Renewer         = (*store)(nil)
	_ filter.FunctionSources = (*store)(nil)
)

func newStore(m maker, names *names) *store {
	s := &store{maker: m, names: names, folder: folder(filepath.Join(m.set.DataDir, pushedFolder)), index: &index{},
		loaded: map[versionID]*module{}, warm: map[string]*module{}, reports: map[string]*reporter{}}
	s.set.DataDir = string(s.folder) // compiled code goes there, too
	return s
}

// ExpressionTypes returns WASM.
func (s *store) ExpressionTypes() []string { return []string{TypeWASM} }

// OnRenew sets what is called when names have come to mean other versions.
func (s *store) OnRenew(f func()) { s.renew = f }

// Start reads which modules there are. It loads none.
func (s *store) Start(context.Context, plugin.Host) error {
	x, err := s.folder.readIndex()
	if err != nil {
		return fmt.Errorf("read the pushed WASM modules: %w", err)
	}
	if err := s.folder.tidy(x); err != nil {
		s.set.Logger.Warn("remove pushed WASM modules that nothing names", "error", err)
	}
	s.mu.Lock()
	s.index, s.running = x, true
	s.mu.Unlock()
	s.epoch.Add(1)
	return nil
}

// Stop closes all modules.
func (s *store) Stop(ctx context.Context) error {
	s.mu.Lock()
	loaded := s.loaded
	s.running, s.index = false, &index{}
	s.loaded, s.warm = map[versionID]*module{}, map[string]*module{}
	s.mu.Unlock()
	for _, m := range loaded {
		m.engine.close(ctx)
	}
	return nil
}

func (s *store) current() (x *index, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index, s.running
}

// meaning is what a reference means now.
type meaning struct {
	versionID
	sha256 string
	shadow int // 0 for none
}

// resolve finds what a reference means.
func (s *store) resolve(ref reference) (meaning, error) {
	x, running := s.current()
	if !running {
		return meaning{}, ErrStopped
	}
	if hash, ok := strings.CutPrefix(ref.name, hashPrefix); ok {
		for _, m := range x.Modules {
			for i := range m.Versions {
				if v := &m.Versions[i]; strings.EqualFold(hash, v.SHA256) && !m.Disabled {
					return meaning{versionID: versionID{m.Name, v.Number}, sha256: v.SHA256}, nil
				}
			}
		}
		return meaning{}, fault(ErrUnknownModule, "no enabled one has this hash")
	}
	m := x.find(ref.name)
	switch {
	case m == nil || s.names.reserved(ref.name):
		return meaning{}, fault(ErrUnknownModule, "%q", printable([]byte(ref.name), 100))
	case m.Disabled:
		return meaning{}, fault(ErrDisabled, "%s; enable it with weir plugin enable %s", m.Name, m.Name)
	case ref.version == "" || ref.version == "latest":
		if m.Current == 0 {
			return meaning{}, fault(ErrUnknownModule, "all versions of %s are shadows; make one current with weir plugin rollback %s --to N", m.Name, m.Name)
		}
		return meaning{versionID{m.Name, m.Current}, m.version(m.Current).SHA256, m.Shadow}, nil
	}
	if v := m.matching(ref.version); v != nil {
		return meaning{versionID: versionID{m.Name, v.Number}, sha256: v.SHA256}, nil
	}
	return meaning{}, fault(ErrUnknownModule, "%s has no version %s", m.Name, printable([]byte(ref.version), 100))
}

// matching finds a version by its number, or the newest whose own version begins with the text.
func (m *pushedModule) matching(text string) *pushedVersion {
	if n, err := strconv.Atoi(text); err == nil {
		return m.version(n)
	}
	for i := len(m.Versions) - 1; i >= 0; i-- {
		if v := &m.Versions[i]; v.Version == text || strings.HasPrefix(v.Version, text+".") {
			return v
		}
	}
	return nil
}

// take returns a version's module, loaded and counted in.
func (s *store) take(ctx context.Context, id versionID) (*module, *reporter, error) {
	r, err := s.reporter(id.name)
	if err != nil {
		return nil, nil, err
	}
	if m := s.lookUp(id); m != nil {
		return m, r, nil
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if m := s.lookUp(id); m != nil { // somebody was faster
		return m, r, nil
	}
	x, _ := s.current()
	mod := x.find(id.name)
	if mod == nil || mod.version(id.number) == nil {
		return nil, nil, fault(ErrUnknownModule, "%s", id)
	}
	v := mod.version(id.number)
	bin, err := s.read(v)
	if err != nil {
		return nil, nil, fmt.Errorf("load WASM module %s: %w", id, err)
	}
	m, err := s.load(ctx, id, bin)
	if err != nil {
		return nil, nil, fmt.Errorf("load WASM module %s: %w", id, err)
	}
	if !s.publish(id, m) {
		m.life.release()
		return nil, nil, ErrStopped
	}
	return m, r, nil
}

// lookUp returns a loaded module, counted in, or nil.
func (s *store) lookUp(id versionID) *module {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.loaded[id]; m != nil && m.life.retain() {
		return m
	}
	return nil
}

// read reads a module's file and checks that it is what was pushed.
func (s *store) read(v *pushedVersion) ([]byte, error) {
	bin, err := os.ReadFile(s.folder.module(v.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault(ErrHash, "its file is gone; push it again")
	}
	if err != nil {
		return nil, err
	}
	if got := hashOf(bin); hex.EncodeToString(got[:]) != v.SHA256 {
		return nil, fault(ErrHash, "its file is damaged; remove the version and push it again")
	}
	return bin, nil
}

// load checks and compiles a module. The caller is its user.
func (s *store) load(ctx context.Context, id versionID, bin []byte) (*module, error) {
	s.trimCache()
	m, err := loadBinary(ctx, id.name, bin, s.cfg, s.set)
	if err != nil {
		return nil, err
	}
	m.number = id.number
	end := m.life.end
	m.life.end = func() {
		s.mu.Lock()
		if s.loaded[id] == m {
			delete(s.loaded, id)
		}
		s.mu.Unlock()
		end()
	}
	return m, nil
}

// publish makes a loaded module the one that everybody finds.
func (s *store) publish(id versionID, m *module) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return false
	}
	s.loaded[id] = m
	if mod := s.index.find(id.name); mod != nil && mod.Disabled { // meanwhile
		m.life.turnOff(ErrDisabled)
	}
	return true
}

// reporter returns the one of a name.
func (s *store) reporter(name string) (*reporter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reports[name]; r != nil {
		return r, nil
	}
	r, err := newReporter(s.set, name)
	if err == nil {
		s.reports[name] = r
	}
	return r, err
}

// cacheMax bounds the compiled code on the disk. Versions that come and go leave theirs behind, so it is emptied then.
const cacheMax = 1 << 30

func (s *store) trimCache() {
	dir := filepath.Join(string(s.folder), "compiled")
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	if size > cacheMax {
		if err := os.RemoveAll(dir); err != nil {
			s.set.Logger.Warn("empty the cache of compiled modules", "error", err)
		}
	}
}
