package wasm

import (
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
)

func expr(text string) filter.Expression { return filter.Expression{Type: TypeWASM, Text: text} }

func props(want filtertest.Outcome, list ...string) filtertest.Message {
	return filtertest.Message{Properties: list, Want: want}
}

func declared(path string, change ...func(*Config)) *Config {
	c := defaultConfig()
	c.Path = path
	for _, f := range change {
		f(c)
	}
	return c
}

func TestConformance(t *testing.T) {
	amounts := []filtertest.Message{
		props(filtertest.True, "amount", "101"), props(filtertest.True, "amount", "100.00001"), props(filtertest.False, "amount", "100"),
		props(filtertest.False, "amount", "-1e300"), props(filtertest.True, "amount", "1e999"), props(filtertest.False, "amount", "NaN"),
		props(filtertest.True, "amount", " 0x1p10 "), props(filtertest.Raise, "amount", "much"), props(filtertest.Unknown, "other", "500"),
		props(filtertest.Unknown), props(filtertest.True, "amount", "1", "x", "y", "amount", "200"),
		{NoRecord: true, Want: filtertest.Undecided},
	}
	filtertest.Run(t, filtertest.Suite{Factory: NewFactory(), Config: declared("../../../sdk/guest/c/examples/threshold/threshold.wasm", func(c *Config) {
		c.Config = map[string]string{"limit": "100"}
		c.Dispatch = true
	}), Cases: []filtertest.Case{
		{Name: "as declared", Expression: expr("threshold"), Messages: amounts},
		{Name: "by version", Expression: expr("threshold@1.0"), Messages: amounts, SameKey: "as declared"},
		{Name: "settings overridden alike", Expression: expr("threshold?limit=100"), Messages: amounts, SameKey: "as declared"},
		{Name: "settings overridden", Expression: expr("threshold?limit=5&property=weight"), Messages: []filtertest.Message{
			props(filtertest.True, "weight", "6", "amount", "1"), props(filtertest.Unknown, "amount", "100"), props(filtertest.Unknown, "weight", "")}},
		{Name: "unknown module", Expression: expr("nosuch"),
			Error: `compile WASM expression: there is no such WASM module: "nosuch"; declared is threshold`},
		{Name: "other version", Expression: expr("threshold@2"),
			Error: `compile WASM expression: there is no such WASM module: threshold has version 1.0.0, not 2`},
		{Name: "unknown setting", Expression: expr("threshold?top=1"),
			Error: `compile WASM expression: module threshold: the module's configuration is wrong: there is no setting "top"; the module has property, limit`},
		{Name: "wrong setting", Expression: expr("threshold?limit=high"),
			Error: `compile WASM expression: module threshold: the module's configuration is wrong: limit is "high"; want a value of type double`},
	}})
}
