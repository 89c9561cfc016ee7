package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

// outcomes is a program that has an outcome for each message of one batch, which are numbered by their tags codes: t, f, u, r, ? undecided or ! poison.
type outcomes struct {
	filter.Program
	text  string
	index string // what the index says: f rules out
	final bool
	drop  bool
}

func (o *outcomes) Key() filter.Key     { return filter.Key{byte(len(o.text)), o.text[0]} }
func (o *outcomes) Needs() filter.Needs { return filter.Needs{Record: !o.final} }
func (o *outcomes) Pure() bool          { return true }
func (o *outcomes) Close() error        { return nil }
func (o *outcomes) OnPoison() filter.FailureAction {
	if o.drop {
		return filter.Drop
	}
	return filter.Pass
}
func (o *outcomes) OnFault() filter.FailureAction { return o.OnPoison() }

func (o *outcomes) MatchIndex(codes []int64, keep []uint64) bool {
	for i, c := range codes {
		if o.index[c] == 'f' {
			filter.ClearBit(keep, i)
		}
	}
	return o.final
}

func (o *outcomes) Match(_ context.Context, b *filter.Batch, v *filter.Verdicts) error {
	for i, c := range b.TagsCodes {
		switch o.text[c] {
		case 't':
			filter.SetBit(v.True, i)
		case 'u':
			filter.SetBit(v.Unknown, i)
		case 'r':
			filter.SetBit(v.Raise, i)
		case '!':
			filter.SetBit(v.Poison, i)
			fallthrough
		case '?':
			filter.SetBit(v.Undecided, i)
		}
	}
	return nil
}

// TestJoined joins programs with random outcomes: a message is accepted when all accept it, and undecided when none decides against it and one can't tell.
func TestJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int, of string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = of[r.IntN(len(of))]
		}
		return string(b)
	}
	for range 2000 {
		n := 1 + r.IntN(200)
		var members []*program
		var texts []string
		for range 1 + r.IntN(3) {
			o := &outcomes{text: random(n, "tttfur?!"), index: strings.Repeat("t", n)}
			p := &program{Program: o, needs: o.Needs(), key: o.Key(), log: quiet(), foreign: r.IntN(3) == 0, kept: r.IntN(2) == 0}
			p.refs.Store(1)
			members, texts = append(members, p), append(texts, o.text)
		}
		j := newJoined(members)
		b := &filter.Batch{}
		for i := range n {
			b.TagsCodes = append(b.TagsCodes, int64(i))
		}
		var v filter.Verdicts
		v.Reset(n)
		if err := j.Match(context.Background(), b, &v); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			is := map[byte]bool{}
			for _, text := range texts {
				is[text[i]] = true
			}
			want := "not"
			switch {
			case is['f'] || is['u'] || is['r']:
			case is['?'] || is['!']:
				want = "undecided"
			default:
				want = "true"
			}
			got := "not"
			if filter.HasBit(v.True, i) {
				got = "true"
			} else if filter.HasBit(v.Undecided, i) {
				got = "undecided"
			}
			if got != want || filter.HasBit(v.Poison, i) && (!filter.HasBit(v.Undecided, i) || !is['!']) {
				t.Fatalf("message %d of %q is %s, want %s", i, texts, got, want)
			}
		}
	}
}

func TestJoinedIndex(t *testing.T) {
	a := &outcomes{text: "tttt", index: "tftf", final: true, drop: true}
	b := &outcomes{text: "uttt", index: "ttff", drop: true}
	of := func(list ...*outcomes) *joined {
		var members []*program
		for _, o := range list {
			p := &program{Program: o, index: o, needs: o.Needs(), key: o.Key(), log: quiet()}
			p.refs.Store(1)
			members = append(members, p)
		}
		return newJoined(members)
	}
	keep := []uint64{0xF}
	if final := of(a, b).MatchIndex([]int64{0, 1, 2, 3}, keep); final || keep[0] != 1 {
		t.Errorf("final %v, keeps %b", final, keep[0])
	}
	keep[0] = 0xF
	if final := of(a, a).MatchIndex([]int64{0, 1, 2, 3}, keep); !final || keep[0] != 5 {
		t.Errorf("final %v, keeps %b", final, keep[0])
	}
	if got := of(a, b).OnFault(); got != filter.Drop {
		t.Errorf("all drop, and so should the joined: %v", got)
	}
	if got := of(a, &outcomes{text: "tttt", index: "tttt"}).OnPoison(); got != filter.Hold {
		t.Errorf("what is passed without a mandatory filter is held with one: %v", got)
	}
	if of(a, b).Key() != of(b, a).Key() || of(a, b).Key() == of(a).Key() {
		t.Error("keys")
	}
}

