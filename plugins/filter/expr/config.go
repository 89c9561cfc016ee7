package expr

import (
	"errors"

	"github.com/weirmq/weir/core/plugin"
)

// Config is the `filters: expr:` section of broker.yaml. All limits protect the broker from what clients send; body_max,
// work_max and memory_max also are part of what an expression means, so changing one makes new programs of all expressions.
type Config struct {
	// LengthMax is the longest expression. Longer ones than queues.expression_size_max aren't even looked at. Default
	// 16KiB.
	LengthMax plugin.Size `yaml:"length_max"`
	// NodesMax is how many names, values, operators and calls an expression may have, elements of lists and ranges among
	// them. Default 2000.
	NodesMax int `yaml:"nodes_max"`
	// BodyMax is how many bytes at the beginning of a body an expression sees, after decompression. What is behind
	// doesn't exist to it, and looking for a JSON field that isn't found before is an error: the message doesn't match. Default
	// 64KiB, at most 4MiB.
	BodyMax plugin.Size `yaml:"body_max"`
	// WorkMax is how much judging one message may cost, in units of roughly 10ns: rounds of any, filter and the like, each
	// for the parts of its condition, and bytes that are searched. Beyond it is an error: the message doesn't match.
	// Default 200000.
	WorkMax int `yaml:"work_max"`
	// MemoryMax is how much memory the lists and texts may take that an expression makes for one message. Beyond it is
	// an error: the message doesn't match. Default 1MiB, at most 64MiB.
	MemoryMax plugin.Size `yaml:"memory_max"`
}

func defaultConfig() Config {
	return Config{LengthMax: 16 * plugin.KiB, NodesMax: 2000, BodyMax: 64 * plugin.KiB, WorkMax: 200_000, MemoryMax: plugin.MiB}
}

// Validate checks the limits.
func (c *Config) Validate() error {
	var errs []error
	between := func(ok bool, field, want string) {
		if !ok {
			errs = append(errs, plugin.Invalid(field, "must be between %s", want))
		}
	}
	between(c.LengthMax >= 1 && c.LengthMax <= 64*plugin.KiB, "length_max", "1 byte and 64KiB")
	between(c.NodesMax >= 1 && c.NodesMax <= 10_000, "nodes_max", "1 and 10000")
	between(c.BodyMax >= 1 && c.BodyMax <= 4*plugin.MiB, "body_max", "1 byte and 4MiB")
	between(c.WorkMax >= 1000 && c.WorkMax <= 100_000_000, "work_max", "1000 and 100000000")
	between(c.MemoryMax >= 4*plugin.KiB && c.MemoryMax <= 64*plugin.MiB, "memory_max", "4KiB and 64MiB")
	return errors.Join(errs...)
}
