package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/sdk/guest"
)

// exampleProjects are the projects in examples.
func exampleProjects() []initialised {
	return []initialised{
		{Name: "geo-fence", Language: "rust", Kind: guest.Filter}, {Name: "json-field", Language: "go", Kind: guest.Filter},
		{Name: "canary", Language: "c", Kind: guest.Functions}, {Name: "card-number", Language: "assemblyscript", Kind: guest.Filter},
	}
}

// needTools skips the test when a toolchain is missing; continuous integration requires them.
func needTools(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
			t.Fatalf("%s is needed: %s", p, installLine(p))
		}
		t.Skipf("%s is needed: %s", p, installLine(p))
	}
}

// TestExamplesAreProjects wants the projects in examples to be what init makes, but for what an author changes.
func TestExamplesAreProjects(t *testing.T) {
	changed := []string{"README.md", casesFile, manifestFile, "src/lib.rs", "main.go", "filter.c", "assembly/index.ts"}
	for _, p := range exampleProjects() {
		files, err := guest.Project(p.Language, p.Kind, p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			path := filepath.Join("../../examples", p.Name, f.Path)
			have, err := os.ReadFile(path)
			if err != nil || !slices.Contains(changed, f.Path) && string(have) != string(f.Data) {
				t.Errorf("%s isn't what init makes (%v): run go generate ./sdk/guest, or copy it from a new project", path, err)
			}
		}
	}
}

// TestExamplesHaveTheKits wants the copy of a kit that makes each example a project of its own to be the kit.
func TestExamplesHaveTheKits(t *testing.T) {
	const examples, kits = "../../examples", "../../sdk/guest"
	for _, c := range []struct{ copied, kit string }{
		{"geo-fence/mqf/Cargo.toml", "rust/mqf/Cargo.toml"}, {"geo-fence/mqf/src/*", "rust/mqf/src"}, {"json-field/mqf/*", "go/mqf"},
		{"canary/mqf.h", "c/mqf.h"}, {"card-number/assembly/mqf.ts", "assemblyscript/mqf.ts"},
	} {
		files, err := filepath.Glob(filepath.Join(examples, c.copied))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", c.copied, err)
		}
		for _, f := range files {
			kit := filepath.Join(kits, c.kit)
			if filepath.Base(kit) != filepath.Base(f) {
				kit = filepath.Join(kit, filepath.Base(f))
			}
			got, err1 := os.ReadFile(f)
			want, err2 := os.ReadFile(kit)
			if err := errors.Join(err1, err2); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s isn't %s: %v", f, kit, err)
			}
		}
	}
}

// TestExamples builds and tests the examples as an author would, and has a broker's filters, configured by the broker.yaml that
// stands there, judge messages with them.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("building modules takes seconds")
	}
	needTools(t, "cargo", "go", "clang", "npm", "node")
	root := t.TempDir()
	if out, err := exec.Command("cp", "-r", "../../examples", filepath.Join(root, "examples")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(root)
	for _, p := range exampleProjects() {
		dir := filepath.Join("examples", p.Name)
		wantResult(t, author(os.Environ(), "build", dir), exitOK, "built "+filepath.Join(dir, p.Name+".wasm")+"\n")
		var out casesRun
		r := author(os.Environ(), "test", dir, "-o", "json")
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != exitOK || len(out.Cases) < 8 || out.Failed > 0 || r.err != "" {
			t.Errorf("%s: %v\n%s%s", dir, err, r.out, r.err)
		}
	}
	put(t, "messages", `{"topic": "T", "properties": {"lat": "52.5", "lon": "13.4", "state": "free", "customer": "customer-0"}, "body": "{\"status\": \"paid\"}"}
{"topic": "T", "properties": {"lat": "48.9", "lon": "2.3", "state": "free", "customer": "customer-1"}, "body": "4111 1111 1111 1111"}
{"topic": "T", "properties": {"lat": "48.1", "lon": "11.6", "state": "busy"}, "body": "{\"status\": \"open\"}"}
`)
	for expression, want := range map[string][4]int{ // matched, rejected, unknown, raised
		"wasm.filter('geo-fence')": {1, 2, 0, 0},
		`wasm.filter('geo-fence', '{"south": 48.8, "west": 2.2, "north": 48.95, "east": 2.5}') AND state = 'free'`: {1, 2, 0, 0},
		"wasm.filter('json-field')":                               {1, 1, 0, 1},
		"wasm.canary.chosen(customer, 5.0, 'checkout-2')":         {1, 1, 1, 0},
		"wasm.canary.bucket(customer, 100) >= 0":                  {2, 0, 1, 0},
		"wasm.filter('card-number') OR wasm.filter('json-field')": {2, 1, 0, 0},
	} {
		var r replayed
		res := weir("", "filter", "test", expression, "-c", "examples/broker.yaml", "--data-dir", t.TempDir(), "--file", "messages", "-o", "json")
		if err := json.Unmarshal([]byte(res.out), &r); err != nil {
			t.Fatalf("%s: %v\n%s%s", expression, err, res.out, res.err)
		}
		if got := [4]int{r.Matched, r.Rejected, r.Unknown, r.Raised}; got != want {
			t.Errorf("%s: %d match, are rejected, unknown, raise; want %d", expression, got, want)
		}
	}
	if text, err := os.ReadFile("examples/README.md"); err != nil || !strings.Contains(string(text), "weir --config examples/broker.yaml") {
		t.Errorf("%v", err)
	}
}
