package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// verdictGuest is a module of a version that accepts everything or nothing.
func verdictGuest(t testing.TB, version string, accepts bool) []byte {
	g := newGuest().With(map[string]any{"version": version})
	if accepts {
		g.Filtering(func(c *wasmbin.Code) {
			c.LocalGet(2)
			c.I64Const(-1)
			c.Memory(wasmbin.I64Store, 3, 0)
			wasmtest.Count(c)
		})
	}
	return g.Build()
}

func trapGuest(t testing.TB) []byte {
	return newGuest().Filtering(func(c *wasmbin.Code) { c.Op(wasmbin.Unreachable) }).Build()
}

// world is a store in a directory that outlives it.
type storeWorld struct {
	t       testing.TB
	set     plugin.Settings
	factory *Factory
	change  func(*Config)
	*store
	renewals int
}

func newStoreWorld(t testing.TB, change ...func(*Config)) *storeWorld {
	w := &storeWorld{t: t, set: plugintest.Settings(t, Type), factory: NewFactory()}
	w.change = func(c *Config) {
		c.Push.Enabled = true
		for _, f := range change {
			f(c)
		}
	}
	w.start()
	t.Cleanup(func() { _ = w.Stop(context.Background()) })
	return w
}

// start makes a store, as a start of the broker does.
func (w *storeWorld) start() {
	w.t.Helper()
	c := defaultConfig()
	w.change(c)
	made, err := w.factory.NewCompiler(w.set, c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = made.(*store)
	w.OnRenew(func() { w.renewals++ })
	if err := w.Start(context.Background(), &plugintest.Host{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *storeWorld) restart() {
	w.t.Helper()
	if err := w.Stop(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

func part(name string, bin []byte) filter.ModulePart {
	hash := sha256.Sum256(bin)
	return filter.ModulePart{Name: name, SHA256: hex.EncodeToString(hash[:]), Size: int64(len(bin)), Data: bin}
}

// push pushes a module and returns which version it has become.
func (w *storeWorld) push(name string, bin []byte) string {
	w.t.Helper()
	_, info, err := w.PushModule(context.Background(), part(name, bin))
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%s@%d %s %s", info.Name, info.Number, info.Version, info.State)
}

func (w *storeWorld) compile(text string) *program {
	w.t.Helper()
	p, err := w.Compile(context.Background(), expr(text))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = p.Close() })
	return p.(*program)
}

// says returns what a program says of three messages, by its bits.
func (w *storeWorld) says(p *program) string {
	w.t.Helper()
	v, _ := match(w.t, p, messages(w.t, 3))
	switch {
	case countSet(v.Undecided) == 3:
		return "undecided: " + p.Fault().Error()
	case countSet(v.True) == 3:
		return "true"
	case countSet(v.True) == 0:
		return "false"
	}
	return "mixed"
}

func (w *storeWorld) expect(got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (w *storeWorld) refused(err error, want string) {
	w.t.Helper()
	if err == nil || err.Error() != want {
		w.t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestPushedModules pushes versions, goes back and forth between them, disables, removes, and starts anew in between.
func TestPushedModules(t *testing.T) {
	w := newStoreWorld(t)
	ctx := context.Background()
	yes, no := verdictGuest(t, "1.0.0", true), verdictGuest(t, "1.1.0", false)
	_, err := w.Compile(ctx, expr("fraud"))
	w.refused(err, `compile WASM expression: there is no such WASM module: "fraud"`)

	w.expect(w.push("fraud", yes), "fraud@1 1.0.0 current")
	old, pinned := w.compile("fraud"), w.compile("fraud@1")
	w.expect(w.says(old), "true")
	w.expect(w.push("fraud", no), "fraud@2 1.1.0 current")
	if !old.Stale() || pinned.Stale() || w.renewals != 2 {
		t.Errorf("stale: %t, pinned: %t, after %d renewals", old.Stale(), pinned.Stale(), w.renewals)
	}
	w.expect(w.says(old), "true") // until it is replaced
	w.expect(w.says(w.compile("fraud@latest")), "false")
	w.expect(w.says(w.compile("fraud@1.0")), "true")
	w.expect(w.says(w.compile("sha256:"+part("", yes).SHA256)), "true")
	w.expect(w.push("fraud", no), "fraud@2 1.1.0 current") // the same bytes are the same version

	w.restart()
	current := w.compile("fraud")
	w.expect(w.says(current), "false")
	info, err := w.ActivateModule(ctx, "fraud", 0)
	if err != nil || info.Number != 1 || info.State != stateCurrent || !current.Stale() {
		t.Errorf("rolled back to %+v, %v", info, err)
	}
	w.restart()
	current = w.compile("fraud")
	w.expect(w.says(current), "true")

	if err := w.SwitchModule(ctx, "fraud", false); err != nil {
		t.Fatal(err)
	}
	w.expect(w.says(current), "undecided: WASM module fraud: the module is disabled")
	_, err = w.Compile(ctx, expr("fraud"))
	w.refused(err, "compile WASM expression: the module is disabled: fraud; enable it with weir plugin enable fraud")
	if err := w.SwitchModule(ctx, "fraud", true); err != nil {
		t.Fatal(err)
	}
	w.expect(w.says(current), "true")

	w.refused(w.RemoveModule(ctx, "fraud", 1),
		"the broker doesn't take in modules: fraud@1 is the current version; make another one current first (weir plugin rollback fraud)")
	w.refused(w.RemoveModule(ctx, "fraud", 7), "there is no such module: fraud@7")
	if err := w.RemoveModule(ctx, "fraud", 0); err != nil {
		t.Fatal(err)
	}
	w.expect(w.says(current), "undecided: WASM module fraud: the module has been removed")
	if current.Stale() {
		t.Error("a program of a removed module is stale, although there is nothing better")
	}
	w.expect(fmt.Sprint(w.files()), "[index.json]")
	w.expect(w.push("fraud", no), "fraud@1 1.1.0 current")
	if !current.Stale() {
		t.Error("a program of a removed module isn't stale when there is another one under the name")
	}
}

// files lists what lies in the directory of pushed modules, compiled code aside.
func (w *storeWorld) files() (list []string) {
	w.t.Helper()
	root := filepath.Join(w.set.DataDir, pushedFolder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "compiled") {
			list = append(list, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestPushRefusals pushes what must not get in. Nothing of it stays.
func TestPushRefusals(t *testing.T) {
	ctx := context.Background()
	good := verdictGuest(t, "1.0.0", true)
	t.Run("unless allowed", func(t *testing.T) {
		w := newStoreWorld(t, func(c *Config) { c.Push.Enabled = false })
		_, _, err := w.PushModule(ctx, part("fraud", good))
		w.refused(err, "the broker doesn't take in modules: set filters.wasm.push.enabled in broker.yaml to allow it")
		if !errors.Is(err, filter.ErrModuleRefused) {
			t.Error("the error has no meaning")
		}
		w.refused(w.RemoveModule(ctx, "fraud", 0), "the broker doesn't take in modules: set filters.wasm.push.enabled in broker.yaml to allow it")
	})
	t.Run("bad modules", func(t *testing.T) {
		w := newStoreWorld(t, func(c *Config) { c.Push.Modules, c.Limits.Size = 1, 4096 })
		w.names.reserve("geo")
		failing := newGuest().With(map[string]any{"tests": []map[string]any{{"want": "true"}}}).Build()
		broken := part("fraud", good)
		broken.SHA256 = strings.Repeat("0", 64)
		for _, x := range []struct {
			part filter.ModulePart
			want string
		}{
			{part("geo", good), "the broker doesn't take in modules: broker.yaml declares a module geo; push under another name"},
			{part("Geo", good), `the module's manifest is missing or wrong: the name "Geo": want lower case letters, digits, _ . and -`},
			{part("fraud", failing), "push WASM module fraud: a test of the module's manifest fails: the message is false, want true"},
			{part("fraud", []byte("no module")), "push WASM module fraud: the module isn't valid WebAssembly 2.0: at byte 0: no WebAssembly module: it begins with neither the magic number nor version 1"},
			{part("fraud", make([]byte, 4097)), "the module exceeds a limit: it has 4097 bytes; filters.wasm.limits.size allows 4KiB"},
			{filter.ModulePart{Name: "fraud", SHA256: "x", Size: 1}, `the module isn't the one that sha256 pins: "x" is no SHA-256`},
			{broken, "the module isn't the one that sha256 pins: what arrived has " + part("", good).SHA256 + "; push it again"},
		} {
			_, _, err := w.PushModule(ctx, x.part)
			w.refused(err, x.want)
		}
		if _, err := os.Stat(filepath.Join(w.set.DataDir, pushedFolder, indexFile)); err == nil || len(w.reports) > 0 {
			t.Error("something was kept of what was refused")
		}
		w.expect(w.push("fraud", good), "fraud@1 1.0.0 current")
		_, _, err := w.PushModule(ctx, part("other", verdictGuest(t, "1.0.1", true)))
		w.refused(err, "the module exceeds a limit: there are 1 modules, filters.wasm.push.modules allows no more; remove one")
	})
	t.Run("configured wrongly", func(t *testing.T) {
		c := defaultConfig()
		c.Push.Enabled, c.Path = true, "x.wasm"
		_, err := NewFactory().NewCompiler(plugintest.Settings(t, Type), c)
		if err == nil || !strings.Contains(err.Error(), "modules are pushed to the instance without a name and a path") {
			t.Error(err)
		}
	})
}

// TestVersionsAreBounded pushes more versions than are kept: the oldest goes that nobody needs.
func TestVersionsAreBounded(t *testing.T) {
	w := newStoreWorld(t, func(c *Config) { c.Push.Versions = 4 })
	for i := range 2 {
		w.push("fraud", verdictGuest(t, fmt.Sprintf("1.%d.0", i), true))
	}
	used := w.compile("fraud@1")
	for i := range 3 {
		w.push("fraud", verdictGuest(t, fmt.Sprintf("2.%d.0", i), true))
	}
	var numbers []int
	for _, x := range w.ModuleInfos() {
		numbers = append(numbers, x.Number)
	}
	w.expect(fmt.Sprint(numbers, len(w.files())), "[1 3 4 5] 5")
	w.expect(w.says(used), "true")
	_ = used.Close()
	w.push("fraud", verdictGuest(t, "3.0.0", true))
	w.expect(fmt.Sprint(w.ModuleInfos()[0].Number), "3")
}

// TestUpload pushes a module in parts: out of order, again, and after another sender has given up.
func TestUpload(t *testing.T) {
	w := newStoreWorld(t)
	ctx := context.Background()
	bin := verdictGuest(t, "1.0.0", true)
	send := func(from, to int) string {
		p := part("fraud", bin)
		p.Offset, p.Data = int64(from), bin[from:to]
		received, info, err := w.PushModule(ctx, p)
		return fmt.Sprint(received, info != nil, err)
	}
	w.expect(send(100, 200), "0 false <nil>")
	w.expect(send(0, 100), "100 false <nil>")
	w.expect(send(50, 150), "100 false <nil>")
	w.expect(send(0, 90), "90 false <nil>")
	w.expect(send(90, len(bin)), fmt.Sprint(len(bin), " true <nil>"))
	w.expect(fmt.Sprint(len(w.uploads.list)), "0")
	for i := range uploadsMax {
		p := part("fraud", verdictGuest(t, fmt.Sprintf("1.0.%d", i), false))
		p.Data = p.Data[:1]
		if _, _, err := w.PushModule(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := w.PushModule(ctx, part("fraud", verdictGuest(t, "9.0.0", false)))
	w.refused(err, "the broker doesn't take in modules: 4 uploads are under way; try again in a minute")
}

// TestShadow has a version judge beside the current one: nothing changes but the figures.
func TestShadow(t *testing.T) {
	w := newStoreWorld(t)
	ctx := context.Background()
	w.push("fraud", verdictGuest(t, "1.0.0", true))
	before := w.compile("fraud")
	shadow := func(bin []byte) {
		t.Helper()
		p := part("fraud", bin)
		p.Shadow = true
		if _, _, err := w.PushModule(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	shadow(verdictGuest(t, "2.0.0", false))
	if !before.Stale() {
		t.Error("nothing has changed")
	}
	p := w.compile("fraud")
	if p.Key() != before.Key() || len(p.ModuleRefs()) != 2 {
		t.Errorf("key %s was %s, modules %v", p.Key(), before.Key(), p.ModuleRefs())
	}
	w.expect(w.says(p), "true")
	infos := w.ModuleInfos()
	w.expect(fmt.Sprintf("%s %+v", infos[1].State, infos[1].Shadow), "shadow {Compared:3 OnlyCurrent:3 OnlyShadow:0 Failed:0}")
	lines, _ := w.ModuleLog("fraud")
	w.expect(lines[len(lines)-1].Text[:56], "as a shadow it says false, the current version true: mes")
	shadow(trapGuest(t))
	w.expect(w.says(w.compile("fraud")), "true")
	infos = w.ModuleInfos()
	w.expect(fmt.Sprintf("%s %s %+v", infos[1].State, infos[2].State, infos[2].Shadow), "stored shadow {Compared:0 OnlyCurrent:0 OnlyShadow:0 Failed:3}")
	if _, err := w.ActivateModule(ctx, "fraud", 2); err != nil {
		t.Fatal(err)
	}
	w.expect(w.says(w.compile("fraud")), "false")
}

// TestIndexDamage starts with an index that can't be read, with files that nothing names, and without a module's file.
func TestIndexDamage(t *testing.T) {
	w := newStoreWorld(t)
	w.push("fraud", verdictGuest(t, "1.0.0", true))
	root := filepath.Join(w.set.DataDir, pushedFolder)
	stray := filepath.Join(root, modulesFolder, "ab", "ab.wasm.new")
	if err := os.MkdirAll(filepath.Dir(stray), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stray, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder(root).module(part("", verdictGuest(t, "1.0.0", true)).SHA256)); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.expect(fmt.Sprint(w.files()), "[index.json]")
	w.expect(w.ModuleInfos()[0].State, "broken")
	_, err := w.Compile(context.Background(), expr("fraud"))
	w.refused(err, "compile WASM expression: load WASM module fraud@1: the module isn't the one that sha256 pins: its file is gone; push it again")
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"modules":[{"name":"x","last":1,"current":1}]}`, `{"version":1,"modules":[null]}`} {
		if _, err := decodeIndex([]byte(text)); err == nil {
			t.Errorf("%q is an index", text)
		}
	}
}

// FuzzIndex looks for an index that makes the reader panic, or that it doesn't write as it has read it.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"version":1,"modules":[{"name":"x","last":2,"current":1,"versions":[{"number":1,"sha256":"` + strings.Repeat("ab", 32) + `"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := decodeIndex(data)
		if err != nil {
			return
		}
		dir := folder(t.TempDir())
		if err := dir.writeIndex(x); err != nil {
			t.Fatal(err)
		}
		if _, err := dir.readIndex(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestReloadsLeaveNothing goes back and forth between two versions, with a program that follows. Afterwards there is one
// module, and the heap is as large as it was.
func TestReloadsLeaveNothing(t *testing.T) {
	rounds := 1000
	if testing.Short() || raceEnabled {
		rounds = 100
	}
	w := newStoreWorld(t)
	ctx := context.Background()
	w.push("fraud", verdictGuest(t, "1.0.0", true))
	w.push("fraud", verdictGuest(t, "2.0.0", false))
	p, err := w.Compile(ctx, expr("fraud"))
	if err != nil {
		t.Fatal(err)
	}
	turn := func() {
		if _, err := w.ActivateModule(ctx, "fraud", 0); err != nil {
			t.Fatal(err)
		}
		next, err := w.Compile(ctx, expr("fraud"))
		if err != nil || !p.(*program).Stale() {
			t.Fatal(err)
		}
		match(t, next.(*program), messages(t, 3))
		_ = p.Close()
		p = next
	}
	for range 20 {
		turn()
	}
	base := heap()
	for range rounds {
		turn()
	}
	if grown := heap() - base; grown > 2<<20 {
		t.Errorf("the heap has grown by %d bytes in %d reloads", grown, rounds)
	}
	if len(w.loaded) != 1 {
		t.Errorf("%d modules are loaded", len(w.loaded))
	}
	info := w.ModuleInfos()
	if n := info[0].Programs + info[1].Programs; n != 1 {
		t.Errorf("there are %d programs", n)
	}
	_ = p.Close()
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestReloadDeclared changes the file of a declared module.
func TestReloadDeclared(t *testing.T) {
	c, err := open(t, verdictGuest(t, "1.0.0", true), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	renewed := 0
	c.OnRenew(func() { renewed++ })
	p, err := c.Compile(ctx, expr("guest"))
	if err != nil {
		t.Fatal(err)
	}
	reload := func(bin []byte) (bool, error) {
		t.Helper()
		if err := os.WriteFile(c.cfg.Path, bin, 0o600); err != nil {
			t.Fatal(err)
		}
		return c.ReloadModule(ctx, "guest")
	}
	if changed, err := reload(verdictGuest(t, "1.0.0", true)); changed || err != nil || p.(*program).Stale() {
		t.Error("the same file is another module", err)
	}
	if changed, err := reload([]byte("nonsense")); changed || !errors.Is(err, ErrMalformed) || p.(*program).Stale() {
		t.Error("nonsense is a module", err)
	}
	first, _ := c.running()
	if changed, err := reload(verdictGuest(t, "1.1.0", false)); !changed || err != nil || !p.(*program).Stale() || renewed != 1 {
		t.Error("the file was not loaded anew", err, renewed)
	}
	if n := first.life.refs.Load(); n != 1 {
		t.Errorf("%d users of the old module, want the program", n)
	}
	_ = p.Close()
	if n := first.life.refs.Load(); n != 0 {
		t.Errorf("%d users of the old module are left", n)
	}
	if _, err := c.ReloadModule(ctx, "other"); !errors.Is(err, filter.ErrNoModule) {
		t.Error(err)
	}
}
