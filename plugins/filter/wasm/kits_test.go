package wasm

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// kit is a language's folder in sdk/guest.
type kit struct {
	language string
	needs    []string // commands, or paths below the folder with a slash in them
	// build builds the examples; own builds the filter of the README, which is put at source, into own's output.
	build  []string
	source string
	own    [][]string
	output string
	fence  string // of the README's filter
}

func kits() []kit {
	return []kit{
		{language: "c", needs: []string{"clang", "wasm-ld", "make"}, build: []string{"make", "-B"}, source: "filter.c", fence: "c",
			own: [][]string{{"sh", "-c", "@clang"}}, output: "filter.wasm"},
		{language: "rust", needs: []string{"cargo", "make"}, build: []string{"make"}, source: "examples/threshold/src/lib.rs", fence: "rust",
			own: [][]string{{"cargo", "build", "--release", "-p", "threshold"}}, output: "target/wasm32-unknown-unknown/release/threshold.wasm"},
		{language: "assemblyscript", needs: []string{"node", "node_modules/assemblyscript/package.json"}, build: []string{"npm", "run", "-s", "build"},
			source: "examples/big/big.ts", fence: "ts", own: [][]string{{"node", "build.mjs", "examples/big/big.ts"}}, output: "examples/big/big.wasm"},
		{language: "go", needs: []string{"go", "make"}, build: []string{"make"}, source: "examples/big/main.go", fence: "go",
			own: [][]string{{"sh", "-c", "cd examples/big && @GOOS"}}, output: "examples/big/filter.wasm"},
	}
}

// copied returns a copy of the kit's folder, or skips the test when something is missing that the kit needs.
func (k *kit) copied(t *testing.T) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join(guestsDir, k.language))
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range k.needs {
		missing := ""
		if strings.Contains(need, "/") {
			if _, err := os.Stat(filepath.Join(from, need)); err != nil {
				missing = need + " (npm install in sdk/guest/" + k.language + ")"
			}
		} else if _, err := exec.LookPath(need); err != nil {
			missing = "the command " + need
		}
		if missing == "" {
			continue
		}
		if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
			t.Fatalf("building guests in %s needs %s", k.language, missing)
		}
		t.Skipf("building guests in %s needs %s", k.language, missing)
	}
	dir := t.TempDir()
	if msg, err := exec.Command("cp", "-r", from+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the kit: %v\n%s", err, msg)
	}
	_ = os.RemoveAll(filepath.Join(dir, "target"))
	return dir
}

func runIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, msg)
	}
}

// TestKitsBuild builds the examples of every kit from their sources, as their pages say, and wants them to do what the
// committed modules do.
func TestKitsBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("building guests takes seconds")
	}
	var list []goldenBatch
	text, err := os.ReadFile(filepath.Join(goldenDir, "golden.json"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kits() {
		t.Run(k.language, func(t *testing.T) {
			dir := k.copied(t)
			runIn(t, dir, k.build...)
			for _, g := range list {
				if g.Out == "" || g.Count != 64 {
					continue
				}
				bin, err := os.ReadFile(filepath.Join(dir, "examples", g.Filter, g.Filter+".wasm"))
				if err != nil {
					t.Fatal(err)
				}
				runGolden(t, goldenProgram(t, bin, g), g)
			}
		})
	}
}

// TestKitPages takes the filter out of each kit's README, builds it with the commands that stand there, and judges with it.
func TestKitPages(t *testing.T) {
	if testing.Short() {
		t.Skip("building guests takes seconds")
	}
	manifest := `{"name":"guest","version":"1.0.0","abi":"1.0","kind":["filter"],"purity":"pure","stateless":true,"memory_pages":64,
		"props":[{"name":"a","type":"double"}],"tests":[{"props":{"a":"100.5"},"want":"true"},{"props":{"a":"1"},"want":"false"},
		{"props":{"a":"x"},"want":"raise"},{"props":{"b":"1"},"want":"unknown"}]}`
	for _, k := range kits() {
		t.Run(k.language, func(t *testing.T) {
			dir := k.copied(t)
			page, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			source := filepath.Join(dir, k.source)
			if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
				t.Fatal(err)
			}
			put := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put(source, block(t, string(page), k.fence, ""))
			place := filepath.Dir(source)
			if k.language == "rust" {
				place = filepath.Dir(place)
			}
			put(filepath.Join(place, "manifest.json"), manifest)
			for _, args := range k.own {
				args = append([]string{}, args...)
				last := &args[len(args)-1]
				if before, mark, ok := strings.Cut(*last, "@"); ok { // a block of shell that begins with the mark
					*last = before + block(t, string(page), "sh", mark)
				}
				runIn(t, dir, args...)
			}
			bin, err := os.ReadFile(filepath.Join(dir, k.output))
			if err != nil {
				t.Fatal(err)
			}
			compiled(t, bin, nil) // runs the tests of the manifest
			if _, err := wasmbin.Parse(bin, wasmbin.Bounds{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// block returns the first fenced block of a language that begins with a text.
func block(t *testing.T, page, fence, begin string) string {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```"+fence+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(m[1], begin) {
			return m[1]
		}
	}
	t.Fatalf("the page has no %s block that begins with %q", fence, begin)
	return ""
}
