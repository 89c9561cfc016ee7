package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// moduleCompiler compiles every text to a program of its current version, which accepts bodies that equal its number. Version
// 0 doesn't compile.
type moduleCompiler struct {
	plugin.Component
	version atomic.Int64
	mu      sync.Mutex
	made    []*moduleProgram
}

func (*moduleCompiler) ExpressionTypes() []string { return []string{"WASM"} }

func (c *moduleCompiler) Compile(context.Context, filter.Expression) (filter.Program, error) {
	v := c.version.Load()
	if v == 0 {
		return nil, errors.New("there is no such module")
	}
	p := &moduleProgram{compiler: c, version: v}
	p.want = fmt.Append(nil, v)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, p)
	return p, nil
}

// open lists the versions of the programs that aren't closed.
func (c *moduleCompiler) open() (versions []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.made {
		if !p.closed.Load() {
			versions = append(versions, p.version)
		}
	}
	return versions
}

type moduleProgram struct {
	bodyProgram
	compiler *moduleCompiler
	version  int64
	closed   atomic.Bool
}

func (p *moduleProgram) Close() error    { p.closed.Store(true); return nil }
func (p *moduleProgram) Key() filter.Key { return filter.Key{byte(p.version)} }
func (p *moduleProgram) Stale() bool {
	now := p.compiler.version.Load()
	return now != 0 && now != p.version
}
func (p *moduleProgram) ModuleRefs() []filter.ModuleRef {
	return []filter.ModuleRef{{Name: "m", Number: int(p.version), SHA256: fmt.Sprint("hash", p.version)}}
}

func moduleWorld(t testing.TB, version int64) (*world, *moduleCompiler) {
	c := &moduleCompiler{}
	c.version.Store(version)
	w := newWorld(t, nil)
	w.programs.compilers.(CompilerMap)["WASM"] = c
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	return w, c
}

func moduleSub(version int64) transport.Subscription {
	return transport.Subscription{Topic: "T", Expression: filter.Expression{Type: "WASM", Text: "m"}, Version: version}
}

// describeUses is expression, module, generation and whether it is live of each use.
func describeUses(fs *Filters) string {
	var out []string
	for _, u := range fs.ModuleUses() {
		out = append(out, fmt.Sprintf("%s/%s %s=%s@%d generation %d live %t", u.Group, u.Topic, u.Expression, u.Module.Name, u.Module.Number, u.Generation, u.Live))
	}
	return strings.Join(out, "; ")
}

// TestRenew has a module replaced under a group's filter and under pulls that bring their own expression: after Renew all are
// judged by the new one, held pulls are answered, and the old program is closed.
func TestRenew(t *testing.T) {
	w, c := moduleWorld(t, 1)
	ctx, s := context.Background(), session(1)
	w.heartbeat(t, s, "c", consumer("g", moduleSub(10)))
	for _, body := range []string{"1", "2", "3"} {
		w.log.send("T", 0, "", body)
	}
	pull := func(own bool) string {
		t.Helper()
		r := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: &pulled{}, Group: "g", Topic: "T", MaxNum: 32, SubVersion: 10}
		if own {
			r.HasSubscription, r.Expression = true, moduleSub(10).Expression
		}
		w.pulls.Pull(ctx, r)
		defer r.Records.Release()
		if r.Records.Count != 1 {
			return fmt.Sprint(r.Code, r.Records.Count)
		}
		rec, _, err := message.ViewRecord(r.Records.Chunks[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(rec.Body())
	}
	check := func(what, want string) {
		t.Helper()
		if got := pull(false) + " " + pull(true) + " " + fmt.Sprint(c.open()); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("before", "1 1 [1]")
	held := &counted{done: make(chan struct{})}
	w.pulls.Pull(ctx, &transport.Pull{Caller: transport.Caller{Session: s}, Reply: held, Group: "g", Topic: "T", Offset: 3, MaxNum: 8,
		Suspend: true, SuspendTimeout: time.Hour, SubVersion: 10})
	if w.pulls.Held() != 1 {
		t.Fatal("the pull isn't held")
	}
	c.version.Store(2)
	w.pulls.Renew(ctx)
	<-held.done
	check("after", "2 2 [2]")
	c.version.Store(0)
	w.pulls.Renew(ctx)
	check("without the module", "2 2 [2]")
	c.version.Store(3)
	w.heartbeat(t, s, "c", consumer("g", moduleSub(10))) // catches what nobody has announced
	check("after a heartbeat", "3 3 [3]")
	if got := describeUses(w.filters); got != "g/T m=m@3 generation 3 live true" {
		t.Error(got)
	}
}

// TestGenerations: which version a filter has run since when outlives the broker. A filter that didn't compile at the start
// comes back with its module.
func TestGenerations(t *testing.T) {
	w, c := moduleWorld(t, 1)
	ctx := context.Background()
	w.heartbeat(t, session(1), "c", consumer("g", moduleSub(10)))
	c.version.Store(2)
	w.log.send("T", 0, "", "x")
	w.pulls.Renew(ctx)
	if err := w.filters.Save(); err != nil {
		t.Fatal(err)
	}
	own, err := vfs.ReadFile(w.fs, "/store/weir/filters.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`"generation":{"number":2,"from":%d,"modules":[{"name":"m","number":2,"sha256":"hash2"}]}`, w.log.End())
	if !strings.Contains(string(own), want) {
		t.Errorf("%s\nwant %s", own, want)
	}
	load := func() *Filters {
		t.Helper()
		fs := newFilters(w, DefaultConfig())
		if err := fs.Load(ctx); err != nil {
			t.Fatal(err)
		}
		return fs
	}
	if got := describeUses(load()); got != "g/T m=m@2 generation 2 live false" {
		t.Error(got)
	}
	c.version.Store(0)
	w.programs.Close()
	w.programs.idleMax = 10
	fs := load()
	if got := describeFilter(fs, "T", "g"); got != "m@10+0†!" {
		t.Error(got)
	}
	c.version.Store(3)
	fs.Renew(ctx)
	if got := describeUses(fs) + ", " + describeFilter(fs, "T", "g"); got != "g/T m=m@3 generation 3 live false, m@10+0†" {
		t.Error(got)
	}
}

// TestHammerRenew replaces a module while pulls and messages come. Every pull is judged by one version alone, and at
// the end only the last program is open.
func TestHammerRenew(t *testing.T) {
	w, c := moduleWorld(t, 1)
	ctx := context.Background()
	w.heartbeat(t, session(1), "c", consumer("g", moduleSub(10)))
	for i := range 60 {
		w.log.send("T", 0, "", fmt.Sprint(1+i%3))
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for range 200 {
				r := &transport.Pull{Caller: transport.Caller{Session: session(10 + n)}, Reply: &pulled{}, Group: "g", Topic: "T", MaxNum: 32, SubVersion: 10}
				r.HasSubscription, r.Expression = n%2 == 0, moduleSub(10).Expression
				w.pulls.Pull(ctx, r)
				if r.Records.Count != 20 {
					t.Errorf("%d messages: %v %s", r.Records.Count, r.Code, r.Remark)
				}
				r.Records.Release()
			}
		})
	}
	for i := range 200 {
		c.version.Store(int64(1 + i%3))
		w.pulls.Renew(ctx)
	}
	wg.Wait()
	w.pulls.Renew(ctx)
	if open := c.open(); len(open) != 1 || open[0] != c.version.Load() {
		t.Errorf("programs of the versions %v are open", open)
	}
}
