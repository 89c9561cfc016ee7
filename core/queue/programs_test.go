package queue

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/transport"
)

func tags(text string) filter.Expression { return filter.Expression{Type: filter.TypeTag, Text: text} }

func mustGet(t *testing.T, ps *Programs, e filter.Expression) *program {
	t.Helper()
	p, err := ps.get(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func isClosed(p *program) bool { return p.Program.(*tagProgram).closed.Load() }

// TestProgramsAreShared follows programs from compile to close: one for a text, closed when the last user and the list
// have let go of it.
func TestProgramsAreShared(t *testing.T) {
	ps := newWorld(t, func(c *Config) { c.ProgramsMax = 2 }).programs
	a := mustGet(t, ps, tags("A"))
	if again := mustGet(t, ps, filter.Expression{Text: "A"}); again != a { // no type means tags
		t.Error("compiled twice")
	}
	b := mustGet(t, ps, tags("B"))
	b.release()
	mustGet(t, ps, tags("A")).release()
	c := mustGet(t, ps, tags("C")) // pushes out B, which nobody uses
	if !isClosed(b) || isClosed(a) || ps.Len() != 2 {
		t.Errorf("B closed %v, A closed %v, %d kept", isClosed(b), isClosed(a), ps.Len())
	}
	if b.retain() {
		t.Error("a closed program was retained")
	}
	d := mustGet(t, ps, tags("D")) // pushes out A, which two still use
	a.release()
	if isClosed(a) {
		t.Error("closed under its user")
	}
	a.release()
	if !isClosed(a) {
		t.Error("left open by its last user")
	}
	d.release()
	ps.Close()
	if !isClosed(d) || isClosed(c) {
		t.Errorf("after Close: unused closed %v, used closed %v", isClosed(d), isClosed(c))
	}
	c.release()
	if !isClosed(c) {
		t.Error("left open after Close")
	}
	late := mustGet(t, ps, tags("E"))
	late.release()
	if !isClosed(late) {
		t.Error("kept after Close")
	}
}

func TestProgramsRefuse(t *testing.T) {
	ps := newWorld(t, func(c *Config) { c.ExpressionSizeMax = 10 }).programs
	for _, e := range []filter.Expression{{}, tags("*"), {Text: "*"}, tags("")} {
		if p := mustGet(t, ps, e); p != nil {
			t.Errorf("%+v isn't everything", e)
		}
	}
	for _, c := range []struct {
		e    filter.Expression
		code message.Code
		text string
	}{
		{tags("||"), message.SubscriptionParseFailed, "nothing but ||"},
		{tags("01234567890"), message.SubscriptionParseFailed, "11 bytes, at most 10"},
		{filter.Expression{Type: "BODY"}, message.SubscriptionParseFailed, "is empty"},
		{filter.Expression{Type: "BODY", Text: "bad"}, message.SubscriptionParseFailed, "not a word"},
		{filter.Expression{Type: "SQL92", Text: "a > 1"}, message.SystemError, "does not support consumer to filter message by SQL92"},
		{filter.Expression{Type: "tag", Text: "A"}, message.SubscriptionParseFailed, "filter message by tag"},
	} {
		err := ps.CheckSubscription(context.Background(), transport.Subscription{Topic: "T", Expression: c.e})
		if isTag(c.e.Type) {
			if err != nil {
				t.Errorf("tags are not checked: %v", err)
			}
			_, err = ps.get(context.Background(), c.e)
		}
		if code(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c.e, err)
		}
	}
	if err := ps.CheckSubscription(context.Background(), transport.Subscription{Expression: filter.Expression{Type: "BODY", Text: "x"}}); err != nil {
		t.Error(err)
	}
	if _, err := ps.get(context.Background(), filter.Expression{Type: "X", Text: "x"}); !errors.Is(err, errNoCompiler) {
		t.Errorf("unserved: %v", err)
	}
}
