package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/plugins/filter/wasm"
	"github.com/weirmq/weir/sdk/guest"
)

// author runs a command of an author, with an environment.
func author(env []string, args ...string) result {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: env, version: "test"}
	code := a.run(append([]string{"plugin"}, args...))
	return result{code, out.String(), errs.String()}
}

// wantResult looks at an exit code and at texts that must stand in what was written.
func wantResult(t *testing.T, r result, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("%s%s\nwithout %q", r.out, r.err, text)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	sound     = "../../sdk/guest/c/examples/threshold/threshold.wasm"
	misbehave = "testdata/plugin/"
)

// TestPluginInit makes projects, and refuses to make any where something is.
func TestPluginInit(t *testing.T) {
	dir := t.TempDir()
	for _, lang := range guest.Languages() {
		for _, kind := range guest.Kinds(lang) {
			at := filepath.Join(dir, lang, kind)
			r := author(nil, "init", "some_name", "--lang", lang, "--kind", kind, "--dir", at)
			wantResult(t, r, exitOK, "made "+at+": a module in "+lang+", kind "+kind+"\n", "  plugin.yaml\n", "Next:\n  weir plugin build "+at+"\n")
			p, err := openProject(at)
			if err != nil || p.Language != lang || p.Module != "some_name.wasm" {
				t.Errorf("%s: %+v, %v", at, p, err)
			}
			manifest, err := os.ReadFile(filepath.Join(at, manifestFile))
			if err != nil {
				t.Fatal(err)
			}
			m, err := wasm.ParseManifest(manifest)
			if err != nil || m.Name != "some_name" {
				t.Errorf("%s: %v", at, err)
			}
			c, err := readCases(filepath.Join(at, casesFile))
			if err != nil || len(c.Cases) < 5 {
				t.Errorf("%s: %+v, %v", at, c, err)
			}
			wantResult(t, author(nil, "init", "some_name", "--lang", lang, "--kind", kind, "--dir", at), exitUsage,
				at+" isn't empty: it has .", "; nothing is overwritten, so name another directory with --dir")
		}
	}
	put(t, filepath.Join(dir, "file"), "")
	for _, tt := range []struct{ args, want string }{
		{"init", "weir plugin init wants NAME"},
		{"init a b", `"b" is one argument too many`},
		{"init geo", "say in which language: --lang rust, go, c or assemblyscript"},
		{"init geo --lang cobol", `--lang "cobol": want rust, go, c or assemblyscript`},
		{"init Geo --lang c", `"Geo" can't be a module's name: want a lower case letter, then at most 39 of them, digits, _ and -`},
		{"init ../geo --lang c", `"../geo" can't be a module's name`},
		{"init " + strings.Repeat("x", 41) + " --lang c", "can't be a module's name"},
		{"init geo-x --lang c --kind functions", `"geo-x" can't be the name of functions`},
		{"init geo --lang c --kind sink", `--kind "sink": want filter or functions`},
		{"init geo --lang c --dir " + filepath.Join(dir, "file"), "not a directory"},
		{"init geo --lang c --dir " + filepath.Join(dir, "file", "below"), "not a directory"},
	} {
		wantResult(t, author(nil, strings.Fields(tt.args)...), exitUsage, tt.want)
	}
	if entries, err := os.ReadDir("."); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "geo" }) {
		t.Errorf("something was made: %v", err)
	}
	var made initialised
	r := author(nil, "init", "geo", "--lang", "go", "--dir", filepath.Join(dir, "json"), "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &made); err != nil || made.Name != "geo" || !slices.Contains(made.Files, "mqf/mqf.go") {
		t.Errorf("%v: %+v", err, made)
	}
}

// fakeProject makes a project whose step is a shell command, with the manifest of a module that is built already.
func fakeProject(t *testing.T, step string) string {
	t.Helper()
	dir := t.TempDir()
	bin, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "ready.wasm"), string(bin))
	manifest, err := os.ReadFile(filepath.Join(filepath.Dir(sound), manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, manifestFile), string(manifest))
	put(t, filepath.Join(dir, projectFile), fmt.Sprintf("language: other\nenv: {SPEECH: \"well done\"}\nsteps:\n  - run: [sh, -c, %q]\n  - {run: [nosuchprogram], unless: ready.wasm}\noutput: build/x.wasm\nmodule: threshold.wasm\n", step))
	return dir
}

