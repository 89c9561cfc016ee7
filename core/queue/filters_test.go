package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/internal/vfs"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// sqlCompiler stands in for an SQL92 plugin. Texts that begin with "bad" don't compile, and RocketMQ doesn't know what
// begins with "own".
type sqlCompiler struct {
	plugin.Component
	mu       sync.Mutex
	programs []*sqlProgram
}

func (c *sqlCompiler) ExpressionTypes() []string { return []string{filter.TypeSQL92} }
func (c *sqlCompiler) Compile(_ context.Context, e filter.Expression) (filter.Program, error) {
	if strings.HasPrefix(e.Text, "bad") {
		return nil, errors.New("bad is no condition")
	}
	p := &sqlProgram{text: e.Text}
	c.mu.Lock()
	c.programs = append(c.programs, p)
	c.mu.Unlock()
	return p, nil
}

type sqlProgram struct {
	bodyProgram
	text   string
	closed bool
}

func (p *sqlProgram) Dialect() string { return "test" }
func (p *sqlProgram) RocketMQ() bool  { return !strings.HasPrefix(p.text, "own") }
func (p *sqlProgram) Close() error    { p.closed = true; return nil }

// sqlWorld is a world with an SQL92 plugin, and without a cache of programs so that those nobody uses are closed.
func sqlWorld(t testing.TB, change func(*Config)) (*world, *sqlCompiler) {
	c := &sqlCompiler{}
	w := newWorld(t, func(cfg *Config) {
		cfg.ProgramsMax = 0
		if change != nil {
			change(cfg)
		}
	})
	w.programs.compilers.(CompilerMap)[filter.TypeSQL92] = c
	w.topic("T", 1)
	w.topic("U", 1)
	return w, c
}

func sqlSub(topic, text string, version int64) transport.Subscription {
	return transport.Subscription{Topic: topic, Expression: filter.Expression{Type: filter.TypeSQL92, Text: text}, Version: version}
}

// describeFilter is text@version, with a † if it is dead, ! if it doesn't compile, and the time of its birth.
func describeFilter(fs *Filters, topic, group string) string {
	f, ok := fs.get(topic, group)
	if !ok {
		return "none"
	}
	f.prog.release()
	s := fmt.Sprintf("%s@%d+%d", f.expr.Text, f.version, f.born-testStart.UnixMilli())
	if f.dead() {
		s += "†"
	}
	if f.fault != nil {
		s += "!"
	}
	return s
}

// TestFilterRegistration follows one group through RocketMQ's rules. Each step comes a second after the one before.
func TestFilterRegistration(t *testing.T) {
	w, c := sqlWorld(t, nil)
	one, two := session(1), session(2)
	say := func(s *fakeSession, subs ...transport.Subscription) func() {
		return func() { w.heartbeat(t, s, s.remote.String(), consumer("g", subs...)) }
	}
	leave := func(s *fakeSession) func() { return func() { w.clients.Unregister(s, "", "g") } }
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"first", say(one, sqlSub("T", "a = 1", 10)), "a = 1@10+0"},
		{"again", say(one, sqlSub("T", "a = 1", 10)), "a = 1@10+0"},
		{"same text, newer", say(one, sqlSub("T", "a = 1", 11)), "a = 1@11+0"},
		{"other text, same version", say(two, sqlSub("T", "a = 2", 11)), "a = 1@11+0"},
		{"other text, older", say(two, sqlSub("T", "a = 2", 5)), "a = 1@11+0"},
		{"other text, newer", say(two, sqlSub("T", "a = 2", 12)), "a = 2@12+5000"},
		{"newer, but wrong", say(two, sqlSub("T", "bad", 13)), "none"},
		{"right again", say(two, sqlSub("T", "a = 3", 14)), "a = 3@14+7000"},
		{"one member leaves", leave(one), "a = 3@14+7000"},
		{"topic dropped", say(two, sqlSub("U", "x", 14)), "a = 3@14+7000†"},
		{"topic back, same version", say(two, sqlSub("T", "a = 3", 14)), "a = 3@14+7000"},
		{"last member leaves", leave(two), "a = 3@14+7000†"},
		{"back with an older version", say(one, sqlSub("T", "a = 4", 13)), "a = 3@14+7000†"},
		{"back with the same version and another text", say(one, sqlSub("T", "a = 4", 14)), "a = 3@14+7000"},
		{"connection lost", func() { w.clients.SessionClosed(one) }, "a = 3@14+7000†"},
		{"back with a newer version", say(one, sqlSub("T", "a = 3", 20)), "a = 3@20+7000"},
		{"tags instead", say(one, sub("T", "A")), "a = 3@20+7000"},
		{"empty", say(two, sqlSub("T", "", 99)), "a = 3@20+7000"},
		{"silent", func() { w.clock.Advance(200 * time.Second); w.clients.Expire() }, "a = 3@20+7000†"},
	}
	for _, s := range steps {
		s.do()
		if got := describeFilter(w.filters, "T", "g"); got != s.want {
			t.Fatalf("%s: %s, want %s", s.name, got, s.want)
		}
		w.clock.Advance(time.Second)
	}
	if n := w.filters.Len(); n != 2 {
		t.Errorf("%d filters, want 2", n)
	}
	if err := w.filters.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.programs {
		if !p.closed {
			t.Errorf("%q is still open", p.text)
		}
	}
}

