package broker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
)

// named compiles texts that begin with its name.
type named string

var errCompiled = errors.New("compiled")

func (n named) Serves(e filter.Expression) bool { return strings.HasPrefix(e.Text, string(n)) }
func (n named) Names() []string                 { return []string{string(n)} }
func (n named) Compile(context.Context, filter.Expression) (filter.Program, error) {
	return nil, errors.Join(errCompiled, errors.New(string(n)))
}

type namedCompiler struct {
	sharedCompilers // for the rest of the interface
	named
}

func (c namedCompiler) Compile(ctx context.Context, e filter.Expression) (filter.Program, error) {
	return c.named.Compile(ctx, e)
}

func TestSharedCompilers(t *testing.T) {
	var s sharedCompilers
	for _, name := range []named{"geo", "fraud"} {
		s = append(s, sharedCompiler{namedCompiler{named: name}, name})
	}
	for text, want := range map[string]string{
		"geo?x=1": "compiled\ngeo", "fraud": "compiled\nfraud",
		"other": `compile WASM expression: nothing is called "other"; there are fraud, geo`,
	} {
		_, err := s.Compile(context.Background(), filter.Expression{Type: "WASM", Text: text})
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
