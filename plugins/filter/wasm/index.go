package wasm

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Pushed modules lie in the directory _pushed below that of the plugin:
//
//	index.json                        names, versions and what they mean
//	modules/ab/abcdef….wasm           by SHA-256, as they were pushed; never changed
//	compiled/                         machine code, may be deleted at any time
//
// A file is written under another name, synced and renamed; so a crash leaves the old content or the new one. A module is
// there before the index names it, and goes after the index has forgotten it; what nothing names is removed at the start.
const (
	pushedFolder  = "_pushed" // no instance of the plugin can be called that
	modulesFolder = "modules"
	indexFile     = "index.json"
	indexVersion  = 1
)

// index is the content of index.json. Its pointers are not shared: a change is made in a copy.
type index struct {
	Version int             `json:"version"` // of the file
	Modules []*pushedModule `json:"modules"` // by name
}

// pushedModule is a name and its versions.
type pushedModule struct {
	Name string `json:"name"`
	// Current is the version that the bare name and @latest mean; 0 for none: all are shadows. Before was it before.
	Current int `json:"current"`
	Before  int `json:"before,omitempty"`
	// Shadow is the version that judges beside the current one; 0 for none.
	Shadow   int  `json:"shadow,omitempty"`
	Last     int  `json:"last"` // number of the version that was pushed last
	Disabled bool `json:"disabled,omitempty"`
	// Versions are in the order of their numbers.
	Versions []pushedVersion `json:"versions"`
}

// pushedVersion is one version. What the manifest says stands here too, so that it is known without loading the module.
type pushedVersion struct {
	Number    int      `json:"number"`
	SHA256    string   `json:"sha256"`
	Version   string   `json:"version"` // the manifest's
	Size      int64    `json:"size"`
	Pushed    int64    `json:"pushed"` // ms
	Kinds     []string `json:"kinds"`
	Pure      bool     `json:"pure"`
	Functions []string `json:"functions,omitempty"`
}

func (x *index) find(name string) *pushedModule {
	for _, m := range x.Modules {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (m *pushedModule) version(number int) *pushedVersion {
	for i := range m.Versions {
		if m.Versions[i].Number == number {
			return &m.Versions[i]
		}
	}
	return nil
}

// clone returns a copy that shares nothing that changes.
func (x *index) clone() *index {
	c := &index{Version: indexVersion}
	for _, m := range x.Modules {
		copied := *m
		copied.Versions = slices.Clone(m.Versions)
		c.Modules = append(c.Modules, &copied)
	}
	return c
}

// names says whether a version has the hash.
func (x *index) uses(sha256 string) bool {
	for _, m := range x.Modules {
		if slices.ContainsFunc(m.Versions, func(v pushedVersion) bool { return v.SHA256 == sha256 }) {
			return true
		}
	}
	return false
}

// size is what the modules take on the disk. A file that several versions share counts for each.
func (x *index) size() (n int64) {
	for _, m := range x.Modules {
		for i := range m.Versions {
			n += m.Versions[i].Size
		}
	}
	return n
}

// decodeIndex reads index.json and checks what everything else relies on.
func decodeIndex(data []byte) (*index, error) {
	x := &index{}
	if err := json.Unmarshal(data, x); err != nil {
		return nil, err
	}
	if x.Version != indexVersion {
		return nil, fmt.Errorf("it has version %d, this broker knows %d", x.Version, indexVersion)
	}
	for i, m := range x.Modules {
		if m == nil || !namePattern.MatchString(m.Name) || x.find(m.Name) != m {
			return nil, fmt.Errorf("module %d has no name, or one that is there twice", i)
		}
		last := 0
		for _, v := range m.Versions {
			if raw, err := hex.DecodeString(v.SHA256); err != nil || len(raw) != 32 || v.SHA256 != strings.ToLower(v.SHA256) {
				return nil, fmt.Errorf("%s@%d has no hash", m.Name, v.Number)
			}
			if v.Number <= last || v.Number > m.Last {
				return nil, fmt.Errorf("the versions of %s aren't in order", m.Name)
			}
			last = v.Number
		}
		for _, n := range []int{m.Current, m.Shadow} {
			if n != 0 && m.version(n) == nil {
				return nil, fmt.Errorf("%s@%d isn't there", m.Name, n)
			}
		}
	}
	return x, nil
}

// folder is where pushed modules lie.
type folder string

func (f folder) index() string { return filepath.Join(string(f), indexFile) }

func (f folder) module(sha256 string) string {
	return filepath.Join(string(f), modulesFolder, sha256[:2], sha256+".wasm")
}

// readIndex reads index.json; without the file there are no modules.
func (f folder) readIndex() (*index, error) {
	data, err := os.ReadFile(f.index())
	if errors.Is(err, fs.ErrNotExist) {
		return &index{Version: indexVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := decodeIndex(data)
	if err != nil {
		return nil, fmt.Errorf("%s can't be used: %w; put back a copy of it, or move %s away and push the modules anew", f.index(), err, f)
	}
	return x, nil
}

func (f folder) writeIndex(x *index) error {
	data, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return writeDurably(f.index(), append(data, '\n'))
}

// writeModule stores a module, unless it is there already.
func (f folder) writeModule(sha256 string, bin []byte) error {
	path := f.module(sha256)
	if st, err := os.Stat(path); err == nil && st.Size() == int64(len(bin)) {
		return nil
	}
	return writeDurably(path, bin)
}

// removeModule removes a module's file. One that is gone is fine.
func (f folder) removeModule(sha256 string) error {
	if err := os.Remove(f.module(sha256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tidy removes the files that x doesn't name: a crash came between writing them and naming them.
func (f folder) tidy(x *index) error {
	root := filepath.Join(string(f), modulesFolder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if x.uses(strings.TrimSuffix(d.Name(), ".wasm")) {
			return nil
		}
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeDurably writes a file in such a way that a crash leaves the old content or the new one, whole.
func writeDurably(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := makeDurably(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
		return err
	}
	return syncDir(dir)
}

// makeDurably makes a directory and those above it, and syncs those in which one was made.
func makeDurably(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if err := makeDurably(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