// TestFilterRetention: a dead filter stays for a day, and makes way earlier when there are too many.
func TestFilterRetention(t *testing.T) {
	w, _ := sqlWorld(t, func(c *Config) { c.FiltersMax = 2 })
	for i, group := range []string{"g1", "g2"} {
		w.heartbeat(t, session(i), group, consumer(group, sqlSub("T", "a", 1)))
	}
	w.heartbeat(t, session(3), "g3", consumer("g3", sqlSub("T", "a", 1)))
	if got := describeFilter(w.filters, "T", "g3"); got != "none" {
		t.Errorf("over the limit: %s", got)
	}
	w.clients.Unregister(session(1), "", "g2") // another session value: nobody leaves
	s := session(9)
	w.heartbeat(t, s, "g2 too", consumer("g2", sqlSub("T", "a", 1)))
	w.filters.Unregister("g2")
	w.heartbeat(t, session(3), "g3", consumer("g3", sqlSub("T", "a", 1)))
	if got := describeFilter(w.filters, "T", "g2") + " " + describeFilter(w.filters, "T", "g3"); got != "none a@1+0" {
		t.Errorf("the dead one didn't make way: %s", got)
	}
	w.filters.Unregister("g3")
	w.clock.Advance(24*time.Hour - time.Millisecond)
	w.filters.Clean()
	if got := describeFilter(w.filters, "T", "g3"); got != "a@1+0†" {
		t.Errorf("just before a day: %s", got)
	}
	w.clock.Advance(time.Millisecond)
	w.filters.Clean()
	if got := describeFilter(w.filters, "T", "g3") + " " + describeFilter(w.filters, "T", "g1"); got != "none a@1+0" {
		t.Errorf("after a day: %s", got)
	}
}

// TestFilterPullCodes are RocketMQ's answers to pulls that rely on the registered filter.
func TestFilterPullCodes(t *testing.T) {
	w, _ := sqlWorld(t, nil)
	w.groups.set(plainGroup("g"))
	s := session(1)
	pull := func(version int64) (message.Code, string) {
		t.Helper()
		r := &transport.Pull{Caller: transport.Caller{Session: s}, Group: "g", Topic: "T", MaxNum: 32, SubVersion: version}
		reply := &pulled{}
		r.Reply = reply
		w.pulls.Pull(context.Background(), r)
		return r.Code, r.Remark
	}
	check := func(name string, version int64, code message.Code, remark string) {
		t.Helper()
		if c, text := pull(version); c != code || !strings.Contains(text, remark) {
			t.Errorf("%s: %d %s, want %d %s", name, c, text, code, remark)
		}
	}
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "a = 1", 10)))
	check("good", 10, message.PullNotFound, "")
	check("older pull", 9, message.PullNotFound, "")
	check("newer pull", 11, message.SubscriptionNotLatest, "not latest")
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "bad", 12)))
	check("wrong text", 12, message.FilterDataNotExist, "The broker's consumer filter data is not exist!Your expression may be wrong! parse the consumer's subscription failed: bad is no condition")
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "a = 2", 20)))
	w.clients.Unregister(s, "", "g")
	// Another process of the group, whose clock is behind: the group's subscription is its own, the filter the old one.
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "a = 3", 15)))
	check("behind the registered filter", 15, message.PullNotFound, "")
	w.filters.mu.Lock()
	old := *w.filters.groups["g"]["T"]
	old.version = 14
	w.filters.putLocked(&old)
	w.filters.mu.Unlock()
	check("ahead of the registered filter", 15, message.FilterDataNotLatest, "not latest")
}

type pulled struct{}

func (*pulled) PullDone(*transport.Pull) {}

