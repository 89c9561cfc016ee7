package sql92

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/plugins/filter/expr"
	"github.com/weirmq/weir/plugins/filter/wasm"
)

// vector is an expression and properties with what RocketMQ's own classes made of them.
type vector struct {
	ID       string
	Expr     string
	Props    map[string]string
	Want     string
	Raises   bool
	Want5    *string `json:"want_5x"`
	Raises5  *bool   `json:"raises_5x"`
	expected filtertest.Outcome
	refused  bool
}

// loadVectors reads the vectors for a dialect.
func loadVectors(t testing.TB, five bool) (list []vector) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		v := &list[i]
		want, raises := v.Want, v.Raises
		if five && v.Want5 != nil {
			want, raises = *v.Want5, v.Raises5 != nil && *v.Raises5
		}
		switch {
		case want == "error":
			v.refused = true
		case want == "true":
			v.expected = filtertest.True
		case want == "null" && raises:
			v.expected = filtertest.Raise
		case want == "null":
			v.expected = filtertest.Unknown
		}
	}
	return list
}

// machines are what the engines run on.
var machines = Factory{Formulas: expr.Formulas{}, Modules: wasm.NewModules()}

// engines are all of them; the last is the reference.
var engines = []string{engineVector, engineWASM, engineExpr, engineClosure}

func compilerOf(engine, dialect string) *compiler {
	cfg := defaultConfig()
	cfg.Engine, cfg.Dialect = engine, dialect
	return mustCompiler(cfg)
}

func mustCompiler(cfg *Config) *compiler {
	c, err := newCompiler(*cfg, machines, noop.NewMeterProvider())
	if err != nil {
		panic(err)
	}
	return c
}

// TestVectors compares every engine with what RocketMQ 4.9.7 and 5.3.3 were observed to do, one message after the other
// and, through the conformance suite, in batches.
func TestVectors(t *testing.T) {
	for _, engine := range engines {
		for _, dialect := range []string{"rocketmq", "rocketmq5"} {
			t.Run(engine+" "+dialect, func(t *testing.T) {
				list := loadVectors(t, dialect == "rocketmq5")
				if len(list) != 532 {
					t.Fatalf("%d vectors, want 532", len(list))
				}
				c := compilerOf(engine, dialect)
				for _, v := range list {
					checkVector(t, c, v)
				}
			})
		}
	}
}

func checkVector(t *testing.T, c *compiler, v vector) {
	p, err := c.Compile(context.Background(), filter.Expression{Type: filter.TypeSQL92, Text: v.Expr})
	if v.refused != (err != nil) {
		t.Errorf("%s %q: error %v, want one: %v", v.ID, v.Expr, err, v.refused)
	}
	if err != nil {
		return
	}
	var b filter.Batch
	b.TagsCodes, b.Records = []int64{0}, [][]byte{recordOf(v.Props)}
	if got := judgeAll(t, p, &b)[0]; got != v.expected {
		t.Errorf("%s %q %q: %s, want %s: %s", v.ID, v.Expr, v.Props, got, v.expected, fmt.Sprint(treeOf(t, v.Expr, c)))
	}
}
