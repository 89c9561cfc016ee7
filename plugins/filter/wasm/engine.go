package wasm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirmq/weir/core/plugin"
)

// engine is a runtime with the imports that guests get. Each declared module has one, with its own memory limit.
type engine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without
}

// newEngine makes a runtime. cacheDir may be empty.
func newEngine(ctx context.Context, pages uint32, cacheDir string) (*engine, error) {
	e := &engine{}
	rc := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(pages).WithDebugInfoEnabled(false)
	if cacheDir != "" {
		c, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("open the cache of compiled modules: %w", err)
		}
		e.cache = c
		rc = rc.WithCompilationCache(c)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, rc)
	for _, name := range []string{hostModule, wasiModule, envModule} {
		b := e.runtime.NewHostModuleBuilder(name)
		for _, f := range hostFunctions() {
			if f.module == name {
				b = b.NewFunctionBuilder().WithGoModuleFunction(f.call, apiTypes(f.sig, true), apiTypes(f.sig, false)).Export(f.name)
			}
		}
		if _, err := b.Instantiate(ctx); err != nil {
			e.close(ctx)
			return nil, fmt.Errorf("make the imports of %s: %w", name, err)
		}
	}
	return e, nil
}

func apiTypes(s signature, params bool) (list []api.ValueType) {
	t := s.types()
	from := t.Results
	if params {
		from = t.Params
	}
	for _, v := range from {
		list = append(list, api.ValueType(v))
	}
	return list
}

func (e *engine) close(ctx context.Context) {
	_ = e.runtime.Close(ctx)
	if e.cache != nil {
		_ = e.cache.Close(ctx)
	}
}

// compile makes an engine and compiles c on it. What was compiled before comes from a cache on disk. The cache holds
// machine code, so nobody but the broker may write there. When compiling with it fails, it is tried without: a cache that
// can't be read must not keep a module from running. Without a data directory there is no cache.
func compile(ctx context.Context, c *checked, set plugin.Settings) (*engine, wazero.CompiledModule, error) {
	if set.DataDir == "" {
		return compileIn(ctx, c, "")
	}
	dir := filepath.Join(set.DataDir, "compiled")
	if err := prepareCache(dir); err != nil {
		set.Logger.Warn("compiled modules aren't kept", "error", err)
		dir = ""
	}
	e, m, err := compileIn(ctx, c, dir)
	if err == nil || dir == "" {
		return e, m, err
	}
	e, m, again := compileIn(ctx, c, "")
	if again != nil {
		return nil, nil, again
	}
	set.Logger.Warn("the cache of compiled modules is unusable and was emptied", "error", err)
	if err := os.RemoveAll(dir); err != nil {
		set.Logger.Warn("empty the cache of compiled modules", "error", err)
	}
	return e, m, nil
}

func compileIn(ctx context.Context, c *checked, dir string) (*engine, wazero.CompiledModule, error) {
	e, err := newEngine(ctx, c.pages, dir)
	if err != nil {
		return nil, nil, err
	}
	m, err := e.runtime.CompileModule(ctx, c.binary)
	if err != nil {
		e.close(ctx)
		return nil, nil, fault(ErrMalformed, "%s", printable([]byte(err.Error()), 1000))
	}
	return e, m, nil
}

// prepareCache makes the directory, for nobody else to see, and removes what other versions of wazero left: they would
// never be read again.
func prepareCache(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	ours := cacheFolder()
	entries, err := os.ReadDir(dir)
	if err != nil || ours == "" {
		return err
	}
	for _, x := range entries {
		if strings.HasPrefix(x.Name(), "wazero-") && x.Name() != ours {
			if err := os.RemoveAll(filepath.Join(dir, x.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// cacheFolder returns the name of the folder that this build's wazero uses in a cache, "" if it can't be told.
func cacheFolder() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/tetratelabs/wazero" && d.Version != "" {
			return "wazero-" + d.Version + "-" + runtime.GOARCH + "-" + runtime.GOOS
		}
	}
	return ""
}