// TestPluginBuild builds projects with toolchains of any kind and condition.
func TestPluginBuild(t *testing.T) {
	path := []string{"PATH=" + os.Getenv("PATH") + ":" + fakeTools(t, "nosuchprogram")}
	dir := fakeProject(t, "echo $SPEECH >&2; cp ready.wasm build/x.wasm")
	wantResult(t, author(path, "build", dir), exitOK, "$ 'SPEECH=well done' sh -c 'echo $SPEECH >&2; cp ready.wasm build/x.wasm'\n", "well done\n",
		"built "+filepath.Join(dir, "threshold.wasm")+"\n", "module     threshold 1.0.0: filter, pure\n", "accepted   by a broker with default limits")
	var out built
	if r := author(path, "build", dir, "-o", "json"); json.Unmarshal([]byte(r.out), &out) != nil || len(out.Steps) != 2 || out.Steps[0].Seconds <= 0 || !out.Steps[1].Skipped ||
		out.Inspection == nil || len(out.SHA256) != 64 || out.Manifest.Name != "threshold" {
		t.Errorf("%+v\n%s", out, r.out)
	}
	put(t, filepath.Join(dir, manifestFile), "{}")
	wantResult(t, author(path, "build", dir), exitUsage, filepath.Join(dir, manifestFile)+": the module's manifest is missing or wrong: name \"\": want lower case letters")

	for _, tt := range []struct {
		step string
		code int
		want []string
	}{
		{"echo line 7: no >&2; echo and out; exit 3", exitFailure, []string{"line 7: no\n", "and out\n", "weir: sh failed: exit status 3; what it said stands above\n"}},
		{"true", exitFailure, []string{"weir: the steps went well, but made no output: open ", "build/x.wasm"}},
		{"echo text > build/x.wasm", exitFailure, []string{"put manifest.json into build/x.wasm: the module isn't valid WebAssembly 2.0"}},
		{"cp ../../x.wasm build/ 2>/dev/null; sed s/1.0.0/2.0.0/ ready.wasm > build/x.wasm", exitFailure, []string{"the toolchain has put another manifest into the module"}},
	} {
		dir := fakeProject(t, tt.step)
		r := author(path, "build", dir)
		wantResult(t, r, tt.code, tt.want...)
		if _, err := os.Stat(filepath.Join(dir, "threshold.wasm")); err == nil {
			t.Errorf("%s made a module", tt.step)
		}
	}

	for text, want := range map[string]string{
		"language: c\n":  "steps: want 1 to 20",
		"outputs: c\n":   `unknown key "outputs"; did you mean "output"?`,
		"steps: [{}]\n":  "steps[0]: has nothing to run",
		"output: ../x\n": `output: "../x": want a path below the project`,
		"module: /x\n":   `module: "/x": want a path below the project`,
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, projectFile), text)
		wantResult(t, author(path, "build", dir), exitUsage, filepath.Join(dir, projectFile)+":", want)
	}
	wantResult(t, author(path, "build", "testdata"), exitUsage, "testdata isn't the project of a module: it has no plugin.yaml. Make one with 'weir plugin init NAME'")
	wantResult(t, author(path, "build"), exitUsage, ". isn't the project of a module")
}

