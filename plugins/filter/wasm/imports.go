package wasm

import (
	"fmt"
	"strings"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// The names of the modules that guests import from.
const (
	hostModule = "mqf_v1"
	wasiModule = "wasi_snapshot_preview1"
	envModule  = "env"
)

// signature is written as the value types of parameters, a colon and those of results: i for i32, I for i64.
type signature string

func (s signature) types() (t wasmbin.FuncType) {
	params, results, _ := strings.Cut(string(s), ":")
	return wasmbin.FuncType{Params: valTypes(params), Results: valTypes(results)}
}

func valTypes(s string) (list []wasmbin.ValType) {
	for _, c := range s {
		if c == 'I' {
			list = append(list, wasmbin.I64)
		} else {
			list = append(list, wasmbin.I32)
		}
	}
	return list
}

// signatureOf returns the signature of an import that is served. Anything else doesn't exist for guests.
func signatureOf(module, name string) (signature, bool) {
	for _, f := range hostFunctions() {
		if f.module == module && f.name == name {
			return f.sig, true
		}
	}
	return "", false
}

// checkImports refuses what isn't served, with the whole list of offenders.
func checkImports(m *wasmbin.Module) error {
	var bad []string
	for i := range m.Imports {
		x := &m.Imports[i]
		what := x.Module + "." + x.Name
		if x.Kind != wasmbin.ExternFunc {
			bad = append(bad, fmt.Sprintf("%s (a %s)", what, x.Kind))
			continue
		}
		sig, ok := signatureOf(x.Module, x.Name)
		switch got := m.Types[x.Type]; {
		case !ok:
			bad = append(bad, what)
		case !sig.types().Equal(got):
			bad = append(bad, fmt.Sprintf("%s as %s (it is %s)", what, got, sig.types()))
		}
		if len(bad) == 20 {
			bad = append(bad, "and more")
			break
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fault(ErrImport, "%s", printable([]byte(strings.Join(bad, ", ")), 2000))
}

func importsName(m *wasmbin.Module, module, name string) bool {
	for i := range m.Imports {
		if m.Imports[i].Module == module && m.Imports[i].Name == name {
			return true
		}
	}
	return false
}
