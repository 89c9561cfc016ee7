package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGoKitCopy wants the copy that is embedded to be the kit.
func TestGoKitCopy(t *testing.T) {
	names, err := filepath.Glob("go/mqf/*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	copies, _ := filepath.Glob("gokit/*")
	if len(copies) != len(names) {
		t.Errorf("gokit has %q, go/mqf has %q: run go generate ./sdk/guest", copies, names)
	}
	for _, name := range names {
		kit, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile("gokit/" + filepath.Base(name) + ".txt"); err != nil || !bytes.Equal(got, kit) {
			t.Errorf("gokit has another %s, or none: run go generate ./sdk/guest", filepath.Base(name))
		}
	}
}

// project returns the files of a project by their paths.
func project(t *testing.T, lang, kind string) map[string]string {
	t.Helper()
	list, err := Project(lang, kind, "some_name")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(list, func(x, y File) int { return strings.Compare(x.Path, y.Path) }) {
		t.Errorf("%s: the files aren't sorted", lang)
	}
	all := map[string]string{}
	for _, f := range list {
		all[f.Path] = string(f.Data)
	}
	return all
}

// TestProjects looks into the project of every language and kind: it is whole, and nothing of the templates is left.
func TestProjects(t *testing.T) {
	for _, l := range languages() {
		if !slices.Contains(Kinds(l.Name), Filter) {
			t.Errorf("there is no filter in %s", l.Name)
		}
		for _, kind := range Kinds(l.Name) {
			all := project(t, l.Name, kind)
			for _, name := range []string{".gitignore", "README.md", "manifest.json", "cases.yaml", "plugin.yaml", l.Source} {
				if all[name] == "" {
					t.Errorf("%s %s has no %s", l.Name, kind, name)
				}
			}
			for name, text := range all {
				if strings.Contains(text, "<no value>") || strings.Contains(text, "{{") {
					t.Errorf("%s %s: %s has something of a template:\n%s", l.Name, kind, name, text)
				}
				if strings.HasSuffix(name, ".tmpl") || strings.HasSuffix(name, ".txt") {
					t.Errorf("%s %s has the file %s", l.Name, kind, name)
				}
			}
			if !strings.Contains(all["manifest.json"], `"name": "some_name"`) || !strings.Contains(all["plugin.yaml"], "module: some_name.wasm") {
				t.Errorf("%s %s doesn't know its name:\n%s%s", l.Name, kind, all["manifest.json"], all["plugin.yaml"])
			}
		}
	}
	for _, x := range []struct{ lang, kind, want string }{
		{"cobol", Filter, `there is no kit for "cobol"; there are rust, go, c, assemblyscript`},
		{"c", "sink", "the kit for c makes no sink yet; it makes filter, functions"},
	} {
		if _, err := Project(x.lang, x.kind, "n"); err == nil || err.Error() != x.want {
			t.Errorf("%s %s: %v, want %s", x.lang, x.kind, err, x.want)
		}
	}
}

// TestProjectsFollowKits wants projects to build with the flags and versions that the kits' own examples are built and tested with.
func TestProjectsFollowKits(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	words := func(lang string) []string {
		return strings.Fields(regexp.MustCompile(`[\[\],"]| {2,}`).ReplaceAllString(strings.ReplaceAll(project(t, lang, Filter)["plugin.yaml"], "-Wl,", "-Wl_"), " "))
	}
	has := func(lang, flag string) {
		if !slices.Contains(words(lang), strings.ReplaceAll(strings.ReplaceAll(flag, "-Wl,", "-Wl_"), ",", "")) && !strings.Contains(project(t, lang, Filter)["plugin.yaml"], flag) {
			t.Errorf("a project in %s isn't built with %s", lang, flag)
		}
	}
	flags := regexp.MustCompile(`(?s)FLAGS = (.*?)\n\n`).FindStringSubmatch(read("c/Makefile"))
	for _, flag := range strings.Fields(strings.ReplaceAll(flags[1], "\\\n", " ")) {
		has("c", flag)
	}
	for _, flag := range []string{"-buildmode=c-shared", "-trimpath", "-ldflags=-s -w"} {
		if !strings.Contains(strings.ReplaceAll(read("go/Makefile"), `"`, ""), flag) {
			t.Errorf("the Go kit isn't built with %s", flag)
		}
		has("go", flag)
	}
	for _, flag := range regexp.MustCompile(`"(-+[a-zA-Z0-9]+)"`).FindAllStringSubmatch(read("assemblyscript/build.mjs"), -1) {
		has("assemblyscript", flag[1])
	}
	version := regexp.MustCompile(`"assemblyscript": "[0-9.]+"`)
	if x, y := version.FindString(read("assemblyscript/package.json")), version.FindString(project(t, "assemblyscript", Filter)["package.json"]); x == "" || x != y {
		t.Errorf("the kit has %s, a project %s", x, y)
	}
	rust := project(t, "rust", Filter)
	_, profile, _ := strings.Cut(read("rust/Cargo.toml"), "[profile.release]")
	for _, line := range strings.Split(strings.TrimSpace(profile), "\n") {
		if !strings.Contains(rust["Cargo.toml"], line+"\n") {
			t.Errorf("Cargo.toml of a project lacks %s", line)
		}
	}
	flag := regexp.MustCompile(`rustflags = .*`)
	if x := flag.FindString(read("rust/.cargo/config.toml")); x == "" || !strings.Contains(rust[".cargo/config.toml"], x) {
		t.Errorf(".cargo/config.toml of a project lacks %s", x)
	}
}
