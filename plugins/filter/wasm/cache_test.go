package wasm

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
)

// TestCompiledCode loads a module, loads it again from what was kept, damages that, and loads it once more. Folders of other
// versions of wazero disappear. Nobody else can read the cache.
func TestCompiledCode(t *testing.T) {
	set := plugintest.Settings(t, Type)
	set.ID = plugin.ID{Type: Type, Name: "guest"}
	path := write(t, poisonous().Build())
	load := func() {
		t.Helper()
		made, err := NewFactory().NewCompiler(set, declared(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Start(context.Background(), &plugintest.Host{}); err != nil {
			t.Fatal(err)
		}
		p, err := made.Compile(context.Background(), expr("guest"))
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := match(t, p.(*program), messages(t, 3)); countSet(v.Undecided) != 0 {
			t.Error(p.(*program).Fault())
		}
		_ = p.Close()
		_ = made.Stop(context.Background())
	}
	dir := filepath.Join(set.DataDir, "compiled")
	files := func() (list []string) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, path)
			}
			return err
		})
		return list
	}
	old := filepath.Join(dir, "wazero-v0.0.1-amd64-linux")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	load()
	if _, err := os.Stat(old); cacheFolder() != "" && err == nil {
		t.Error("what another version left is still there")
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the cache has mode %v: %v", info.Mode(), err)
	}
	kept := files()
	if len(kept) == 0 {
		t.Fatal("nothing is kept")
	}
	load()
	if again := files(); len(again) != len(kept) {
		t.Errorf("%d files, then %d", len(kept), len(again))
	}
	for _, damage := range []string{"", "x", "WAZERO\x06garbage garbage garbage"} {
		for _, f := range files() {
			if err := os.WriteFile(f, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		load()
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	load()
}
