package wasm

import (
	"encoding/hex"
	"errors"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Config is a `filters: wasm/NAME:` section of broker.yaml. Each declares one module, which expressions of type WASM call
// by NAME. The one section without a name and a path, `filters: wasm:`, is for modules that are pushed to the running broker.
type Config struct {
	// Path is the module's file.
	Path string `yaml:"path"`
	// SHA256 pins the file: 64 hexadecimal digits. A file with another hash isn't loaded. Empty accepts any.
	SHA256 string `yaml:"sha256"`
	// Config holds the module's own settings, as its manifest names them, each in quotes. A subscription may override them
	// (NAME?setting=value).
	Config map[string]string `yaml:"config"`
	// Dispatch lets the broker judge messages when they arrive and keep the verdicts, if the module is pure. A module that
	// says it is pure and isn't loses messages then, so this is off unless asked for. Default false.
	Dispatch bool `yaml:"dispatch"`
	// Isolation says how long an instance of the module lives: shared uses it for many batches, fresh makes a new one for
	// each, so that nothing can be remembered. Default shared.
	Isolation string `yaml:"isolation" choices:"shared,fresh"`
	// OnPoison says what a pull does with a message that the module fails at although it judges others: drop passes it over,
	// pass delivers it, hold stops in front of it until the module is mended. Each is logged. Default drop.
	OnPoison string `yaml:"on_poison" choices:"drop,pass,hold"`
	// OnOpen says what a pull does with messages while the module fails all the time and isn't called: hold lets them wait,
	// pass delivers all, drop passes all over, which loses them for the group. Default hold.
	OnOpen string `yaml:"on_open" choices:"hold,pass,drop"`
	// Limits bound what the module may use.
	Limits Limits `yaml:"limits"`
	// Push is for the section without a name: whether modules may be pushed to the running broker (weir plugin push), and
	// how many.
	Push Push `yaml:"push"`
}

// Push says whether modules may be pushed, and bounds them.
type Push struct {
	// Enabled lets callers who may deploy push, roll back and remove modules. Off, those that are there stay in use. With
	// auth open everybody who reaches the broker may. Default false.
	Enabled bool `yaml:"enabled"`
	// Modules is how many modules there may be. Default 64.
	Modules int `yaml:"modules"`
	// Versions is how many versions are kept of each. The oldest that isn't in use makes room for a new one. Default 10.
	Versions int `yaml:"versions"`
	// Size is how much all versions of all modules may take on the disk. Default 256MiB.
	Size plugin.Size `yaml:"size"`
}

// Limits bound what a module may use.
type Limits struct {
	// Size is the largest module that is loaded. Default 8MiB.
	Size plugin.Size `yaml:"size"`
	// Memory is how far an instance's memory may grow, in steps of 64 KiB. A manifest may ask for less. Guests written in Go
	// need 4MiB at least. Default 8MiB.
	Memory plugin.Size `yaml:"memory"`
	// FuelPerRecord is added to the fuel of a call for each message in it. A unit is about one instruction. A manifest may
	// ask for less. Default 20000.
	FuelPerRecord int64 `yaml:"fuel_per_record"`
	// FuelPerCall bounds the fuel of one call. Garbage collection waits for a running call, so five million units are a
	// stall of some milliseconds at worst. Default 5000000.
	FuelPerCall int64 `yaml:"fuel_per_call"`
	// FuelAtStart is what an instance may use before it is asked to judge. Default 20000000.
	FuelAtStart int64 `yaml:"fuel_at_start"`
	// Records is the largest number of messages in one call. Default 256.
	Records int `yaml:"records"`
}

// Bounds of the limits.
const (
	pageSize       = 64 << 10
	fuelBase       = 50_000 // a call has it beside the fuel of its records
	recordsMax     = 4096   // of the ABI
	fuelPerCallMax = 1 << 40
	memoryMax      = 64 * plugin.MiB
	sizeMax        = 64 * plugin.MiB

	pushModulesMax  = 1000
	pushVersionsMax = 1000
	pushSizeMax     = 64 * plugin.GiB
)

// Validate returns what is wrong, all together.
func (c *Config) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) { errs = append(errs, plugin.Invalid(field, format, args...)) }
	if c.SHA256 != "" {
		if b, err := hex.DecodeString(c.SHA256); err != nil || len(b) != 32 {
			bad("sha256", "want 64 hexadecimal digits, as sha256sum prints them")
		}
	}
	if c.Isolation != isolationShared && c.Isolation != isolationFresh {
		bad("isolation", "want shared or fresh")
	}
	if _, ok := failureActions[c.OnPoison]; !ok {
		bad("on_poison", "want drop, pass or hold")
	}
	if _, ok := failureActions[c.OnOpen]; !ok {
		bad("on_open", "want hold, pass or drop")
	}
	if c.Push.Modules < 1 || c.Push.Modules > pushModulesMax {
		bad("push.modules", "want 1 to %d", pushModulesMax)
	}
	if c.Push.Versions < 2 || c.Push.Versions > pushVersionsMax {
		bad("push.versions", "want 2 to %d", pushVersionsMax)
	}
	if c.Push.Size < 1 || c.Push.Size > pushSizeMax {
		bad("push.size", "want 1B to %s", pushSizeMax)
	}
	l := &c.Limits
	if l.Size < 8 || l.Size > sizeMax {
		bad("limits.size", "want 8B to %s", sizeMax)
	}
	if l.Memory < pageSize || l.Memory > memoryMax || l.Memory%pageSize != 0 {
		bad("limits.memory", "want 64KiB to %s, a multiple of 64KiB", memoryMax)
	}
	if l.FuelPerRecord < 0 || l.FuelPerRecord > fuelPerCallMax {
		bad("limits.fuel_per_record", "want 0 to %d", int64(fuelPerCallMax))
	}
	if l.FuelPerCall < fuelBase || l.FuelPerCall > fuelPerCallMax {
		bad("limits.fuel_per_call", "want %d to %d", fuelBase, int64(fuelPerCallMax))
	}
	if l.FuelAtStart < 1 || l.FuelAtStart > fuelPerCallMax {
		bad("limits.fuel_at_start", "want 1 to %d", int64(fuelPerCallMax))
	}
	if l.Records < 1 || l.Records > recordsMax {
		bad("limits.records", "want 1 to %d", recordsMax)
	}
	return errors.Join(errs...)
}

// The kinds of isolation.
const (
	isolationShared = "shared"
	isolationFresh  = "fresh"
)

// failureActions are the values of on_poison and on_open.
var failureActions = map[string]filter.FailureAction{"hold": filter.Hold, "drop": filter.Drop, "pass": filter.Pass}

func defaultConfig() *Config {
	return &Config{
		Isolation: isolationShared, OnPoison: "drop", OnOpen: "hold",
		Limits: Limits{Size: 8 * plugin.MiB, Memory: 8 * plugin.MiB, FuelPerRecord: 20_000, FuelPerCall: 5_000_000,
			FuelAtStart: 20_000_000, Records: 256},
		Push: Push{Modules: 64, Versions: 10, Size: 256 * plugin.MiB},
	}
}