// TestFilterFiles: what is saved comes back, dead, in RocketMQ's file or in ours.
func TestFilterFiles(t *testing.T) {
	w, _ := sqlWorld(t, nil)
	s := session(1)
	w.heartbeat(t, s, "c", consumer("g", sqlSub("T", "a = 1", 10), sqlSub("U", "own", 11)))
	if err := w.filters.Save(); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(w.fs, "/store/config/consumerFilter.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
	"filterDataByTopic":{
		"T":{
			"groupFilterData":{
				"g":{
					"bloomFilterData":{
						"bitNum":112,
						"bitPos":[6,78,37]
					},
					"bornTime":1700000000000,
					"clientVersion":10,
					"consumerGroup":"g",
					"dead":false,
					"deadTime":0,
					"expression":"a = 1",
					"expressionType":"SQL92",
					"topic":"T"
				}
			},
			"topic":"T"
		}
	}
}`
	if got := string(data); strings.ReplaceAll(got, bitPos(got), "") != strings.ReplaceAll(want, bitPos(want), "") {
		t.Errorf("Java's file:\n%s", data)
	}
	own, err := vfs.ReadFile(w.fs, "/store/weir/filters.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"version":1,"filters":[{"group":"g","topic":"U","type":"SQL92","expression":"own","dialect":"test","client_version":11,"born":1700000000000,"died":0}]}`; string(own) != want {
		t.Errorf("our file:\n%s", own)
	}
	w.clock.Advance(time.Hour)
	again := newFilters(w, DefaultConfig())
	if err := again.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := describeFilter(again, "T", "g") + " " + describeFilter(again, "U", "g"); got != "a = 1@10+0† own@11+0†" {
		t.Errorf("loaded: %s", got)
	}
	f, _ := again.get("T", "g")
	if f.died != w.clock.Now().UnixMilli()-30_000 {
		t.Errorf("died at %d", f.died)
	}
	f.prog.release()
}

// bitPos cuts out the positions, which TestBloomPositions checks.
func bitPos(s string) string {
	_, rest, _ := strings.Cut(s, `"bitPos":`)
	list, _, _ := strings.Cut(rest, "\n")
	return list
}

// TestFilterFileOfJava reads a file that a Java broker wrote, and writes the same one.
func TestFilterFileOfJava(t *testing.T) {
	data, err := os.ReadFile("testdata/consumerFilter.json")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := sqlWorld(t, nil)
	if err := vfs.WriteFileAtomic(w.fs, mkdir(t, w, "/store/config/consumerFilter.json"), data); err != nil {
		t.Fatal(err)
	}
	if err := w.filters.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if w.filters.Len() != 3 {
		t.Fatalf("%d filters, want 3", w.filters.Len())
	}
	w.filters.dirty = true
	if err := w.filters.Save(); err != nil {
		t.Fatal(err)
	}
	got, err := vfs.ReadFile(w.fs, "/store/config/consumerFilter.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := sortedLines(data), sortedLines(got); !slices.Equal(a, b) {
		t.Errorf("written anew:\n%s", got)
	}
	if found, err := vfs.Exists(w.fs, "/store/weir/filters.json"); found || err != nil {
		t.Errorf("an empty file of ours was made: %v", err)
	}
}

// sortedLines makes files comparable whose maps are in another order.
func sortedLines(data []byte) []string {
	list := strings.Split(strings.ReplaceAll(string(data), ",\n", "\n"), "\n")
	slices.Sort(list)
	return list
}

