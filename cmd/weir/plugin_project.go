package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/filter/wasm"
)

// The files of a project.
const (
	projectFile  = "plugin.yaml"
	manifestFile = "manifest.json"
	casesFile    = "cases.yaml"
)

// project is a plugin.yaml: how a module is built.
type project struct {
	// Language says what the module is written in. It decides what is looked for before the steps run.
	Language string `yaml:"language"`
	// Env holds variables for the steps.
	Env map[string]string `yaml:"env"`
	// Steps are run one after the other in the project's directory.
	Steps []buildStep `yaml:"steps"`
	// Output is the file that the steps make.
	Output string `yaml:"output"`
	// Module is the file that is made of it, with the manifest in it.
	Module string `yaml:"module"`

	dir string
}

// buildStep is a command.
type buildStep struct {
	// Run is the program and its arguments.
	Run []string `yaml:"run"`
	// Unless is a path: if it exists, the step is left out.
	Unless string `yaml:"unless"`
}

// stepsMax bounds a project's steps.
const stepsMax = 20

// Validate wants everything that a build needs, and no path that leads out of the project.
func (p *project) Validate() error {
	var errs []error
	for _, x := range []struct{ field, path string }{{"output", p.Output}, {"module", p.Module}} {
		if !filepath.IsLocal(x.path) {
			errs = append(errs, plugin.Invalid(x.field, "%q: want a path below the project", x.path))
		}
	}
	if p.Output == p.Module {
		errs = append(errs, plugin.Invalid("module", "is the same as output: the steps' file is kept as it is"))
	}
	if len(p.Steps) == 0 || len(p.Steps) > stepsMax {
		errs = append(errs, plugin.Invalid("steps", "want 1 to %d", stepsMax))
	}
	for i, s := range p.Steps {
		if len(s.Run) == 0 || s.Run[0] == "" {
			errs = append(errs, plugin.Invalid(fmt.Sprintf("steps[%d]", i), "has nothing to run"))
		}
	}
	return errors.Join(errs...)
}

// openProject reads the plugin.yaml of a directory.
func openProject(dir string) (*project, error) {
	path := filepath.Join(dir, projectFile)
	src, err := readBounded(path, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("%s isn't the project of a module: it has no %s. Make one with 'weir plugin init NAME'", dir, projectFile))
	}
	if err != nil {
		return nil, usage(err)
	}
	return parseProject(dir, path, src)
}

func parseProject(dir, path string, src []byte) (*project, error) {
	p := &project{dir: dir}
	if err := config.DecodeYAML(path, src, p); err != nil {
		return nil, usage(err)
	}
	return p, nil
}

// readBounded reads a file that has at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return b, err
}

// tried is a module to test or to measure, and what it is tried on.
type tried struct {
	path   string
	binary []byte
	cases  string // the file of cases; "" if there is none
	stale  string // a source that is newer than the module
}

// target finds the module of a project or takes the file that is named, and the cases beside it.
func target(arg, cases string) (*tried, error) {
	t := &tried{path: arg, cases: cases}
	st, err := os.Stat(arg)
	if err != nil {
		return nil, usage(err)
	}
	dir := filepath.Dir(arg)
	if st.IsDir() {
		p, err := openProject(arg)
		if err != nil {
			return nil, err
		}
		dir, t.path = arg, filepath.Join(arg, p.Module)
		built, err := os.Stat(t.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usage(fmt.Errorf("%s isn't there: run 'weir plugin build %s' first", t.path, arg))
		}
		if err != nil {
			return nil, err
		}
		t.stale = newerSource(p, built.ModTime())
	}
	if t.binary, err = readBounded(t.path, wasm.SizeMax); err != nil {
		return nil, usage(err)
	}
	if beside := filepath.Join(dir, casesFile); t.cases == "" {
		if _, err := os.Stat(beside); err == nil {
			t.cases = beside
		}
	}
	return t, nil
}

// newerSource returns a file of the project that has changed after its module was built.
func newerSource(p *project, built time.Time) (name string) {
	skip := []string{"target", "node_modules", "build", filepath.Dir(p.Output), p.Module, casesFile, "README.md", ".gitignore", "Cargo.lock"}
	_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.dir, path)
		switch {
		case err != nil || name != "":
			return fs.SkipAll
		case rel != "." && (slices.Contains(skip, rel) || strings.HasPrefix(rel, ".git")):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir():
			if st, err := d.Info(); err == nil && st.ModTime().After(built) {
				name = path
			}
		}
		return nil
	})
	return name
}

// warnStale says that the module may not be what the sources say.
func (a *app) warnStale(t *tried) {
	if t.stale != "" {
		fmt.Fprintf(a.stderr, "weir: %s is newer than %s: run 'weir plugin build' to try what it says now\n", t.stale, t.path)
	}
}