func TestBindingApplies(t *testing.T) {
	for _, c := range []struct {
		b            Binding
		topic, group string
		want         bool
	}{
		{Binding{Topic: "T"}, "T", "g", true},
		{Binding{Topic: "T"}, "U", "g", false},
		{Binding{Topic: "T-*", Group: "g"}, "T-1", "g", true},
		{Binding{Topic: "T-*", Group: "g"}, "T-1", "h", false},
		{Binding{Group: "*-a"}, "T", "tenant-a", true},
		{Binding{Group: "*-a"}, "%RETRY%tenant-a", "tenant-a", false},
		{Binding{Topic: "*", Group: "tenant-a"}, "%DLQ%tenant-a", "tenant-a", false},
		{Binding{Topic: "%RETRY%*", Group: "*-a"}, "%RETRY%tenant-a", "tenant-a", true},
	} {
		if got := c.b.applies(c.topic, c.group); got != c.want {
			t.Errorf("%+v to %s of %s: %v", c.b, c.topic, c.group, got)
		}
	}
	for _, c := range []struct {
		b    Binding
		want string
	}{
		{Binding{Topic: "T"}, "bindings[0]: expression is missing"},
		{Binding{Expression: "x"}, "bindings[0]: names neither a topic nor a group"},
		{Binding{Topic: "a?", Expression: "x"}, `bindings[0]: "a?": only * is special`},
	} {
		if err := validateBindings([]Binding{c.b}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.b, err)
		}
	}
}

// bind makes the world's pulls obey bindings.
func (w *world) bind(t *testing.T, list ...Binding) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Bindings = list
	x, err := NewBindings(context.Background(), cfg, w.programs, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	w.pulls.set.Bindings = x
}

// TestBindings pulls what was sent in every way, and gets what both the client and the mandatory filters accept.
func TestBindings(t *testing.T) {
	w := newWorld(t, nil)
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	w.groups.set(plainGroup("free"))
	w.bind(t, Binding{Topic: "T", Group: "g*", Type: "HOLDS", Expression: "mine"}, Binding{Group: "g", Type: filter.TypeTag, Expression: "A || B"})
	for _, m := range []string{"A:mine 1", "A:theirs 2", "B:mine 3", "C:mine 4", ":mine 5", "B:theirs 6", "A:mine 7"} {
		tag, body, _ := strings.Cut(m, ":")
		w.log.send("T", 0, tag, body)
	}
	pull := func(group string, from int, e filter.Expression, own bool) *transport.Pull {
		var got replies
		r := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: group, Topic: "T", Offset: message.Offset(from), MaxNum: 32,
			HasSubscription: own, Expression: e}
		w.pulls.Pull(context.Background(), r)
		return got.take()[0]
	}
	w.heartbeat(t, session(1), "c1", consumer("g", sub("T", "B || C")))
	for _, c := range []struct {
		name, group string
		e           filter.Expression
		own         bool
		want        []string
	}{
		{"everything", "g", filter.Expression{Type: "TAG", Text: "*"}, true, []string{"mine 1", "mine 3", "mine 7"}},
		{"tags", "g", filter.Expression{Type: "TAG", Text: "B || C"}, true, []string{"mine 3"}},
		{"a filter of records", "g", filter.Expression{Type: "HOLDS", Text: "7"}, true, []string{"mine 7"}},
		{"what the group subscribes", "g", filter.Expression{}, false, []string{"mine 3"}},
		{"another group", "free", filter.Expression{Type: "TAG", Text: "A"}, true, []string{"mine 1", "theirs 2", "mine 7"}},
	} {
		p := pull(c.group, 0, c.e, c.own)
		if got := bodies(t, &p.Records); p.Code != message.Success || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %s: %q, want %q", c.name, p.Code, p.Remark, got, c.want)
		}
		p.Records.Release()
	}
	// A held pull isn't woken by what it may not see.
	var got replies
	r := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: "g", Topic: "T", Offset: 7, MaxNum: 32, HasSubscription: true,
		Expression: filter.Expression{Type: "TAG", Text: "*"}, Suspend: true, SuspendTimeout: 15e9}
	w.pulls.Pull(context.Background(), r)
	for _, m := range []string{"A:theirs 8", "C:mine 9"} {
		tag, body, _ := strings.Cut(m, ":")
		w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, tag, body)})
	}
	if list := got.take(); len(list) != 0 || w.pulls.Held() != 1 {
		t.Fatalf("%d answers, %d held", len(list), w.pulls.Held())
	}
	w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "A", "mine 10")})
	if list := got.take(); len(list) != 1 || fmt.Sprint(bodies(t, &list[0].Records)) != "[mine 10]" {
		t.Errorf("%d answers", len(list))
	} else {
		list[0].Records.Release()
	}
	if n := len(w.pulls.set.Bindings.joins); n != 3 {
		t.Errorf("%d programs were joined", n)
	}
	if n := len(w.pulls.set.Bindings.Of("T", "g")); n != 2 {
		t.Errorf("%d bindings apply", n)
	}
}

