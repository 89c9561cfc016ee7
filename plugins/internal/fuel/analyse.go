package fuel

import (
	"fmt"

	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// function is what the first pass finds out about one body.
type function struct {
	body    *wasmbin.Body
	params  int
	results int
	locals  int // parameters included
	patches []patch
	charges []int64 // the cost of each charge point; the first is the entry
	before  []int   // the point before each, that could pay for it instead; -1 where none could
	calls   []call
	merges  int64 // places where control flow meets
	instrs  int64
	effort  effort
	loops   bool
	// indirect says that it calls through a table; bulk, that it calls a helper.
	indirect bool
	bulk     bool

	// flat is the cost of one call, paid by callers, if paid is set.
	flat      int64
	paid      bool
	recursive bool
	frame     int64
}

// call is a direct call of a defined function, paid at a charge point.
type call struct {
	callee int // counts defined functions only
	point  int
}

// patch is a change at one place of a body.
type patch struct {
	at   int
	kind patchKind
	n    int // charge point, helper or depth
}

type patchKind uint8

const (
	patchCharge patchKind = iota // insert the charge of point n
	patchHelper                  // insert a call of helper n
	patchReturn                  // a return, n blocks deep
	patchCall                    // a call, n bytes long: the fuel is put back before and taken again behind it
)

// block is an open block of a body.
type block struct {
	before int // the charge point that was current when it began
	loop   bool
	table  bool // a br_table with many labels leaves to its end
	// carried is how many values a branch to its label carries.
	carried int64
}

// tableLabels is how many labels a br_table needs for its targets to be charged one by one.
const tableLabels = 4

// analyser walks over bodies. Its memory is used again for each.
type analyser struct {
	m        *wasmbin.Module
	imported int
	globals  int
	walker   wasmbin.Walker
	blocks   []block
	// taken marks functions that can be reached through a table.
	taken map[uint32]bool
}

// function walks over body i.
func (a *analyser) function(i int) (*function, error) {
	f := &function{body: &a.m.Bodies[i]}
	t := &a.m.Types[a.m.Functions[i]]
	f.params, f.results = len(t.Params), len(t.Results)
	f.locals = f.params
	for _, l := range f.body.Locals {
		f.locals += int(l.Count)
	}
	f.charges, f.before = append(f.charges, 1+int64(f.locals)), append(f.before, -1)
	a.walker.Reset(*f.body)
	a.blocks = append(a.blocks[:0], block{carried: int64(f.results)})
	point := 0
	var in wasmbin.Instr
	for a.walker.Next(&in) {
		if len(a.blocks) == 0 {
			return nil, a.fault(f, in.Start, "code behind the end of a function")
		}
		f.instrs++
		if text := a.check(f, &in); text != "" {
			return nil, a.fault(f, in.Start, text)
		}
		point = a.step(f, &in, point)
		a.count(f, &in)
	}
	if err := a.walker.Err(); err != nil {
		return nil, err
	}
	if len(a.blocks) != 0 {
		return nil, a.fault(f, len(f.body.Code), "a function has no end")
	}
	return f, nil
}

func (a *analyser) fault(f *function, at int, text string) error {
	return &wasmbin.FormatError{Offset: f.body.Offset + at, Text: text}
}

// check refuses indices that the module doesn't have. An empty text is no fault.
func (a *analyser) check(f *function, in *wasmbin.Instr) string {
	have, what := 0, ""
	switch in.Op {
	case wasmbin.BlockOp, wasmbin.LoopOp, wasmbin.IfOp:
		if i, ok := in.Block.Signature(); ok && int(i) >= len(a.m.Types) {
			return fmt.Sprintf("there is no type %d", i)
		}
		return ""
	case wasmbin.BrTableOp:
		for _, l := range in.Labels {
			if int64(l) >= int64(len(a.blocks)) {
				return fmt.Sprintf("there is no label %d", l)
			}
		}
		return ""
	case wasmbin.BrOp, wasmbin.BrIfOp:
		have, what = len(a.blocks), "label"
	case wasmbin.CallOp, wasmbin.RefFunc:
		have, what = a.imported+len(a.m.Functions), "function"
	case wasmbin.CallIndirectOp:
		have, what = len(a.m.Types), "type"
	case wasmbin.LocalGetOp, wasmbin.LocalSetOp, wasmbin.LocalTeeOp:
		have, what = f.locals, "local"
	case wasmbin.GlobalGetOp, wasmbin.GlobalSetOp:
		have, what = a.globals, "global"
	default:
		return ""
	}
	if int64(in.A) >= int64(have) {
		return fmt.Sprintf("there is no %s %d", what, in.A)
	}
	return ""
}

// step takes one instruction in and returns the charge point that pays for what follows.
func (a *analyser) step(f *function, in *wasmbin.Instr, point int) int {
	f.charges[point] += costOf(in.Op)
	switch in.Op {
	case wasmbin.BlockOp, wasmbin.IfOp:
		a.blocks = append(a.blocks, block{before: point})
	case wasmbin.LoopOp:
		a.blocks = append(a.blocks, block{before: point, loop: true})
		f.loops = true
		f.merges++
		f.charges[point]--
		point = a.point(f, in.End, -1)
		f.charges[point]++
	case wasmbin.ElseOp:
		point = a.blocks[len(a.blocks)-1].before
	case wasmbin.EndOp:
		return a.end(f, in, point)
	case wasmbin.BrTableOp:
		a.table(in.Labels)
	case wasmbin.ReturnOp:
		f.patches = append(f.patches, patch{at: in.Start, kind: patchReturn, n: len(a.blocks) - 1})
	case wasmbin.CallOp:
		f.patches = append(f.patches, patch{at: in.Start, kind: patchCall, n: in.End - in.Start})
		if callee := int(in.A) - a.imported; callee >= 0 {
			f.calls = append(f.calls, call{callee: callee, point: point})
		}
	case wasmbin.CallIndirectOp:
		f.patches = append(f.patches, patch{at: in.Start, kind: patchCall, n: in.End - in.Start})
		f.indirect = true
	case wasmbin.RefFunc:
		a.taken[in.A] = true
	}
	if h, ok := helperOf(in.Op); ok {
		f.bulk = true
		f.patches = append(f.patches, patch{at: in.Start, kind: patchHelper, n: int(h)})
	}
	return point
}

// point makes a charge point that stands at a place of the code.
func (a *analyser) point(f *function, at, before int) int {
	f.charges, f.before = append(f.charges, 0), append(f.before, before)
	f.patches = append(f.patches, patch{at: at, kind: patchCharge, n: len(f.charges) - 1})
	return len(f.charges) - 1
}

// end closes a block. What follows is paid by the point that was current when the block began: everything that follows is
// executed at most once for each time the block is entered. But behind a block that a jump table leaves to, a new
// point stands, so that a jump pays only for what it leads to.
func (a *analyser) end(f *function, in *wasmbin.Instr, point int) int {
	b := a.blocks[len(a.blocks)-1]
	if b.loop {
		f.effort.open--
	}
	a.blocks = a.blocks[:len(a.blocks)-1]
	f.merges++
	if len(a.blocks) == 0 {
		return point
	}
	if b.table && !b.loop {
		return a.point(f, in.End, b.before)
	}
	return b.before
}

func (a *analyser) table(labels []uint32) {
	if len(labels) < tableLabels {
		return
	}
	for _, l := range labels {
		if at := len(a.blocks) - 1 - int(l); at > 0 {
			a.blocks[at].table = true
		}
	}
}

// foldMax is the largest cost that a point pays for another behind it, and foldTotal for all of them. Eight times as much
// makes counting cheaper in Go guests, 1.25 times in place of 1.5 where JSON is read, and has them pay four times the fuel.
const (
	foldMax   = 8
	foldTotal = 48
)

// fold drops small points behind jump tables: the point before pays for them, whether the code is executed or not.
func (f *function) fold() {
	folded := make([]int64, len(f.charges))
	for p := len(f.charges) - 1; p > 0; p-- {
		to, n := f.before[p], f.charges[p]
		if to < 0 || n > foldMax || folded[to]+n > foldTotal {
			continue
		}
		f.charges[p] = 0
		f.charges[to] += n
		folded[to] += n
	}
}
