package filter

import "context"

// Plugins never import each other. A filter that evaluates its expressions on another plugin's machinery gets it through
// the interfaces here; plugins/components.go puts the two together.

// ModuleEngine runs WebAssembly modules that a filter plugin has generated. They are trusted: the generator has bounded
// what they execute, and nothing is metered.
type ModuleEngine interface {
	// LoadModule compiles a module of the shape described at Module. An error means that the binary is no such module, or
	// that it can't be compiled.
	LoadModule(ctx context.Context, binary []byte) (Module, error)
}

// Module is a loaded module. It imports nothing and exports a memory "memory" and a function "judge" with one 64-bit
// parameter and no result. It is safe for concurrent use.
type Module interface {
	// Take lends an instance of the module, which has one user until it is given back.
	Take() (ModuleInstance, error)
	// Give takes back what Take has lent.
	Give(ModuleInstance)
	// Close frees the module. No instance is lent then.
	Close() error
}

// ModuleInstance is one instance, with a memory of its own.
type ModuleInstance interface {
	// Memory is the instance's memory, all of it, until the next Judge. It is as large as the module declares and doesn't grow.
	Memory() []byte
	// Judge calls "judge". An error means that the module trapped; the instance isn't used again.
	Judge(want uint64) error
}

// FormulaEngine evaluates formulas in the language of expr-lang.
type FormulaEngine interface {
	// Formula compiles source, in which p0(), p1(), … are the given number of functions without parameters that return whole
	// numbers, as the source does.
	Formula(source string, functions int) (Formula, error)
}

// Formula is a compiled formula. It is immutable.
type Formula interface {
	// Runner returns what evaluates the formula again and again, for one goroutine at a time. call is asked for the value
	// of function i whenever the evaluation comes to it.
	Runner(call func(i int) int) FormulaRunner
}

// FormulaRunner evaluates a formula.
type FormulaRunner interface {
	// Run returns the formula's value. It allocates nothing. An error means that the engine failed.
	Run() (int, error)
}
