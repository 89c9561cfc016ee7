package wasm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirmq/weir/core/filter"
)

// Modules runs modules that other filters generate: see filter.ModuleEngine. They share one runtime, which is made when
// the first is loaded. It is safe for concurrent use.
type Modules struct {
	once    sync.Once
	runtime wazero.Runtime
}

var _ filter.ModuleEngine = (*Modules)(nil)

// NewModules returns an engine without a module.
func NewModules() *Modules { return &Modules{} }

// generatedPages bounds the memory of an instance.
const generatedPages = 64

// LoadModule implements filter.ModuleEngine.
func (m *Modules) LoadModule(ctx context.Context, binary []byte) (filter.Module, error) {
	m.once.Do(func() {
		m.runtime = wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().
			WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(generatedPages).WithDebugInfoEnabled(false))
	})
	compiled, err := m.runtime.CompileModule(ctx, binary)
	if err != nil {
		return nil, fmt.Errorf("compile generated module: %w", err)
	}
	g := &generated{runtime: m.runtime, compiled: compiled, idleMax: runtime.GOMAXPROCS(0)}
	first, err := g.start()
	if err != nil {
		_ = compiled.Close(ctx)
		return nil, err
	}
	g.idle = append(g.idle, first)
	return g, nil
}

// generated is a loaded module and its idle instances. An instance has one user at a time.
type generated struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	idleMax  int

	mu     sync.Mutex // guards all below
	idle   []*generatedInstance
	closed bool
}

type generatedInstance struct {
	module api.Module
	memory []byte
	judge  api.Function
	stack  [1]uint64
	failed bool
}

var errShape = errors.New("a generated module must have a memory and a function judge")

func (g *generated) start() (*generatedInstance, error) {
	ctx := context.Background()
	module, err := g.runtime.InstantiateModule(ctx, g.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fmt.Errorf("start generated module: %w", err)
	}
	in := &generatedInstance{module: module, judge: module.ExportedFunction("judge")}
	if memory := module.Memory(); memory != nil && in.judge != nil {
		if b, ok := memory.Read(0, memory.Size()); ok {
			in.memory = b
			return in, nil
		}
	}
	_ = module.Close(ctx)
	return nil, errShape
}

var errClosed = errors.New("the generated module is closed")

// Take implements filter.Module.
func (g *generated) Take() (filter.ModuleInstance, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, errClosed
	}
	if n := len(g.idle); n > 0 {
		in := g.idle[n-1]
		g.idle = g.idle[:n-1]
		g.mu.Unlock()
		return in, nil
	}
	g.mu.Unlock()
	return g.start()
}

// Give implements filter.Module.
func (g *generated) Give(lent filter.ModuleInstance) {
	in := lent.(*generatedInstance)
	g.mu.Lock()
	keep := !in.failed && !g.closed && len(g.idle) < g.idleMax
	if keep {
		g.idle = append(g.idle, in)
	}
	g.mu.Unlock()
	if !keep {
		_ = in.module.Close(context.Background())
	}
}

// Close implements filter.Module. No instance is lent.
func (g *generated) Close() error {
	g.mu.Lock()
	idle := g.idle
	g.idle, g.closed = nil, true
	g.mu.Unlock()
	ctx := context.Background()
	var errs []error
	for _, in := range idle {
		errs = append(errs, in.module.Close(ctx))
	}
	return errors.Join(append(errs, g.compiled.Close(ctx))...)
}

// Memory implements filter.ModuleInstance.
func (in *generatedInstance) Memory() []byte { return in.memory }

// Judge implements filter.ModuleInstance.
func (in *generatedInstance) Judge(want uint64) error {
	in.stack[0] = want
	if err := in.judge.CallWithStack(context.Background(), in.stack[:]); err != nil {
		in.failed = true
		return fmt.Errorf("run generated module: %w", err)
	}
	return nil
}
