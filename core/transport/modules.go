package transport

import (
	"context"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// ModuleUse says that a group's filter runs a module.
type ModuleUse struct {
	Group, Topic, Expression string
	// Live says that the group has members.
	Live bool
	// Generation counts the sets of modules that the filter has run, and From is where the commit log ended when it came to
	// this one.
	Generation int
	From       message.Position
}

// Module describes a version of a module and who uses it.
type Module struct {
	filter.ModuleInfo
	Uses []ModuleUse
}

// ModuleRequest names a module, or a version of it, and how to deal with those who use it.
type ModuleRequest struct {
	Name string
	// Number is a version; 0 has a meaning of its own in each call.
	Number int
	// Force does it although the filters of live groups run the module. They judge nothing then.
	Force bool
}

// ModuleAdmin looks after the modules that filters run. Deploying is an action of its own on the resource of the name.
type ModuleAdmin interface {
	// Modules describes the versions of one module or, when the name is empty, of all.
	Modules(ctx context.Context, c *Caller, name string) ([]Module, error)
	// ModuleLog returns the last lines about a module, oldest first.
	ModuleLog(ctx context.Context, c *Caller, name string) ([]filter.ModuleLine, error)
	// PushModule takes in a part of a module. With the last part it is published and described; see filter.ModuleStore.
	PushModule(ctx context.Context, c *Caller, part filter.ModulePart) (received int64, pushed *Module, err error)
	// EnableModule ends DisableModule. DisableModule lets nobody use a module.
	EnableModule(ctx context.Context, c *Caller, r ModuleRequest) error
	DisableModule(ctx context.Context, c *Caller, r ModuleRequest) error
	// ActivateModule makes a version the current one; number 0 is the one that was before.
	ActivateModule(ctx context.Context, c *Caller, r ModuleRequest) (*Module, error)
	// RemoveModule removes a version, with number 0 the module.
	RemoveModule(ctx context.Context, c *Caller, r ModuleRequest) error
	// ReloadModules looks whether the file of a declared module has changed, when the name is empty of each, and loads those
	// that have. It returns their names.
	ReloadModules(ctx context.Context, c *Caller, name string) ([]string, error)
}
