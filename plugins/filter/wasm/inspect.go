package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/weirmq/weir/plugins/internal/fuel"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// Inspection is what can be said of a module without a broker.
type Inspection struct {
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	// FuelGrowth is how many times larger the instructions that count fuel make the module, custom sections aside; 0 if they
	// couldn't be written into it.
	FuelGrowth float64 `json:"fuel_growth"`
	// Manifest is nil if there is none that can be read.
	Manifest *Manifest `json:"manifest"`
	Imports  []Outside `json:"imports"`
	Exports  []Outside `json:"exports"`
	// Functions is how many functions the module defines.
	Functions int `json:"functions"`
	// MemoryPages is what an instance begins with, and MemoryPagesMax how far it may grow under the limits of a broker, in pages
	// of 64 KiB.
	MemoryPages    uint32 `json:"memory_pages"`
	MemoryPagesMax uint32 `json:"memory_pages_max"`
	// Problems are why a broker with default limits refuses the module; empty if it doesn't.
	Problems []Problem `json:"problems"`
	// Notes are what an author should know.
	Notes []string `json:"notes"`
}

// Outside is an import or an export.
type Outside struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Known says that the import is served, or that the export is one of the ABI.
	Known bool `json:"known"`
}

// Problem is why a module is refused.
type Problem struct {
	Code string `json:"code"` // see Code
	Text string `json:"text"`
}

// SizeMax is the most that a module may have under any configuration, in bytes.
const SizeMax = int64(sizeMax)

// sizeNote is the size above which an author is told what it costs.
const sizeNote = 1 << 20

// Inspect looks at a module, which may be hostile or no module at all. It goes on after a problem as far as that makes sense;
// only if there is none is the module started, under the limits of a broker, and its manifest's tests are run.
func Inspect(ctx context.Context, bin []byte) *Inspection {
	x := &Inspection{Size: len(bin), Imports: []Outside{}, Exports: []Outside{}, Problems: []Problem{}, Notes: []string{}}
	hash := sha256.Sum256(bin)
	x.SHA256 = hex.EncodeToString(hash[:])
	cfg := defaultConfig()
	if len(bin) > int(cfg.Limits.Size) {
		x.problem(fault(ErrTooLarge, "it has %d bytes; limits.size allows %s", len(bin), cfg.Limits.Size))
	}
	m, err := wasmbin.Parse(bin, bounds())
	if err != nil {
		x.problem(fault(ErrMalformed, "%s", err))
		return x
	}
	x.structure(m, cfg)
	if len(x.Problems) == 0 {
		x.run(ctx, bin)
	}
	if len(bin) > sizeNote {
		x.Notes = append(x.Notes, fmt.Sprintf("it has %.1f MB: a broker takes a second or so to compile it for the first time", float64(len(bin))/1e6))
	}
	return x
}

func (x *Inspection) problem(err error) {
	if err != nil {
		x.Problems = append(x.Problems, Problem{Code(err), err.Error()})
	}
}

// structure looks at all that needs no code of the module to run.
func (x *Inspection) structure(m *wasmbin.Module, cfg *Config) {
	x.Functions = len(m.Functions)
	for i := range m.Imports {
		x.Imports = append(x.Imports, importOf(m, &m.Imports[i]))
	}
	known := map[string]bool{"memory": true}
	for _, e := range abiExports() {
		known[e.name] = true
	}
	for _, e := range m.Exports {
		out := Outside{Name: printable([]byte(e.Name), 100), Type: e.Kind.String(), Known: known[e.Name]}
		if t, ok := m.FuncType(e.Index); ok && e.Kind == wasmbin.ExternFunc {
			out.Type = t.String()
		}
		x.Exports = append(x.Exports, out)
	}
	if len(m.Memories) > 0 {
		x.MemoryPages = m.Memories[0].Min
	}
	x.problem(checkImports(m))
	x.problem(checkExports(m))
	x.manifest(m, cfg)
	out, err := fuel.Inject(m, fuel.Options{Fuel: cfg.Limits.FuelAtStart, Stack: stackUnits, TableMax: uint32(bounds().TableEntries)})
	if err != nil {
		x.problem(fault(ErrMalformed, "%s", err))
		return
	}
	plain := *m
	plain.Customs, out.Customs = nil, nil
	x.FuelGrowth = float64(len(out.Encode())) / float64(len(plain.Encode()))
}

func (x *Inspection) manifest(m *wasmbin.Module, cfg *Config) {
	text, ok := m.Custom(manifestSection)
	if !ok {
		x.problem(errNoManifest())
		return
	}
	man, err := ParseManifest(text)
	if err != nil {
		x.problem(err)
		return
	}
	x.Manifest = man
	x.problem(checkKinds(m, man))
	x.MemoryPagesMax, err = checkMemory(m, man, uint32(cfg.Limits.Memory/pageSize))
	x.problem(err)
}

func importOf(m *wasmbin.Module, i *wasmbin.Import) Outside {
	out := Outside{Name: printable([]byte(i.Module+"."+i.Name), 100), Type: i.Kind.String()}
	if i.Kind == wasmbin.ExternFunc {
		t := m.Types[i.Type]
		sig, ok := signatureOf(i.Module, i.Name)
		out.Type, out.Known = t.String(), ok && sig.types().Equal(t)
	}
	return out
}

// run starts the module and runs its manifest's tests.
func (x *Inspection) run(ctx context.Context, bin []byte) {
	t, err := NewTrial(ctx, bin, slog.New(slog.DiscardHandler))
	if err != nil {
		x.problem(err)
		return
	}
	defer t.Close(ctx)
	x.problem(t.prove(ctx, t.module, t.report))
}

// Pack appends a manifest to a module that has none yet. A module whose toolchain has put it in must have the same.
func Pack(bin, manifest []byte) ([]byte, error) {
	if _, err := ParseManifest(manifest); err != nil {
		return nil, err
	}
	m, err := wasmbin.Parse(bin, bounds())
	if err != nil {
		return nil, fault(ErrMalformed, "%s", err)
	}
	have, ok := m.Custom(manifestSection)
	if !ok {
		return wasmbin.AppendCustom(bin, manifestSection, manifest), nil
	}
	if !bytes.Equal(have, manifest) {
		return nil, fault(ErrManifest, "the toolchain has put another manifest into the module")
	}
	return bin, nil
}
