package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Options say where the configuration comes from and who owns its parts.
type Options struct {
	// File is the file to read; empty for none.
	File string
	// FileOptional makes a missing file an empty one.
	FileOptional bool
	// Env is the environment, as from os.Environ.
	Env []string
	// Flags are settings from the command line. They win over everything.
	Flags []Flag
	// Plugins are the factories that the plugin sections are decoded by.
	Plugins Sets
	// Sections are those of owners that Config has no field for.
	Sections []Section
}

// Flag is a setting from the command line.
type Flag struct {
	Name  string // as the user typed it: --data-dir
	Path  string // data_dir
	Value string
}

// Section is a top-level section of some owner.
type Section struct {
	Name string
	Doc  string
	// Target points to the owner's struct, filled with defaults. It is decoded into.
	Target any
}

// DefaultFile is read when no file is named and it is there.
const DefaultFile = "broker.yaml"

// topSection is one key at the top of the file.
type topSection struct {
	name  string
	doc   string
	value reflect.Value // settable; of a kind of plugins the zero Value
	kind  *pluginKind   // set for filters, auth and transports
}

// leaf tells that the section is a single value.
func (t topSection) leaf() bool { return t.kind == nil && shapeOf(t.value.Type()) < shapeStruct }

// keys lists the keys one level down.
func (t topSection) keys() []string {
	if t.kind != nil {
		return t.kind.types
	}
	if shapeOf(t.value.Type()) == shapeStruct {
		return keysOf(fieldsOf(t.value.Type()))
	}
	return nil
}

func findTop(top []topSection, name string) (topSection, bool) {
	for _, t := range top {
		if t.name == name {
			return t, true
		}
	}
	return topSection{}, false
}

func topNames(top []topSection) []string {
	names := make([]string, len(top))
	for i, t := range top {
		names[i] = t.name
	}
	return names
}

// loading is one run of Load.
type loading struct {
	opts    Options
	cfg     *Config
	service service
	kinds   []*pluginKind
	top     []topSection
	dec     *decoder
}

func newLoading(o Options) *loading {
	l := &loading{opts: o, cfg: Default(), kinds: kindsOf(o.Plugins)}
	l.service = defaultService(l.kinds)
	l.dec = &decoder{lines: map[string][]string{}, places: map[string]place{}, raws: map[string]string{}}
	v := reflect.ValueOf(l.cfg).Elem()
	for _, f := range fieldsOf(v.Type()) {
		l.top = append(l.top, topSection{name: f.key, doc: f.doc, value: v.FieldByIndex(f.index)})
	}
	for _, s := range o.Sections {
		l.top = append(l.top, topSection{name: s.Name, doc: s.Doc, value: reflect.ValueOf(s.Target).Elem()})
	}
	for _, k := range l.kinds {
		l.top = append(l.top, topSection{name: k.section, doc: k.doc, kind: k})
	}
	l.top = append(l.top, topSection{name: "service", doc: "Which plugins run, as type or type/name, and in which order.",
		value: reflect.ValueOf(&l.service).Elem()})
	return l
}

// Load reads, merges, decodes and checks everything. An error is an Errors with all that is wrong, or says that the file
// can't be read.
func Load(o Options) (*Config, error) {
	l := newLoading(o)
	root, err := l.read()
	if err != nil {
		return nil, err
	}
	warnings, errs := overlay(root, o.Env, l.top)
	l.cfg.Warnings = warnings
	l.dec.errs = append(l.dec.errs, errs...)
	for _, f := range o.Flags {
		root.set(strings.Split(f.Path, "."), &node{kind: scalar, typ: loose, text: f.Value, at: place{source: "flag " + f.Name}})
	}
	l.decode(root)
	l.assemble()
	if len(l.dec.errs) > 0 {
		return nil, l.dec.errs.sorted()
	}
	l.cfg.Sections = o.Sections
	l.cfg.values = l.collect()
	return l.cfg, nil
}

// read parses the file, if there is one.
func (l *loading) read() (*node, error) {
	empty := &node{kind: mapping}
	if l.opts.File == "" {
		return empty, nil
	}
	src, err := os.ReadFile(l.opts.File)
	if errors.Is(err, fs.ErrNotExist) && l.opts.FileOptional {
		return empty, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	l.cfg.File = l.opts.File
	root, lines, errs := parse(l.opts.File, src, expander{lookup: l.lookup, dir: filepath.Dir(l.opts.File)})
	l.dec.lines[l.opts.File] = lines
	l.dec.errs = append(l.dec.errs, errs...)
	return root, nil
}

// lookup finds a variable in the environment that was passed in.
func (l *loading) lookup(name string) (string, bool) {
	for _, v := range l.opts.Env {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value, true
		}
	}
	return "", false
}

// decode hands each section to its owner's struct.
func (l *loading) decode(root *node) {
	for _, e := range root.entries {
		t, ok := findTop(l.top, e.key)
		switch {
		case !ok:
			l.dec.unknown(e, "", topNames(l.top))
		case t.kind != nil:
			t.kind.decode(l.dec, e.value)
		default:
			l.dec.value(e.value, t.value, e.key, field{})
		}
	}
	// Sections that nobody wrote are checked as well: their defaults may depend on nothing, but a flag may have been
	// merged into the struct by its owner.
	for _, t := range l.top {
		if t.kind == nil && root.find(t.name) == nil && !t.leaf() {
			l.dec.validate(t.value, t.name)
		}
	}
	l.dec.validate(reflect.ValueOf(l.cfg).Elem(), "")
}
