package expr

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/expr-lang/expr/checker"
	exprcompiler "github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/weirmq/weir/core/filter"
)

// Formulas evaluates other filters' formulas with expr: see filter.FormulaEngine. Their size is bounded by who makes them.
type Formulas struct{}

var _ filter.FormulaEngine = Formulas{}

// formula is a compiled formula.
type formula struct {
	program   *vm.Program
	functions int
}

// Formula implements filter.FormulaEngine.
func (Formulas) Formula(source string, functions int) (filter.Formula, error) {
	env := make(map[string]any, functions)
	for i := range functions {
		env[functionName(i)] = func() int { return 0 } // of a type that expr calls without reflection
	}
	cfg := conf.CreateNew()
	cfg.MaxNodes = 0
	cfg.WithEnv(env)
	tree, err := parser.ParseWithConfig(source, cfg)
	if err == nil {
		_, err = checker.Check(tree, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("compile a formula: %w", err)
	}
	program, err := exprcompiler.Compile(tree, cfg)
	if err != nil {
		return nil, fmt.Errorf("compile a formula: %w", err)
	}
	return &formula{program: program, functions: functions}, nil
}

func functionName(i int) string { return "p" + strconv.Itoa(i) }

// Runner implements filter.Formula.
func (f *formula) Runner(call func(int) int) filter.FormulaRunner {
	r := &formulaRunner{program: f.program, env: make(map[string]any, f.functions)}
	for i := range f.functions {
		r.env[functionName(i)] = func() int { return call(i) } // small numbers become interfaces without an allocation
	}
	return r
}

type formulaRunner struct {
	program *vm.Program
	vm      vm.VM
	env     map[string]any
}

var errNoNumber = errors.New("a formula gave no whole number")

// Run implements filter.FormulaRunner.
func (r *formulaRunner) Run() (int, error) {
	v, err := r.vm.Run(r.program, r.env)
	if err != nil {
		return 0, fmt.Errorf("run a formula: %w", err)
	}
	n, ok := v.(int)
	if !ok {
		return 0, errNoNumber
	}
	return n, nil
}