func mkdir(t *testing.T, w *world, path string) string {
	if err := w.fs.MkdirAll(path[:strings.LastIndexByte(path, '/')]); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilterFileTolerance: one bad entry, another size of the Bloom bitmap, an unknown type or a text that doesn't compile
// cost nobody else's filter, and aren't lost when the file is written anew.
func TestFilterFileTolerance(t *testing.T) {
	const file = `{"filterDataByTopic":{
"T":{"groupFilterData":{
 "good":{"bloomFilterData":{"bitNum":216,"bitPos":[1,2,3]},"bornTime":5,"clientVersion":1,"consumerGroup":"good","deadTime":0,"expression":"a","expressionType":"SQL92","topic":"T"},
 "more":{"bloomFilterData":{"bitNum":216,"bitPos":[4,5,6]},"bornTime":5,"clientVersion":1,"consumerGroup":"more","deadTime":9,"expression":"b","expressionType":"SQL92","topic":"T"},
 "otherSize":{"bloomFilterData":{"bitNum":112,"bitPos":[1,2,3]},"bornTime":5,"clientVersion":1,"expression":"c","expressionType":"SQL92"},
 "noBloom":{"bornTime":5,"clientVersion":1,"expression":"d","expressionType":"SQL92","someday":{"x":[1]}},
 "wrong":{"bornTime":5,"clientVersion":1,"expression":"bad text","expressionType":"SQL92"},
 "unknown":{"bornTime":5,"clientVersion":1,"expression":"x","expressionType":"XPATH"},
 "empty":{"bornTime":5,"clientVersion":1,"expressionType":"SQL92"},
 "null":null},"topic":"T"},
"U":{"groupFilterData":{}}}}`
	w, _ := sqlWorld(t, nil)
	if err := vfs.WriteFileAtomic(w.fs, mkdir(t, w, "/store/config/consumerFilter.json"), []byte(file)); err != nil {
		t.Fatal(err)
	}
	if err := w.filters.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"good": "a", "more": "b", "otherSize": "c", "noBloom": "d", "wrong": "bad text", "unknown": "x"} {
		if got := describeFilter(w.filters, "T", group); !strings.HasPrefix(got, want+"@1") || strings.HasSuffix(got, "!") != (group == "wrong" || group == "unknown") {
			t.Errorf("%s: %s", group, got)
		}
	}
	w.heartbeat(t, session(1), "c", consumer("new", sqlSub("T", "e", 1)))
	if err := w.filters.Save(); err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(w.fs, "/store/config/consumerFilter.json", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var saved filtersFile
	if err := fastjson.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	if n := len(saved.Topics["T"].Groups); n != 7 {
		t.Errorf("%d filters were saved, want 7", n)
	}
	for group, f := range saved.Topics["T"].Groups {
		// Java drops the whole file if one filter's bits aren't of its size.
		if f.Bloom.Bits != 216 || len(f.Bloom.Probes) != 3 {
			t.Errorf("%s: Bloom bits %+v", group, f.Bloom)
		}
	}
	if got := saved.Topics["T"].Groups["more"].Bloom.Probes; !slices.Equal(got, []int32{4, 5, 6}) {
		t.Errorf("the bits of more have changed: %v", got)
	}
}

// TestFilterFileDamaged: the backup is used, and without one the broker says so instead of starting without filters.
func TestFilterFileDamaged(t *testing.T) {
	for _, path := range []string{"/store/config/consumerFilter.json", "/store/weir/filters.json"} {
		w, _ := sqlWorld(t, nil)
		if err := vfs.WriteFileAtomic(w.fs, mkdir(t, w, path), []byte(`{"filterDataByTopic":{"T`)); err != nil {
			t.Fatal(err)
		}
		if err := w.filters.Load(context.Background()); err == nil || !strings.Contains(err.Error(), "load filters: ") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	w, _ := sqlWorld(t, nil)
	if err := vfs.WriteFileAtomic(w.fs, mkdir(t, w, "/store/weir/filters.json"), []byte(`{"version":2}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.filters.Load(context.Background()); err == nil || !strings.Contains(err.Error(), "has version 2, this broker knows up to 1") {
		t.Error(err)
	}
}

// TestFiltersHammer registers, finds, kills and saves from many goroutines. Nobody may get a closed program, and none
// may be left open at the end.
func TestFiltersHammer(t *testing.T) {
	w, c := sqlWorld(t, func(cfg *Config) { cfg.FiltersMax = 6 })
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 500 {
				group := fmt.Sprint("g", (n+i)%8)
				w.filters.Register(context.Background(), group, []transport.Subscription{sqlSub("T", fmt.Sprint("a = ", i%5), int64(i))})
				if f, ok := w.filters.get("T", group); ok {
					if f.prog.Program.(*sqlProgram).closed {
						t.Error("a closed program was found")
					}
					f.prog.release()
				}
				if i%7 == 0 {
					w.filters.Unregister(group)
				}
				if i%50 == 0 {
					w.filters.Clean()
					if err := w.filters.Save(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := w.filters.Len(); n > 6 {
		t.Errorf("%d filters, at most 6 are allowed", n)
	}
	if err := w.filters.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.programs {
		if !p.closed {
			t.Errorf("%q is still open", p.text)
		}
	}
}

// TestFilterShown: operators who look at a queue for a group see its filter.
func TestFilterShown(t *testing.T) {
	w, _ := sqlWorld(t, nil)
	w.heartbeat(t, session(1), "c", consumer("g", sqlSub("T", "a = 1", 10)), consumer("h", sub("T", "*")))
	w.log.send("T", 0, "A", "x")
	p := newProgress(w)
	for group, want := range map[string]string{"g": "\n\t\"expression\":\"a = 1\",\n\t\"expressionType\":\"SQL92\",\n", "h": "null"} {
		e, err := p.QueueEntries(message.QueueKey{Topic: "T"}, 0, 1, group)
		if err != nil || !strings.Contains(e.FilterData, want) {
			t.Errorf("%s: %q, %v", group, e.FilterData, err)
		}
	}
}
