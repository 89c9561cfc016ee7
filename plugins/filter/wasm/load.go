package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/internal/fuel"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// module is a checked, metered and compiled module. Its figures and its life change, the rest is immutable.
type module struct {
	name     string // that expressions use
	hash     [sha256.Size]byte
	manifest *Manifest
	pages    uint32
	compiled wazero.CompiledModule
	engine   *engine

	// What it imports decides what it may need.
	wholeBody bool // the import body
	anyProp   bool // the import prop, or raw properties
	impure    bool // the import now_ms
	hasInit   bool
	hasError  bool

	size    int64 // of the file
	number  int   // of a pushed module's version
	figures figures
	life    life
}

// stackUnits bounds the nesting of a guest's calls: frames of 8 MiB as the fuel pass estimates them.
const stackUnits = 1 << 20

// readModule reads a module's file, at most limit bytes.
func readModule(path string, limit plugin.Size) ([]byte, error) {
	if path == "" {
		return nil, fmt.Errorf("%w: no path is set", ErrConfig)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(b) > int(limit) {
		return nil, fault(ErrTooLarge, "%s has more than %s; raise limits.size or make it smaller", path, limit)
	}
	return b, nil
}

// bounds are those of section counts. Guests of all languages stay far below them.
func bounds() wasmbin.Bounds {
	return wasmbin.Bounds{Functions: 20_000, Imports: 1000, Types: 10_000, Globals: 1000, Exports: 1000, TableEntries: 20_000,
		Segments: 100_000, DataBytes: 4 << 20, Locals: 10_000, BodyBytes: 2 << 20}
}

// hashOf returns the SHA-256 of a module. Nothing stops the processor within one call of the hash, not even for the collection
// of garbage, for which all others wait meanwhile: so it gets the module in pieces.
func hashOf(bin []byte) (sum [sha256.Size]byte) {
	const piece = 64 << 10
	h := sha256.New()
	for len(bin) > 0 {
		n := min(len(bin), piece)
		h.Write(bin[:n])
		bin = bin[n:]
	}
	h.Sum(sum[:0])
	return sum
}

// checked is a module that may be compiled.
type checked struct {
	hash     [sha256.Size]byte
	parsed   *wasmbin.Module
	manifest *Manifest
	pages    uint32
	binary   []byte // with fuel
}

// check does all that needs no code of the module to run: hash, structure, manifest, imports, exports, and the rewriting.
func check(bin []byte, cfg *Config) (*checked, error) {
	c := &checked{hash: hashOf(bin)}
	if got := hex.EncodeToString(c.hash[:]); cfg.SHA256 != "" && !strings.EqualFold(got, cfg.SHA256) {
		return nil, fault(ErrHash, "the file has %s", got)
	}
	var err error
	if c.parsed, err = wasmbin.Parse(bin, bounds()); err != nil {
		return nil, fault(ErrMalformed, "%s", err)
	}
	if err := checkImports(c.parsed); err != nil {
		return nil, err
	}
	if err := checkExports(c.parsed); err != nil {
		return nil, err
	}
	text, ok := c.parsed.Custom(manifestSection)
	if !ok {
		return nil, errNoManifest()
	}
	if c.manifest, err = ParseManifest(text); err != nil {
		return nil, err
	}
	if err := checkKinds(c.parsed, c.manifest); err != nil {
		return nil, err
	}
	if c.pages, err = checkMemory(c.parsed, c.manifest, uint32(cfg.Limits.Memory/pageSize)); err != nil {
		return nil, err
	}
	out, err := fuel.Inject(c.parsed, fuel.Options{Fuel: cfg.Limits.FuelAtStart, Stack: stackUnits, TableMax: uint32(bounds().TableEntries)})
	if err != nil {
		return nil, fault(ErrMalformed, "%s", err)
	}
	if out.Start != nil { // called like _initialize, when its fuel can be read
		out.Exports = append(out.Exports, wasmbin.Export{Name: startExport, Kind: wasmbin.ExternFunc, Index: *out.Start})
		out.Start = nil
	}
	c.binary = out.Encode()
	return c, nil
}

func errNoManifest() error {
	return fault(ErrManifest, "there is no custom section %s; pack the module, last of all steps", manifestSection)
}

// abiExport is an export of the ABI.
type abiExport struct {
	name string
	sig  signature
	must bool
}

func abiExports() []abiExport {
	return []abiExport{
		{"mqf_abi_1", ":", true}, {"mqf_buffer", "i:i", true}, {"mqf_init", "ii:i", false}, {"mqf_filter", "iii:i", false},
		{"mqf_call", "iiiii:i", false}, {"mqf_error", ":I", false}, {"_initialize", ":", false},
	}
}

func checkExports(m *wasmbin.Module) error {
	for _, x := range abiExports() {
		e, ok := m.Export(x.name)
		if !ok {
			if x.must {
				return fault(ErrExport, "%s is missing: it is %s", x.name, x.sig.types())
			}
			continue
		}
		if e.Kind != wasmbin.ExternFunc {
			return fault(ErrExport, "%s is a %s", x.name, e.Kind)
		}
		if got, _ := m.FuncType(e.Index); !got.Equal(x.sig.types()) {
			return fault(ErrExport, "%s is %s, want %s", x.name, got, x.sig.types())
		}
	}
	if e, ok := m.Export("memory"); !ok || e.Kind != wasmbin.ExternMemory {
		return fault(ErrExport, "memory is missing")
	}
	if _, ok := m.Export(startExport); ok {
		return fault(ErrExport, "it exports %s, which is the host's", startExport)
	}
	_, command := m.Export("_start")
	if _, reactor := m.Export("_initialize"); command && !reactor {
		return fault(ErrExport, "it has _start but no _initialize: it is a command; build a reactor (Go: -buildmode=c-shared)")
	}
	return nil
}

func checkKinds(m *wasmbin.Module, man *Manifest) error {
	for _, x := range []struct {
		kind   bool
		export string
	}{{man.filters(), "mqf_filter"}, {len(man.Functions) > 0, "mqf_call"}} {
		if _, ok := m.Export(x.export); x.kind && !ok {
			return fault(ErrExport, "%s is missing, which its manifest promises", x.export)
		}
	}
	if man.Purity == "pure" && importsName(m, hostModule, "now_ms") {
		return fault(ErrManifest, "purity is pure, but the module imports %s.now_ms", hostModule)
	}
	if importsName(m, hostModule, "body") && !man.has("body") {
		return fault(ErrManifest, "the module imports %s.body, but needs doesn't list body", hostModule)
	}
	return nil
}

// checkMemory returns how many pages the memory may have.
func checkMemory(m *wasmbin.Module, man *Manifest, most uint32) (uint32, error) {
	if len(m.Memories) != 1 {
		return 0, fault(ErrExport, "the module defines no memory")
	}
	pages := man.pages(most)
	if pages > most {
		return 0, fault(ErrTooLarge, "memory_pages is %d; limits.memory allows %d", pages, most)
	}
	if least := m.Memories[0].Min; least > pages {
		return 0, fault(ErrTooLarge, "the module declares %d pages of memory; memory_pages allows %d and limits.memory %d", least, pages, most)
	}
	return pages, nil
}

// load reads, checks and compiles the module that cfg declares.
func load(ctx context.Context, name string, cfg *Config, set plugin.Settings) (*module, error) {
	bin, err := readModule(cfg.Path, cfg.Limits.Size)
	if err != nil {
		return nil, err
	}
	return loadBinary(ctx, name, bin, cfg, set)
}

// loadBinary checks and compiles a module. The caller is its first user.
func loadBinary(ctx context.Context, name string, bin []byte, cfg *Config, set plugin.Settings) (*module, error) {
	c, err := check(bin, cfg)
	if err != nil {
		return nil, err
	}
	e, compiled, err := compile(ctx, c, set)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = c.manifest.Name
	}
	_, hasInit := c.parsed.Export("mqf_init")
	_, hasError := c.parsed.Export("mqf_error")
	m := &module{
		name: name, hash: c.hash, manifest: c.manifest, pages: c.pages, compiled: compiled, engine: e,
		wholeBody: importsName(c.parsed, hostModule, "body"),
		anyProp:   importsName(c.parsed, hostModule, "prop") || c.manifest.has("raw_props"),
		impure:    c.manifest.Purity != "pure",
		hasInit:   hasInit, hasError: hasError, size: int64(len(bin)),
	}
	m.life.refs.Store(1)
	m.life.end = func() { e.close(context.Background()) }
	return m, nil
}
