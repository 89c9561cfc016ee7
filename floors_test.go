// Package weir_test checks the rules of the house that no compiler checks: who imports whom, which package is the home of
// which library, and that nothing happens by being imported. ARCHITECTURE.md has the table in words.
package weir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weirmq/weir/"

// floors lists what the packages below a folder may import of ours: themselves and everything below the named folders.
// The first line that fits a package counts. A folder that doesn't exist yet is no fault.
var floors = []struct {
	folder string
	may    []string
}{
	// Floor 0: nouns and seams.
	{"core/plugin", floor0},
	{"core/message", nil},
	{"core/clock", nil},
	{"core/fastjson", nil},
	// Floor 1: the contracts.
	{"core/filter", floor1},
	{"core/auth", floor1},
	{"core/transport", floor1},
	// Ours alone: the disk and what else core shares.
	{"core/internal", append([]string{"core/internal"}, floor0...)},
	// Floor 2: what keeps something on disk.
	{"core/store", inner},
	{"core/topic", inner},
	{"core/telemetry", inner},
	// Floor 3: what clients see of it. Floor 2 is reached through interfaces that they declare themselves.
	{"core/queue", inner},
	{"core/schedule", inner},
	{"core/transaction", inner},
	{"core/naming", inner},
	{"core/replication", inner},
	// Floor 4.
	{"core/config", slices.Concat(inner, []string{"core/store", "core/topic", "core/telemetry", "core/queue", "core/schedule",
		"core/transaction", "core/naming", "core/replication"})},
	// Floor 5: puts it together.
	{"core/broker", []string{"core"}},
	// Aside: plugins and what others build on.
	{"plugins/internal", append([]string{"plugins/internal", "sdk/wire"}, floor1...)},
	{"plugins/filter", pluginMay},
	{"plugins/auth", pluginMay},
	{"plugins/transport", pluginMay},
	{"plugins", append([]string{"plugins"}, floor1...)},
	{"sdk/wire", []string{"core/message", "core/fastjson"}},
	{"sdk/client", []string{"sdk/wire", "core/message"}},
	{"sdk/guest", nil},
	{"sdk/plugin", floor1},
	{"sdk/brokertest", []string{"core", "plugins", "sdk"}},
	// On top.
	{"cmd", []string{"core", "plugins", "sdk"}},
	{"test", []string{"core", "plugins", "sdk", "test"}},
	{"examples", []string{"core", "plugins", "sdk"}},
}

var (
	floor0    = []string{"core/plugin", "core/message", "core/clock", "core/fastjson"}
	floor1    = append([]string{"core/filter", "core/auth", "core/transport"}, floor0...)
	inner     = append([]string{"core/internal"}, floor1...)
	pluginMay = append([]string{"plugins/internal", "sdk/wire"}, floor1...)
)

// homes lists the libraries of others and the only folders that may import them. The OpenTelemetry API is for all.
var homes = map[string][]string{
	"golang.org/x/sys":                      {"core/internal/mmap", "core/internal/vfs"},
	"github.com/goccy/go-yaml":              {"core/config"},
	"github.com/spf13/cobra":                {"cmd/weir"},
	"github.com/spf13/pflag":                {"cmd/weir"},
	"github.com/jedib0t/go-pretty":          {"cmd/weir"},
	"github.com/vbauerster/mpb":             {"cmd/weir"},
	"github.com/HdrHistogram":               {"cmd/weir"},
	"github.com/invopop/jsonschema":         {"core/config"},
	"github.com/tetratelabs/wazero":         {"plugins/filter/wasm"},
	"github.com/expr-lang/expr":             {"plugins/filter/expr"},
	"github.com/hashicorp":                  {"plugins/internal/goplugin", "sdk/plugin"},
	"google.golang.org/grpc":                {"plugins/transport/grpc", "plugins/internal/goplugin", "sdk/plugin"},
	"go.etcd.io":                            {"core/replication"},
	"go.opentelemetry.io/otel/sdk":          {"core/telemetry"},
	"go.opentelemetry.io/otel/exporters":    {"core/telemetry"},
	"go.opentelemetry.io/otel/metric":       {""},
	"go.opentelemetry.io/otel/trace":        {""},
	"go.opentelemetry.io/otel/attribute":    {""},
	"go.opentelemetry.io/otel/codes":        {""},
	"go.opentelemetry.io/otel/propagation":  {""},
	"go.opentelemetry.io/otel/semconv":      {""},
	"github.com/prometheus/client_golang":   {"core/telemetry"},
	"github.com/apache/rocketmq-client-go":  {"test"},
	"github.com/apache/rocketmq-clients/go": {"test"},
}

