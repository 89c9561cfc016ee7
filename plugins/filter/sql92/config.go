package sql92

import (
	"errors"
	"fmt"

	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// Config is the `filters: sql92:` section of broker.yaml.
type Config struct {
	// Engine is how expressions are evaluated: vector judges 64 messages at a time; wasm has a WebAssembly module made of each
	// expression; expr has a program of expr-lang; closure is the reference, one message after the other. auto is the
	// fastest, which is vector. All give the same verdicts. Default auto.
	Engine string `yaml:"engine"`
	// Dialect is the language. rocketmq is what RocketMQ 4.9.7 understands, with all its peculiarities; rocketmq5 adds
	// CONTAINS, STARTSWITH and ENDSWITH as RocketMQ 5 has them; strict means what SQL users expect and refuses what it doesn't
	// understand, see the plugin's README. Changing it changes what existing subscriptions select. Default rocketmq.
	Dialect string `yaml:"dialect"`
	// LengthMax is the longest expression. Longer ones than queues.expression_size_max aren't even looked at. Default 32KiB.
	LengthMax plugin.Size `yaml:"length_max"`
	// NodesMax is how many operands and operators an expression may have, members of IN among them. Default 10000.
	NodesMax int `yaml:"nodes_max"`
	// DepthMax is how deep parentheses and signs may be nested. Default 512.
	DepthMax int `yaml:"depth_max"`
	// RefuseWarned refuses a subscription whose expression would only give a warning: a part of it is ignored or can never be
	// true. RocketMQ accepts those, and so they may be in use. Default false.
	RefuseWarned bool `yaml:"refuse_warned"`
}

// The engines.
const (
	engineAuto    = "auto"
	engineVector  = "vector"
	engineWASM    = "wasm"
	engineExpr    = "expr"
	engineClosure = "closure"
)

func defaultConfig() *Config {
	return &Config{
		Engine:    engineAuto,
		Dialect:   string(sqltree.RocketMQ),
		LengthMax: 32 * plugin.KiB,
		NodesMax:  10_000,
		DepthMax:  512,
	}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	switch c.Engine {
	case engineAuto, engineVector, engineWASM, engineExpr, engineClosure:
	default:
		errs = append(errs, fmt.Errorf("engine: there is no %q, want auto, vector, wasm, expr or closure", c.Engine))
	}
	switch sqltree.Dialect(c.Dialect) {
	case sqltree.RocketMQ, sqltree.RocketMQ5, sqltree.Strict:
	default:
		errs = append(errs, fmt.Errorf("dialect: there is no %q, want rocketmq, rocketmq5 or strict", c.Dialect))
	}
	bound := func(key string, value, low, high int64) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is out of range, allowed are %d to %d", key, value, low, high))
		}
	}
	bound("length_max", int64(c.LengthMax), 1, int64(plugin.MiB))
	bound("nodes_max", int64(c.NodesMax), 1, 1_000_000)
	bound("depth_max", int64(c.DepthMax), 1, 10_000)
	return errors.Join(errs...)
}

func (c *Config) limits() sqltree.Limits {
	return sqltree.Limits{Bytes: int(c.LengthMax), Nodes: c.NodesMax, Depth: c.DepthMax}
}
