package wasm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// maker makes programs of modules.
type maker struct {
	set     plugin.Settings
	cfg     *Config
	permits *permits
}

// compiler serves the expressions that name one declared module.
type compiler struct {
	maker
	names *names
	renew func() // nil when nobody asks

	reloading sync.Mutex // held while the module is loaded again, before mu
	mu        sync.Mutex // guards all below
	module    *module    // nil unless running
	report    *reporter
}

var (
	_ filter.Compiler       = (*compiler)(nil)
	_ filter.Sharer         = (*compiler)(nil)
	_ filter.FunctionSource = (*compiler)(nil)
	_ filter.ModuleHost     = (*compiler)(nil)
	_ filter.Renewer        = (*compiler)(nil)
)

func newCompiler(m maker, names *names) *compiler { return &compiler{maker: m, names: names} }

// ExpressionTypes returns WASM.
func (c *compiler) ExpressionTypes() []string { return []string{TypeWASM} }

// Start loads the module and runs the tests of its manifest. The error says what is wrong with it.
func (c *compiler) Start(ctx context.Context, _ plugin.Host) error {
	m, err := load(ctx, c.set.ID.Name, c.cfg, c.set)
	if err != nil {
		return fmt.Errorf("load WASM module %s from %q: %w", c.set.ID, c.cfg.Path, err)
	}
	r, err := newReporter(c.set, m.name)
	if err != nil {
		m.engine.close(ctx)
		return err
	}
	if err := c.prove(ctx, m, r); err != nil {
		m.engine.close(ctx)
		return fmt.Errorf("load WASM module %s from %q: %w", c.set.ID, c.cfg.Path, err)
	}
	c.names.reserve(m.name)
	c.mu.Lock()
	c.module, c.report = m, r
	c.mu.Unlock()
	c.set.Logger.Info("loaded a WASM module", "module", m.name, "version", m.manifest.Version,
		"sha256", hex.EncodeToString(m.hash[:]), "pages", m.pages)
	return nil
}

// Stop closes the module and all its instances.
func (c *compiler) Stop(ctx context.Context) error {
	c.mu.Lock()
	m := c.module
	c.module = nil
	c.mu.Unlock()
	if m != nil {
		c.names.free(m.name)
		m.engine.close(ctx)
	}
	return nil
}

// take returns the running module, counted in, nil when there is none.
func (c *compiler) take() (*module, *reporter) {
	for {
		m, r := c.running()
		if m == nil || m.life.retain() {
			return m, r
		}
	}
}

func (c *compiler) running() (*module, *reporter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.module, c.report
}

// reference is the text of an expression: name, name@version or sha256:hash, each with ?setting=value&… behind it.
type reference struct {
	name, version string
	settings      map[string]string
}

func parseReference(text string) (ref reference, err error) {
	head, query, found := strings.Cut(strings.TrimSpace(text), "?")
	ref.name, ref.version, _ = strings.Cut(head, "@")
	if !found {
		return ref, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return ref, fault(ErrConfig, "%s; write name?setting=value&…", err)
	}
	ref.settings = make(map[string]string, len(values))
	for name, list := range values {
		if len(list) > 1 {
			return ref, fault(ErrConfig, "%s is given twice", name)
		}
		ref.settings[name] = list[0]
	}
	return ref, nil
}

const hashPrefix = "sha256:"

// Serves says whether an expression names the module.
func (c *compiler) Serves(e filter.Expression) bool {
	m, _ := c.running()
	ref, _ := parseReference(e.Text)
	return m != nil && m.is(ref.name)
}

// Names lists the module's name.
func (c *compiler) Names() []string {
	m, _ := c.running()
	if m == nil {
		return nil
	}
	return []string{m.name}
}

func (m *module) is(name string) bool {
	if hash, ok := strings.CutPrefix(name, hashPrefix); ok {
		return strings.EqualFold(hash, hex.EncodeToString(m.hash[:]))
	}
	return name == m.name
}

// Compile makes a program of the module with the expression's settings, and starts its first instance.
func (c *compiler) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if e.Type != TypeWASM {
		return nil, fmt.Errorf("compile %s expression: the wasm filter only knows %s", e.Type, TypeWASM)
	}
	m, r := c.take()
	if m == nil {
		return nil, fmt.Errorf("compile WASM expression: %w", ErrStopped)
	}
	defer m.life.release()
	ref, err := parseReference(e.Text)
	if err == nil && !m.is(ref.name) {
		err = fault(ErrUnknownModule, "%q; declared is %s", printable([]byte(ref.name), 100), m.name)
	}
	if err == nil {
		err = m.checkVersion(ref.version)
	}
	if err != nil {
		return nil, fmt.Errorf("compile WASM expression: %w", err)
	}
	p, err := c.program(ctx, m, r, c.cfg.Config, ref.settings)
	if err != nil {
		return nil, fmt.Errorf("compile WASM expression: module %s: %w", m.name, err)
	}
	p.renewed = c.replaced(m)
	return p, nil
}

// checkVersion compares with the manifest: all of it, or its first numbers. latest is any.
func (m *module) checkVersion(want string) error {
	got := m.manifest.Version
	if want == "" || want == "latest" || want == got || strings.HasPrefix(got, want+".") {
		return nil
	}
	return fault(ErrUnknownModule, "%s has version %s, not %s", m.name, got, printable([]byte(want), 100))
}

// errNoFilter refuses modules that only have functions.
var errNoFilter = errors.New("the module is no filter; it has only functions, which SQL92 expressions call")

// program makes a program and starts its first instance, which tells the slots.
func (c *maker) program(ctx context.Context, m *module, r *reporter, layers ...map[string]string) (*program, error) {
	if !m.manifest.filters() {
		return nil, errNoFilter
	}
	p, err := c.newProgram(ctx, m, r, layers...)
	if err != nil {
		return nil, err
	}
	if len(p.layout.slots) == 0 && len(m.manifest.Needs) == 0 && !m.anyProp {
		p.warnings = append(p.warnings, "the module "+m.name+" reads nothing of a message, so it judges all alike")
	}
	return p, nil
}

// newProgram makes the program of a module, which may have functions only.
func (c *maker) newProgram(ctx context.Context, m *module, r *reporter, layers ...map[string]string) (*program, error) {
	values, err := settle(m.manifest, layers...)
	if err != nil {
		return nil, err
	}
	p := &program{module: m, values: values, cfg: c.cfg, clock: c.set.Clock, permits: c.permits, report: r,
		pool: pool{most: cap(c.permits.work)}}
	if err := p.acquire(ctx); err != nil {
		return nil, err
	}
	defer p.release()
	in, err := p.start()
	if err != nil {
		return nil, err
	}
	r.started()
	p.layout = in.layout
	p.give(in, true)
	m.life.retain() // the caller's count keeps it above 0
	m.life.join(p)
	return p, nil
}
