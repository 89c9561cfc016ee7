package filter

import (
	"context"
	"errors"
	"time"
)

// Renewable is an optional ability of a Program: to say that its expression has come to mean another program, because a
// newer version of a module was deployed, say. Stale doesn't go back to false by itself. It is cheap.
type Renewable interface {
	Stale() bool
}

// Renewer is an optional ability of a Compiler: to tell when expressions may have come to mean other programs.
type Renewer interface {
	// OnRenew sets what is called, on the goroutine that has made the change and when the change is complete. It is set
	// once, before anything can change.
	OnRenew(f func())
}

// ModuleRef names a module and its version.
type ModuleRef struct {
	Name string `json:"name"`
	// Number counts the versions of a pushed module from 1; 0 for a module that the configuration declares.
	Number int    `json:"number,omitempty"`
	SHA256 string `json:"sha256"`
}

// Modular is an optional ability of a Program: to say of which modules it runs code.
type Modular interface {
	ModuleRefs() []ModuleRef
}

// ModuleHost is an optional ability of a Compiler: to show the modules that it runs.
type ModuleHost interface {
	// ModuleInfos lists them, by name and number.
	ModuleInfos() []ModuleInfo
	// ModuleLog returns the last lines about a module, oldest first. ok is false when it isn't one of this host's.
	ModuleLog(name string) (lines []ModuleLine, ok bool)
	// ReloadModule looks whether the file of a declared module has changed, and if so runs the new one from now on. The old
	// one stays if the new one is no good. The error wraps ErrNoModule when no module of that name is declared here.
	ReloadModule(ctx context.Context, name string) (changed bool, err error)
}

// ModuleStore is an optional ability of a Compiler: to take in, change and remove modules while the broker runs. All its
// errors are for the operator who asked. What a method has done is on the disk when it returns.
type ModuleStore interface {
	ModuleHost
	// PushModule takes in a part of a module. With the last part the module is checked, compiled, started, tested, and
	// published as a new version. Until then pushed is nil, and received says where the next part begins.
	PushModule(ctx context.Context, part ModulePart) (received int64, pushed *ModuleInfo, err error)
	// SwitchModule disables a module, or enables it again. Programs of a disabled one judge nothing.
	SwitchModule(ctx context.Context, name string, on bool) error
	// ActivateModule makes a version the one that the bare name and @latest mean. 0 is the one that was before.
	ActivateModule(ctx context.Context, name string, number int) (*ModuleInfo, error)
	// RemoveModule removes a version of a module, or with 0 the module. Programs of it that are left judge nothing.
	RemoveModule(ctx context.Context, name string, number int) error
}

// ModulePart is a part of a module on its way to a ModuleStore.
type ModulePart struct {
	// Name is that of the module on the broker, which needn't be what the module calls itself.
	Name string
	// SHA256 is that of the whole module, in hexadecimal digits; it names the upload.
	SHA256 string
	// Size is that of the whole module, Offset where Data belongs. Data is borrowed.
	Size, Offset int64
	Data         []byte
	// Shadow publishes the version without making it the current one: it judges beside it, and differences are counted.
	Shadow bool
}

// What an operation on modules can fail for, beside what is wrong with the module itself.
var (
	// ErrNoModule says that there is no such module or version.
	ErrNoModule = errors.New("there is no such module")
	// ErrModuleRefused says that the configuration doesn't allow the operation.
	ErrModuleRefused = errors.New("the broker doesn't take in modules")
)

// ModuleInfo describes a version of a module.
type ModuleInfo struct {
	ModuleRef
	// Version is what the module says of itself.
	Version string
	Source  string // declared or pushed
	// State is current, stored, shadow, disabled or broken.
	State    string
	Size     int64
	Pushed   time.Time // zero for a declared module
	Kinds    []string
	Pure     bool // by the module's own word
	Dispatch bool // the operator relies on that
	Demoted  bool // it was caught breaking it
	Loaded   bool
	// Programs and Instances are how many there are now. Open says that the breaker of one is open.
	Programs, Instances int
	Open                bool
	Fault               string // why it is broken, or why messages were undecided last
	Figures             ModuleFigures
	Shadow              ShadowFigures
}

// ModuleFigures count what a version of a module has done since it was loaded.
type ModuleFigures struct {
	Calls, Records, Fuel, Failures, Poison, Opens int64
	// Time is what the calls took.
	Time time.Duration
}

// ShadowFigures count how a version in shadow mode has judged beside the current one.
type ShadowFigures struct {
	// Compared are the messages that both have judged. OnlyCurrent and OnlyShadow were true for one of them alone.
	Compared, OnlyCurrent, OnlyShadow int64
	// Failed are those that the current one has judged and the shadow couldn't.
	Failed int64
}

// ModuleLine is a line of a module's log: what it said, or what happened to it.
type ModuleLine struct {
	Time   time.Time
	Level  string // debug, info, warn or error
	Number int
	Text   string
}
