package fuel

import (
	"errors"
	"fmt"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// effort estimates from above what it takes to compile one function. Compilers that put values into registers need memory
// for each value in each place where control flow meets or leaves, and some of what they do takes the square of the number
// of basic blocks, more so where these are nested. A module of some kilobytes can be made to need gigabytes, or minutes.
type effort struct {
	blocks int64 // basic blocks
	values int64 // that calls and branches carry
	depth  int   // of blocks
	loops  int   // nested in each other
	open   int   // loops that are open
}

// What compiling a function may take. The largest function of a Go guest that reads JSON has 1,100 blocks, nested 300 deep, and 8,000 places; the squares of all
// of its blocks are 21 million.
const (
	blocksMax = 16 << 10
	depthMax  = 1000
	loopsMax  = 64
	// placesMax bounds the values of a function, in its blocks and carried between them. Each takes some 400 bytes.
	placesMax = 256 << 10
	// squaresMax bounds the sum of the squares of the blocks of all functions.
	squaresMax = 1 << 30
	// labelValues is what a label of a jump table counts as, and loopBlocks what a loop does, of blocks: it takes as long.
	labelValues = 8
	loopBlocks  = 8
	// arityMax bounds parameters and results of a function, as browsers do.
	arityMax = 1000
)

// count adds one instruction, after step has taken it in.
func (a *analyser) count(f *function, in *wasmbin.Instr) {
	e := &f.effort
	switch in.Op {
	case wasmbin.BlockOp, wasmbin.LoopOp, wasmbin.IfOp:
		params, results := a.arity(in.Block)
		e.values += params + results
		top := &a.blocks[len(a.blocks)-1]
		top.carried = results
		e.blocks++
		switch in.Op {
		case wasmbin.LoopOp:
			top.carried = params
			e.blocks += loopBlocks - 1
			e.open++
			e.loops = max(e.loops, e.open)
		case wasmbin.IfOp:
			e.blocks += 2
		}
		e.depth = max(e.depth, len(a.blocks))
	case wasmbin.BrOp, wasmbin.BrIfOp:
		e.values += a.carried(in.A)
		e.blocks += 2
	case wasmbin.BrTableOp:
		for _, l := range in.Labels {
			e.values += labelValues + a.carried(l)
		}
		e.blocks += 2
	case wasmbin.ReturnOp:
		e.values += a.blocks[0].carried
		e.blocks++
	case wasmbin.CallOp:
		t, _ := a.m.FuncType(in.A)
		e.values += int64(len(t.Params) + len(t.Results))
	case wasmbin.CallIndirectOp:
		t := &a.m.Types[in.A]
		e.values += int64(len(t.Params) + len(t.Results))
	}
}

func (a *analyser) carried(label uint32) int64 { return a.blocks[len(a.blocks)-1-int(label)].carried }

// arity returns how many values a block takes and gives.
func (a *analyser) arity(b wasmbin.BlockType) (params, results int64) {
	if i, ok := b.Signature(); ok {
		t := &a.m.Types[i]
		return int64(len(t.Params)), int64(len(t.Results))
	}
	if b == wasmbin.NoValue {
		return 0, 0
	}
	return 0, 1
}

// places bounds the values that the compiler may have to keep apart.
func (f *function) places() int64 { return int64(f.locals)*(1+f.merges) + f.effort.values }

// check refuses functions that take too much to compile.
func (f *function) check() error {
	e := &f.effort
	switch {
	case f.params > arityMax || f.results > arityMax:
		return fmt.Errorf("it has %d parameters and %d results; at most %d are allowed", f.params, f.results, arityMax)
	case e.depth > depthMax:
		return fmt.Errorf("blocks are nested %d deep; at most %d are allowed", e.depth, depthMax)
	case e.loops > loopsMax:
		return fmt.Errorf("loops are nested %d deep; at most %d are allowed", e.loops, loopsMax)
	case e.blocks > blocksMax:
		return fmt.Errorf("it has about %d basic blocks; at most %d are allowed", e.blocks, blocksMax)
	case f.places() > placesMax:
		return fmt.Errorf("%d locals, control flow that meets in %d places, and %d values that calls and branches carry", f.locals, f.merges, e.values)
	}
	return nil
}

// checkAll refuses functions, and modules, that take too much to compile.
func checkAll(list []*function, imported int) error {
	squares := int64(0)
	for i, f := range list {
		if err := f.check(); err != nil {
			return fmt.Errorf("function %d is too complex to compile: %w", i+imported, err)
		}
		squares += f.effort.blocks * f.effort.blocks
	}
	if squares > squaresMax {
		return errors.New("too many functions of the module are large: together they would take too long to compile")
	}
	return nil
}