// failing compiles once, and from then on refuses; its programs are stale from the start.
type failing struct {
	bodyCompiler
	compiled *int
}

type staleProgram struct {
	filter.Program
	stale *int
}

func (p staleProgram) Stale() bool { return *p.stale > 0 }

func (f failing) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	if *f.compiled++; *f.compiled > 1 {
		return nil, errors.New("the module has gone")
	}
	p, err := f.bodyCompiler.Compile(ctx, e)
	return staleProgram{p, f.compiled}, err
}

// TestBindingsFailClosed refuses the pull when a mandatory filter can't be had any more, and the start when it can't be had at all.
func TestBindingsFailClosed(t *testing.T) {
	w := newWorld(t, nil)
	w.topic("T", 1)
	w.groups.set(plainGroup("g"))
	compiled := 0
	w.programs = NewPrograms(CompilerMap{filter.TypeTag: tagCompiler{}, "BODY": failing{compiled: &compiled}}, DefaultConfig(), quiet())
	w.bind(t, Binding{Topic: "T", Type: "BODY", Expression: "mine"})
	w.log.send("T", 0, "", "theirs")
	var got replies
	r := &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: "g", Topic: "T", MaxNum: 32, HasSubscription: true,
		Expression: filter.Expression{Type: "TAG", Text: "*"}}
	w.pulls.Pull(context.Background(), r)
	p := got.take()[0]
	if p.Code != message.SystemError || !strings.Contains(p.Remark, "a mandatory filter of this broker (queues.bindings) can't be asked now, so nothing is delivered") ||
		!strings.Contains(p.Remark, "the module has gone") || p.Records.Count != 0 {
		t.Errorf("%v %q, %d records", p.Code, p.Remark, p.Records.Count)
	}
	cfg := DefaultConfig()
	cfg.Bindings = []Binding{{Topic: "T", Type: "NONE", Expression: "x"}, {Topic: "T", Type: "BODY", Expression: "y"}}
	if _, err := NewBindings(context.Background(), cfg, w.programs, quiet()); err == nil || !strings.Contains(err.Error(), "queues.bindings[0]") ||
		!strings.Contains(err.Error(), "queues.bindings[1]") {
		t.Errorf("%v", err)
	}
}

// TestFilterSupportRetry filters a retry topic by what the group subscribes of the first topic.
func TestFilterSupportRetry(t *testing.T) {
	for _, on := range []bool{false, true} {
		w := newWorld(t, func(c *Config) { c.FilterSupportRetry = on })
		w.topic("%RETRY%g", 1)
		w.groups.set(plainGroup("g"))
		w.heartbeat(t, session(1), "c1", consumer("g", transport.Subscription{Topic: "T", Version: 1, Expression: filter.Expression{Type: "HOLDS", Text: "keep"}},
			sub("U", "A"), sub("%RETRY%g", "*")))
		for _, m := range []string{"T:keep 1", "T:drop 2", "U:drop 3", ":drop 4", "V:drop 5"} {
			topic, body, _ := strings.Cut(m, ":")
			var p message.Properties
			if topic != "" {
				p = message.AppendProperty(nil, message.PropRetryTopic, topic)
			}
			w.log.put(&message.Message{Topic: "%RETRY%g", Body: []byte(body), Properties: p}, 1)
		}
		var got replies
		w.pulls.Pull(context.Background(), &transport.Pull{Caller: transport.Caller{Session: session(1)}, Reply: &got, Group: "g", Topic: "%RETRY%g", MaxNum: 32})
		p := got.take()[0]
		want := []string{"keep 1", "drop 2", "drop 3", "drop 4", "drop 5"}
		if on {
			want = []string{"keep 1", "drop 3", "drop 4", "drop 5"}
		}
		if list := bodies(t, &p.Records); !slices.Equal(list, want) {
			t.Errorf("on %v: %v %q: %q, want %q", on, p.Code, p.Remark, list, want)
		}
		p.Records.Release()
	}
}
