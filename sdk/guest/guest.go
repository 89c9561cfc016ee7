// Package guest makes projects of filters: the kits of this folder and the templates beside them, as files in memory. It is what
// `weir plugin init` writes, so that an author needs nothing but the binary.
//
// A project is made of up to five folders of template, later ones winning: all, the kind's, the language's, and the language's of
// that kind; and of the language's kit. A kind that a language has no folder for isn't offered.
package guest

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"
)

// gokit is a copy of go/mqf: what lies in another Go module can't be embedded.
//
//go:generate ./copy_kits

//go:embed all:template gokit c/mqf.h rust/mqf assemblyscript/mqf.ts assemblyscript/package-lock.json
var files embed.FS

// The kinds of modules.
const (
	Filter    = "filter"
	Functions = "functions"
)

// File is a file of a project. The path has slashes and is below the project's directory.
type File struct {
	Path string
	Data []byte
}

// language is what templates need to know of a language.
type language struct {
	Name    string // as --lang says it
	Title   string
	Install string // what an author has to install
	Source  string // the file to change
	Pages   int    // of memory
	kit     []copied
}

// copied are files of a kit, and where they go in a project.
type copied struct{ from, to string }

func languages() []language {
	return []language{
		{"rust", "Rust", "rustup target add wasm32-unknown-unknown", "src/lib.rs", 16, []copied{{"rust/mqf", "mqf"}}},
		{"go", "Go", "Go 1.24 or newer, from https://go.dev/dl", "main.go", 64, []copied{{"gokit", "mqf"}}},
		{"c", "C", "apt-get install --no-install-recommends clang lld", "filter.c", 16, []copied{{"c/mqf.h", "mqf.h"}}},
		{"assemblyscript", "AssemblyScript", "Node.js 20 or newer; npm fetches the compiler", "assembly/index.ts", 16,
			[]copied{{"assemblyscript/mqf.ts", "assembly/mqf.ts"}, {"assemblyscript/package-lock.json", "package-lock.json"}}},
	}
}

// Languages lists the languages that there are kits for.
func Languages() (names []string) {
	for _, l := range languages() {
		names = append(names, l.Name)
	}
	return names
}

// Kinds lists the kinds of modules that a project in a language can be of.
func Kinds(lang string) (kinds []string) {
	for _, k := range []string{Filter, Functions} {
		if _, err := fs.Stat(files, path.Join("template", lang+"-"+k)); err == nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Project returns the files of a new project, sorted by path. name is the module's.
func Project(lang, kind, name string) ([]File, error) {
	i := slices.IndexFunc(languages(), func(l language) bool { return l.Name == lang })
	if i < 0 {
		return nil, fmt.Errorf("there is no kit for %q; there are %s", lang, strings.Join(Languages(), ", "))
	}
	if !slices.Contains(Kinds(lang), kind) {
		return nil, fmt.Errorf("the kit for %s makes no %s yet; it makes %s", lang, kind, strings.Join(Kinds(lang), ", "))
	}
	l := languages()[i]
	all := map[string][]byte{}
	for _, c := range l.kit {
		if err := copyKit(all, c, name); err != nil {
			return nil, err
		}
	}
	data := struct {
		language
		Kind, Module string
	}{l, kind, name}
	for _, folder := range []string{"all", kind, lang, lang + "-" + kind} {
		if err := fill(all, path.Join("template", folder), data); err != nil {
			return nil, err
		}
	}
	list := make([]File, 0, len(all))
	for p, b := range all {
		list = append(list, File{p, b})
	}
	slices.SortFunc(list, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	return list, nil
}

// copyKit adds files of a kit. Go's have a name that hides them from the Go command here, and npm's lock file has the name of
// its project.
func copyKit(all map[string][]byte, c copied, name string) error {
	return walk(c.from, func(p, rest string, b []byte) error {
		to := strings.TrimSuffix(path.Join(c.to, rest), ".txt")
		if to == "package-lock.json" {
			b = bytes.ReplaceAll(b, []byte("weir-guest-assemblyscript"), []byte(name))
		}
		all[to] = b
		return nil
	})
}

// fill adds the files of a folder of templates. Where there is no such folder there is nothing to add.
func fill(all map[string][]byte, folder string, data any) error {
	if _, err := fs.Stat(files, folder); err != nil {
		return nil //nolint:nilerr // see above
	}
	return walk(folder, func(p, rest string, b []byte) error {
		t, err := template.New(p).Option("missingkey=error").Parse(string(b))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			return err
		}
		all[strings.TrimSuffix(rest, ".tmpl")] = out.Bytes()
		return nil
	})
}

// walk calls f with each file of root, its path and what follows root in it.
func walk(root string, f func(p, rest string, b []byte) error) error {
	return fs.WalkDir(files, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		return f(p, strings.TrimPrefix(strings.TrimPrefix(p, root), "/"), b)
	})
}