// fakeTools makes programs that say something and succeed, given as NAME or NAME=SPEECH, and returns their directory.
func fakeTools(t *testing.T, list ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, x := range list {
		name, speech, _ := strings.Cut(x, "=")
		put(t, filepath.Join(dir, name), "#!/bin/sh\necho '"+speech+"'\n")
		if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPluginToolchains reads what a person is told whose machine lacks something.
func TestPluginToolchains(t *testing.T) {
	for _, tt := range []struct {
		lang  string
		tools []string
		want  string
	}{
		{"rust", nil, "cargo isn't on the PATH; install rustup (https://rustup.rs) and run 'rustup target add wasm32-unknown-unknown', or run 'apt-get install --no-install-recommends cargo rustc libstd-rust-dev-wasm32 lld'"},
		{"rust", []string{"cargo", "rustup", "rustc=/no/such"}, "Rust's library for wasm32-unknown-unknown is missing; run 'rustup target add wasm32-unknown-unknown'"},
		{"rust", []string{"cargo", "rustc=/no/such"}, "run 'apt-get install --no-install-recommends libstd-rust-dev-wasm32 lld'"},
		{"go", nil, "go isn't on the PATH; install Go 1.24 or newer: https://go.dev/dl"},
		{"go", []string{"go=go1.22.3"}, "the toolchain is too old: go1.22.3; install Go 1.24 or newer"},
		{"c", nil, "clang isn't on the PATH; run 'apt-get install --no-install-recommends clang lld'"},
		{"c", []string{"clang=wasm-ld"}, "wasm-ld isn't on the PATH; run 'apt-get install --no-install-recommends lld'"},
		{"assemblyscript", nil, "npm isn't on the PATH; run 'apt-get install --no-install-recommends nodejs npm'"},
	} {
		dir := filepath.Join(t.TempDir(), "p")
		wantResult(t, author(nil, "init", "p", "--lang", tt.lang, "--dir", dir), exitOK)
		r := author([]string{"PATH=" + fakeTools(t, tt.tools...)}, "build", dir)
		wantResult(t, r, exitFailure, "weir: the toolchain", tt.want)
		if strings.Contains(r.err, "$ ") || strings.Contains(r.err, "--help") {
			t.Errorf("%s: something was run, or the command line blamed:\n%s", tt.lang, r.err)
		}
	}
}

// TestPluginTest runs cases on a sound module and on such that misbehave in one way each.
func TestPluginTest(t *testing.T) {
	dir := t.TempDir()
	cases := func(text string) string {
		path := filepath.Join(t.TempDir(), "cases.yaml")
		put(t, path, text)
		return path
	}
	for _, tt := range []struct {
		module, cases string
		code          int
		want          []string
	}{
		{sound, "", exitOK, []string{"ok  manifest: the message amount=100.5 ", "\n5 cases, 0 failed; in batches of 1, 63, 64, 65, 1000, twice and backwards always the same\n"}},
		{sound, "config: {limit: \"5\"}\ncases:\n  - {name: six, properties: {amount: \"6\"}, want: false}\n  - {properties: {amount: x, b: c}, want: unknown}\n  - {config: {property: b}, properties: {b: \"6\"}, want: true}\n",
			exitFailure, []string{"      CASE          WANT     GOT\nFAIL  six           false    true\nFAIL  amount=x b=c  unknown  raise\n", "\n8 cases, 2 failed; in batches"}},
		{misbehave + "first_word.wasm", misbehave + casesFile, exitFailure, []string{
			"  above: true, but false at place 64 of a batch of 65\n", "  above: true, but false at place 64 of a batch of 1000, and 467 more there\n", "2 cases, 0 failed; in batches of 1, 63, 64, 65, 1000 not always the same\n"}},
		{misbehave + "counts.wasm", misbehave + casesFile, exitFailure, []string{"place 0 of a batch of 63, the second time, and 62 more there", "of the cases alone, backwards by a new instance"}},
		{misbehave + "traps.wasm", "cases:\n  - {name: minus, properties: {amount: \"-1\"}, want: false}\n  - {name: plus, properties: {amount: \"1\"}, want: false}\n", exitFailure, []string{
			"FAIL  minus  false  undecided\n", "minus: WASM module traps: the module trapped: unreachable\n", "2 cases, 1 failed; in batches of 1, 63, 64, 65, 1000, twice and backwards always the same\n"}},
		{misbehave + "refused.wasm", "", exitFailure, []string{"refused.wasm: [import] the module imports what a filter doesn't get: env.system"}},
		{"../../sdk/guest/c/examples/places/places.wasm", "cases:\n  - {function: apart, args: [\"3\", \"4\", \"0\", \"0\"], want: 5.0}\n  - {function: share, args: [null, \"7\"], want: 1}\n", exitFailure,
			[]string{"FAIL  share(null, 7)  1     0\n", "2 cases, 1 failed; in batches of 1, 63, 64, twice"}},
		{"../../sdk/guest/c/examples/places/places.wasm", "", exitUsage, []string{"there is nothing to try ", "its manifest has no tests, and there is no cases.yaml beside it; name a file with --cases"}},
		{"../../sdk/guest/c/examples/places/places.wasm", "cases:\n  - {name: x, want: true}\n", exitUsage, []string{"case x: the module places is no filter: say which function is called, with function and args"}},
		{"../../sdk/guest/c/examples/places/places.wasm", "cases:\n  - {function: far, want: true}\n", exitUsage, []string{`case far(): there is no function "far": the module places has within, apart, share`}},
		{sound, "cases:\n  - {function: far, want: true}\n", exitUsage, []string{`there is no function "far": the module threshold has none`}},
		{sound, "config: {limt: \"5\"}\ncases:\n  - {name: n, want: true}\n", exitFailure, []string{`weir: case n: [config] `, `there is no setting "limt"; the module has property, limit`}},
		{sound, "cases:\n  - {properties: {amount: 6}, want: true}\n", exitUsage, []string{`cases.yaml:2:27: cases[0].properties.amount: want text, not the number 6; write it in quotes: "6"`}},
		{sound, "cases:\n  - {properties: {amount: \"6\"}, want: yes}\n", exitUsage, []string{`"yes": want true, false, unknown or raise, or a function's number`}},
		{sound, "cases:\n  - {properties: {amount: \"6\"}, want: 6}\n", exitUsage, []string{"cases[0]: want is the number 6, which only functions give"}},
		{sound, "cases:\n  - {properties: {amount: \"6\"}}\n", exitUsage, []string{"cases[0]: has no want"}},
		{sound, "cases:\n  - {function: f, body: b, want: true}\n", exitUsage, []string{"cases[0]: a function gets args, not a message"}},
		{filepath.Join(dir, "none.wasm"), "", exitUsage, []string{"no such file or directory"}},
	} {
		args := []string{"test", tt.module}
		switch {
		case strings.HasPrefix(tt.cases, misbehave):
			args = append(args, "--cases", tt.cases)
		case tt.cases != "":
			args = append(args, "--cases", cases(tt.cases))
		}
		wantResult(t, author(nil, args...), tt.code, tt.want...)
	}
	var out casesRun
	r := author(nil, "test", misbehave+"first_word.wasm", "--cases", misbehave+casesFile, "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != exitFailure || len(out.Cases) != 2 || len(out.Differences) != 6 ||
		out.Differences[0] != (difference{Name: "above", Batch: "a batch of 65", Place: 64, Want: "true", Got: "false"}) {
		t.Errorf("%d, %v, %+v", r.code, err, out)
	}
}

// TestPluginTestOfProject finds the module of a project, and says when a source is newer.
func TestPluginTestOfProject(t *testing.T) {
	dir := fakeProject(t, "cp ready.wasm build/x.wasm")
	wantResult(t, author(nil, "test", dir), exitUsage, filepath.Join(dir, "threshold.wasm")+" isn't there: run 'weir plugin build "+dir+"' first")
	path := []string{"PATH=" + os.Getenv("PATH") + ":" + fakeTools(t, "nosuchprogram")}
	wantResult(t, author(path, "build", dir), exitOK)
	if r := author(nil, "test", dir); r.code != exitOK || r.err != "" {
		t.Errorf("%+v", r)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, manifestFile), later, later); err != nil {
		t.Fatal(err)
	}
	wantResult(t, author(nil, "test", dir), exitOK, "weir: "+filepath.Join(dir, manifestFile)+" is newer than "+filepath.Join(dir, "threshold.wasm")+": run 'weir plugin build'")
}

// TestPluginBench measures a filter and functions, and refuses what can't be measured.
func TestPluginBench(t *testing.T) {
	wantResult(t, author(nil, "bench", sound, "--duration", "1ms"), exitOK, "the filter with limit=100, on 4 messages again and again\n",
		"MESSAGES IN A CALL  NS A MESSAGE  FUEL A MESSAGE  OF THE FUEL ALLOWED  MEMORY\n")
	var out measured
	r := author(nil, "bench", sound, "--duration", "1ms", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || len(out.Groups) != 1 || len(out.Groups[0].Costs) != 4 || out.Groups[0].Costs[3].Records != 1024 ||
		out.Groups[0].Costs[3].Fuel < 10 || out.Groups[0].Costs[3].Nanos <= 0 || out.Groups[0].Costs[3].Memory < 1<<16 {
		t.Errorf("%v\n%s", err, r.out)
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	put(t, file, "cases:\n  - {function: apart, args: [\"3\", \"4\", \"0\", \"0\"], want: 5}\n  - {function: share, args: [a, \"7\"], want: 1}\n")
	wantResult(t, author(nil, "bench", "../../sdk/guest/c/examples/places/places.wasm", "--duration", "1ms", "--cases", file), exitOK, "function apart, on 1 message", "function share, on 1 message")
	put(t, file, "cases:\n  - {properties: {amount: \"-1\"}, want: false}\n")
	wantResult(t, author(nil, "bench", misbehave+"traps.wasm", "--duration", "1ms", "--cases", file), exitFailure, "[trap] judge 1 messages: WASM module traps: the module trapped: unreachable")
	wantResult(t, author(nil, "bench", sound, "--duration", "1h"), exitUsage, "--duration: want more than 0s and at most 1m")
}

// TestPluginInspect shows sound and hostile files; both formats end with exit code 1 when a broker would refuse the module.
func TestPluginInspect(t *testing.T) {
	r := author(nil, "inspect", "../../sdk/guest/c/examples/places/places.wasm")
	wantResult(t, r, exitOK, "module     places 1.0.0: functions, pure\nfunctions  within(double, double, text) → boolean\n", "share(text, int64) → int64, called with missing arguments too\n",
		"memory     1 page of 64 KiB at the start, 16 at most\n", "imports    none\n", "accepted   by a broker with default limits")
	if !regexp.MustCompile(`sha256     [0-9a-f]{64}\n`).MatchString(r.out) || !regexp.MustCompile(`fuel       counting it makes the module 1\.\d\d times as large\n`).MatchString(r.out) {
		t.Errorf("%s", r.out)
	}
	wantResult(t, author(nil, "inspect", sound), exitOK, "settings   property, text, default \"amount\": the property that is compared\n           limit, double, required: messages above it match\n",
		"imports    mqf_v1.need_prop (i32, i32, i32) → i32\n", "mqf_filter (i32, i32, i32) → i32\n")
	wantResult(t, author(nil, "inspect", misbehave+"refused.wasm"), exitFailure, "imports    env.system i32 → i32, that no filter gets\n",
		"refused    [import] the module imports what a filter doesn't get: env.system\n", "refused    [export] the module doesn't export what the ABI demands: mqf_filter is missing, which its manifest promises\n",
		"refused    [too_large] the module exceeds a limit: memory_pages is 5000; limits.memory allows 128\n")
	text := filepath.Join(t.TempDir(), "text")
	put(t, text, "\x1b[31mno module")
	wantResult(t, author(nil, "inspect", text), exitFailure, "refused    [malformed] the module isn't valid WebAssembly 2.0: ")
	var x wasm.Inspection
	if r := author(nil, "inspect", text, "-o", "json"); r.code != exitFailure || json.Unmarshal([]byte(r.out), &x) != nil || len(x.Problems) != 1 || x.Problems[0].Code != "malformed" {
		t.Errorf("%d\n%s", r.code, r.out)
	}
	wantResult(t, author(nil, "inspect", "nosuch.wasm"), exitUsage, "open nosuch.wasm: no such file or directory")
}

// TestPluginBuildInterrupted wants a build to end when somebody says so, and its step with it.
func TestPluginBuildInterrupted(t *testing.T) {
	dir := fakeProject(t, "kill -INT $PPID; exec sleep 60")
	began := time.Now()
	wantResult(t, author([]string{"PATH=" + os.Getenv("PATH") + ":" + fakeTools(t, "nosuchprogram")}, "build", dir), exitFailure, "weir: the build was interrupted\n")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestPluginDocs reads the files of a project that docs/modules.md shows.
func TestPluginDocs(t *testing.T) {
	shown := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readDoc(t, "modules.md"), -1) {
		first, _, _ := strings.Cut(m[1], ":")
		shown[first] = m[1]
	}
	if c, err := parseCases("docs/modules.md", []byte(shown["config"])); err != nil || len(c.Cases) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if p, err := parseProject(".", "docs/modules.md", []byte(shown["language"])); err != nil || len(p.Steps) != 2 || p.Module != "geo.wasm" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPluginCompletion offers what the flags and arguments take.
func TestPluginCompletion(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"init geo --lang ", "rust\ngo\nc\nassemblyscript\n:4\n"},
		{"init geo --kind ", "filter\nfunctions\n:4\n"},
		{"inspect ", "wasm\n:8\n"},
		{"build ", ":16\n"},
		{"test a.wasm ", ":4\n"},
	} {
		r := weir("", append([]string{"__complete", "plugin"}, append(strings.Fields(tt.args), "")...)...)
		if r.out != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, r.out, tt.want)
		}
	}
}

// FuzzPluginFiles reads any file as cases and as a project. What is taken for sound can be grouped and named.
func FuzzPluginFiles(f *testing.F) {
	for _, name := range []string{misbehave + casesFile, "../../examples/canary/cases.yaml", "../../examples/json-field/cases.yaml", "../../examples/card-number/plugin.yaml"} {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	m := &wasm.Manifest{Name: "m", Kind: []string{"filter", "functions"}, Functions: []wasm.Function{{Name: "bucket", Result: wasm.SlotInt64}}}
	f.Fuzz(func(t *testing.T, src []byte) {
		if c, err := parseCases("x", src); err == nil {
			groups, err := grouped(c.Cases, c.Config, m)
			n := 0
			for _, g := range groups {
				n += len(g.cases)
				for i, x := range g.cases {
					if strings.ContainsAny(x.label(i), "\x00\x1b\n") {
						t.Errorf("label %q", x.label(i))
					}
				}
			}
			if err == nil && n != len(c.Cases) {
				t.Errorf("%d cases in groups, of %d", n, len(c.Cases))
			}
		}
		if p, err := parseProject(".", "x", src); err == nil && (len(p.Steps) == 0 || !filepath.IsLocal(p.Output) || !filepath.IsLocal(p.Module)) {
			t.Errorf("%+v", p)
		}
	})
}