// supports are packages for tests. Code that runs in production doesn't import them.
var supports = []string{"testing", module + "core/internal/scenariotest", module + "core/store/storetest", module + "core/plugin/plugintest", module + "core/filter/filtertest",
	module + "core/auth/authtest", module + "core/transport/transporttest", module + "core/internal/vfs/errorfs",
	module + "sdk/brokertest", module + "sdk/wire/sealed/sealedtest", module + "plugins/filter/sql92/sql92test", module + "plugins/filter/wasm/wasmtest",
	module + "plugins/internal/wasmgen"}

// pkg is a package of this module as `go list` describes it, without its tests.
type pkg struct {
	Dir        string
	ImportPath string
	Name       string
	Imports    []string
	GoFiles    []string
}

func (p *pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,Name,Imports,GoFiles", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var list []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			list = append(list, p)
		}
	}
}

// below says whether path is folder or below it; everything is below "".
func below(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		i := slices.IndexFunc(floors, func(f struct {
			folder string
			may    []string
		}) bool {
			return below(p.path(), f.folder)
		})
		if i < 0 {
			t.Errorf("%s has no floor: add it to the table here and in ARCHITECTURE.md", p.path())
			continue
		}
		for _, imported := range p.Imports {
			path, ours := strings.CutPrefix(imported, module)
			if !ours || below(path, own(p.path(), floors[i].folder)) {
				continue
			}
			if !slices.ContainsFunc(floors[i].may, func(f string) bool { return below(path, f) }) {
				t.Errorf("%s imports %s; it may import only what is below %q", p.path(), path, floors[i].may)
			}
		}
	}
}

// own returns the folder that a package shares with its relatives: for a plugin that is the plugin, not its kind.
func own(path, folder string) string {
	parts := strings.Split(path, "/")
	if parts[0] == "plugins" && len(parts) >= 3 && parts[1] != "internal" {
		return strings.Join(parts[:3], "/")
	}
	return folder
}

func TestLibrariesHaveOneHome(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(imported, module) {
				continue // the standard library, or ours
			}
			library := ""
			for l := range homes {
				if below(imported, l) && len(l) > len(library) {
					library = l
				}
			}
			if library == "" {
				t.Errorf("%s imports %s, which has no home: say in the table here and in ARCHITECTURE.md who may use it", p.path(), imported)
				continue
			}
			if !slices.ContainsFunc(homes[library], func(f string) bool { return below(p.path(), f) }) {
				t.Errorf("%s imports %s, whose home is %q", p.path(), imported, homes[library])
			}
		}
	}
}

func TestProductionDoesNotImportTestSupport(t *testing.T) {
	support := func(path string) bool { return slices.Contains(supports, path) }
	for _, p := range packages(t) {
		if support(p.ImportPath) || below(p.path(), "test") {
			continue
		}
		for _, imported := range p.Imports {
			if support(imported) {
				t.Errorf("%s imports %s, which is for tests", p.path(), imported)
			}
		}
	}
}

// TestNothingHappensByImport wants no init function and no blank import: what is compiled in is the list in
// plugins/components.go. It also wants every package to begin with its page.
func TestNothingHappensByImport(t *testing.T) {
	files := token.NewFileSet()
	for _, p := range packages(t) {
		page := false
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			page = page || f.Doc != nil
			for _, i := range f.Imports {
				if i.Name != nil && i.Name.Name == "_" && i.Path.Value != `"embed"` {
					t.Errorf("%s: imports %s for its effects", files.Position(i.Pos()), i.Path.Value)
				}
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: has an init function", files.Position(fn.Pos()))
				}
			}
		}
		if !page {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}
