// Package filtertest is the conformance suite of filter plugins: what core/filter promises to the queue, checked for any
// implementation. An implementation's test calls Run with expressions and the outcome that each message must have, and
// adds tests of its own language.
//
// From every case the suite derives more than is written: the same messages in batches of many sizes, judged from many
// goroutines, with the parts that Needs doesn't name cut away, with memory that is overwritten as soon as Match has
// returned, and through MatchIndex.
package filtertest

import (
	"context"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin/plugintest"
)

// Outcome is what a program says of a message.
type Outcome uint8

// The outcomes. False is the zero value.
const (
	False Outcome = iota
	True
	Unknown
	Raise
	Undecided
	several // more than one: always wrong
)

var outcomeNames = [...]string{"false", "true", "unknown", "raise", "undecided", "several outcomes at once"}

// String returns the outcome's name.
func (o Outcome) String() string { return outcomeNames[o] }

// Message is a message to be judged.
type Message struct {
	// Tag becomes the property TAGS and the tags code.
	Tag string
	// Properties are name, value, name, value and so on, in the order in which they are stored.
	Properties []string
	Body       []byte
	// ExtAddress puts an address of a ConsumeQueueExt file in the place of the tags code.
	ExtAddress bool
	// NoRecord gives the program no record, even if it asked for one.
	NoRecord bool
	Want     Outcome
}

// Case is an expression, and messages with their outcomes.
type Case struct {
	// Name names the subtest; the expression's text if it is empty.
	Name       string
	Expression filter.Expression
	Messages   []Message
	// Error is the text of the error that compiling gives; empty if the expression compiles.
	Error string
	// Warnings is how many warnings the program has.
	Warnings int
	// Impure says that the program isn't pure.
	Impure bool
	// SameKey names another case of the suite whose program must have the same key.
	SameKey string
}

// Suite is what Run needs to know of an implementation.
type Suite struct {
	Factory filter.Factory
	// Config is the configuration; nil for the default.
	Config any
	Cases  []Case
}

// Run checks s.
func Run(t *testing.T, s Suite) {
	t.Run("factory", func(t *testing.T) { plugintest.Factory(t, s.Factory) })
	t.Run("life cycle", func(t *testing.T) {
		plugintest.Lifecycle(t, s.compiler, func(t *testing.T, c filter.Compiler) {
			for _, x := range s.Cases {
				compile(t, c, x)
			}
		})
	})
	c := s.compiler(t)
	plugintest.Start(t, c)
	t.Run("expression types", func(t *testing.T) { checkTypes(t, c) })
	programs := map[string]filter.Program{}
	for _, x := range s.Cases {
		if x.Name == "" {
			x.Name = x.Expression.Text
		}
		t.Run(x.Name, func(t *testing.T) {
			p := compile(t, c, x)
			if p == nil {
				return
			}
			programs[x.Name] = p
			checkProgram(t, c, p, x)
		})
	}
	t.Run("keys", func(t *testing.T) { checkKeys(t, s.Cases, programs) })
	t.Run("bad expressions", func(t *testing.T) { checkBad(t, c) })
	for _, p := range programs {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func (s *Suite) compiler(t *testing.T) filter.Compiler {
	t.Helper()
	cfg := s.Config
	if cfg == nil {
		cfg = s.Factory.DefaultConfig()
	}
	c, err := s.Factory.NewCompiler(plugintest.Settings(t, s.Factory.Type()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkTypes(t *testing.T, c filter.Compiler) {
	types := c.ExpressionTypes()
	if len(types) == 0 {
		t.Error("the compiler serves no expression type")
	}
	seen := map[string]bool{}
	for _, typ := range types {
		if typ == "" || seen[typ] {
			t.Errorf("types %q: empty or twice", types)
		}
		seen[typ] = true
	}
}

// compile compiles x's expression and checks error and warnings. It returns nil when there is to be an error.
func compile(t *testing.T, c filter.Compiler, x Case) filter.Program {
	t.Helper()
	p, err := c.Compile(context.Background(), x.Expression)
	if x.Error != "" {
		if err == nil || err.Error() != x.Error {
			t.Errorf("compile %q: got error %v, want %s", x.Expression.Text, err, x.Error)
		}
		return nil
	}
	if err != nil {
		t.Fatalf("compile %q: %v", x.Expression.Text, err)
	}
	if got := p.Warnings(); len(got) != x.Warnings {
		t.Errorf("compile %q: warnings %q, want %d", x.Expression.Text, got, x.Warnings)
	}
	if p.Pure() == x.Impure {
		t.Errorf("compile %q: pure is %v", x.Expression.Text, p.Pure())
	}
	return p
}

// checkKeys wants equal keys where the cases say so, and equal verdicts wherever keys are equal.
func checkKeys(t *testing.T, cases []Case, programs map[string]filter.Program) {
	var messages []Message
	for _, x := range cases {
		messages = append(messages, x.Messages...)
	}
	name := func(x Case) string {
		if x.Name == "" {
			return x.Expression.Text
		}
		return x.Name
	}
	byKey := map[filter.Key]string{}
	for _, x := range cases {
		p := programs[name(x)]
		if p == nil {
			continue
		}
		if p.Key() == (filter.Key{}) {
			t.Errorf("%s: the key is zero", name(x))
		}
		if x.SameKey != "" && (programs[x.SameKey] == nil || programs[x.SameKey].Key() != p.Key()) {
			t.Errorf("%s: its key differs from that of %s", name(x), x.SameKey)
		}
		other, seen := byKey[p.Key()]
		if !seen {
			byKey[p.Key()] = name(x)
			continue
		}
		if !p.Pure() {
			continue
		}
		for i := range messages {
			one := messages[i : i+1]
			a, b := judge(t, p, one, whole)[0], judge(t, programs[other], one, whole)[0]
			if a != b {
				t.Errorf("%s and %s have one key, but for %+v they say %s and %s", name(x), other, one[0], a, b)
			}
		}
	}
}

// checkBad compiles texts that nobody should write, of every type. Anything but a panic will do.
func checkBad(t *testing.T, c filter.Compiler) {
	long := make([]byte, 1<<16)
	for i := range long {
		long[i] = "(|a 'x=0\x00\xff"[i%10]
	}
	texts := []string{"", " ", "*", "|", "||", "|||", "'", "\"", "(", ")", "()", "a b", "a =", "= a", "--", "/*", "\x00", "\xff\xfe",
		"\ud7ff\U0010ffff", "\u202e", "1e999", "9999999999999999999999", "NOT", "wasm.x(", "${env:HOME}", string(long)}
	for _, typ := range append(c.ExpressionTypes(), "", "NOSUCH") {
		for _, text := range texts {
			p, err := c.Compile(context.Background(), filter.Expression{Type: typ, Text: text})
			if err != nil {
				if err.Error() == "" {
					t.Errorf("%s %.20q: the error gives no reason", typ, text)
				}
				continue
			}
			judge(t, p, []Message{{Tag: "A"}, {Properties: []string{"a", "1"}, Body: []byte("x")}}, whole)
			if err := p.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, err := c.Compile(ctx, filter.Expression{Type: c.ExpressionTypes()[0], Text: "a"}); err == nil {
		_ = p.Close()
	}
}
