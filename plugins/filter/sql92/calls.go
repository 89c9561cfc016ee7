package sql92

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
)

// callProgram judges with conditions that call functions. It is the vector engine with functions as further columns: a
// call is made for the messages of a word for which evaluation comes to it, once however often it is written.
//
// A message for which a function fails is handled like one that raises, until the end, where it is undecided: so a short cut
// hides a failure as it hides a raise, and what doesn't need the value gets its verdict.
//
// Calls are made last; stages.go says where, and why that changes nothing that is delivered.
type callProgram struct {
	base
	columns   []filter.Column
	layout    *filter.Layout
	root      node
	calls     []callColumn
	functions []filter.Function
	needs     filter.Needs
	blocks    sync.Pool // of *block
}

var (
	_ filter.Program       = (*callProgram)(nil)
	_ filter.FailurePolicy = (*callProgram)(nil)
	_ filter.Explainer     = (*callProgram)(nil)
	_ filter.Renewable     = (*callProgram)(nil)
	_ filter.Modular       = (*callProgram)(nil)
	_ filter.Prefilter     = (*callProgram)(nil)
)

// callColumn is a call: its function and where the arguments come from.
type callColumn struct {
	function filter.Function
	args     []argument
}

// argument is the source of one: a constant, a property's column, or another call.
type argument struct {
	kind     filter.ValueKind
	constant bool
	text     []byte
	number   int64
	column   int // -1 when it is a call
	call     int
}

// callState is what a call has given for the messages of a block.
type callState struct {
	done   uint64
	values filter.Values
	call   filter.Call
	fresh  filter.Values
}

func newCallProgram(b base, tree *sqltree.Tree) *callProgram {
	return callProgramOf(b, tree, (*vectorizer).delivery)
}

func callProgramOf(b base, tree *sqltree.Tree, build func(*vectorizer, sqltree.Cond) node) *callProgram {
	p := &callProgram{base: b, functions: tree.Functions}
	v := vectorizer{columns: map[filter.Column]int{}, calls: &callColumns{known: map[string]int{}}}
	p.root = build(&v, tree.Root)
	p.columns, p.calls = v.list, v.calls.list
	p.layout = filter.NewLayout(p.columns)
	same := make([]int, len(p.columns))
	for i := range same {
		same[i] = i
	}
	p.blocks.New = func() any {
		blk := &block{columns: filter.NewColumns(p.layout), at: same, calls: make([]callState, len(p.calls)), program: p}
		for i := range p.calls {
			blk.calls[i].call.Args = make([]filter.Argument, len(p.calls[i].args))
			blk.calls[i].call.Kinds = p.calls[i].function.Arguments()
		}
		return blk
	}
	p.needs = filter.Needs{Record: true, Properties: append([]string{}, b.properties...)}
	for i := range p.calls {
		p.need(p.calls[i].function.Needs())
	}
	return p
}

// need adds what a function reads.
func (p *callProgram) need(n filter.Needs) {
	if n.Record && n.Properties == nil {
		p.needs.Properties = nil
	} else if p.needs.Properties != nil {
		p.needs.Properties = append(p.needs.Properties, n.Properties...)
	}
	if !n.Body {
		return
	}
	if p.needs.Body && (n.BodyMax == 0 || p.needs.BodyMax == 0) {
		p.needs.BodyMax = 0
	} else {
		p.needs.BodyMax = max(p.needs.BodyMax, n.BodyMax)
	}
	p.needs.Body = true
}

// Needs lists the properties, and what whole modules read.
func (p *callProgram) Needs() filter.Needs { return p.needs }

// Pure says that all functions are.
func (p *callProgram) Pure() bool {
	for i := range p.calls {
		if !p.calls[i].function.Pure() {
			return false
		}
	}
	return true
}

// Stale says that the name of a function or its module has come to mean another one.
func (p *callProgram) Stale() bool {
	for _, f := range p.functions {
		if r, ok := f.(filter.Renewable); ok && r.Stale() {
			return true
		}
	}
	return false
}

// ModuleRefs lists the modules of all functions, each once.
func (p *callProgram) ModuleRefs() (list []filter.ModuleRef) {
	for _, f := range p.functions {
		m, ok := f.(filter.Modular)
		if !ok {
			continue
		}
		for _, ref := range m.ModuleRefs() {
			if !slices.Contains(list, ref) {
				list = append(list, ref)
			}
		}
	}
	return list
}

// Close closes the functions.
func (p *callProgram) Close() error {
	var errs []error
	for _, f := range p.functions {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Fault returns the last failure of a function.
func (p *callProgram) Fault() error {
	for i := range p.calls {
		if err := p.calls[i].function.Fault(); err != nil {
			return err
		}
	}
	return nil
}

// OnPoison is what the functions agree on: anybody's hold counts, then anybody's drop.
func (p *callProgram) OnPoison() filter.FailureAction {
	return p.action(filter.Function.OnPoison)
}

// OnFault is what the functions agree on, in the same way.
func (p *callProgram) OnFault() filter.FailureAction {
	return p.action(filter.Function.OnFault)
}

func (p *callProgram) action(of func(filter.Function) filter.FailureAction) filter.FailureAction {
	action := filter.Pass
	for i := range p.calls {
		switch of(p.calls[i].function) {
		case filter.Hold:
			return filter.Hold
		case filter.Drop:
			action = filter.Drop
		}
	}
	return action
}

// Match judges the batch, 64 messages at a time.
func (p *callProgram) Match(ctx context.Context, batch *filter.Batch, v *filter.Verdicts) error {
	b := p.blocks.Get().(*block)
	defer b.release()
	b.ctx, b.batch = ctx, batch
	n := batch.Len()
	for first := 0; first < n; first += filter.ColumnsMax {
		last := min(first+filter.ColumnsMax, n)
		b.begin(first)
		b.columns.Load(batch.Records[min(first, len(batch.Records)):min(last, len(batch.Records))])
		want := ^uint64(0) >> (filter.ColumnsMax - (last - first))
		unsound := want &^ b.columns.Sound()
		t, u, e := p.root.eval(b, want&^unsound)
		if b.err != nil {
			return b.err
		}
		failed := e & b.failed
		i := first / 64
		v.True[i], v.Unknown[i], v.Raise[i] = t, u, e&^failed
		v.Undecided[i], v.Poison[i] = unsound|failed, failed&b.poison
	}
	return nil
}

// begin makes b ready for the messages of the batch from first on.
func (b *block) begin(first int) {
	b.first, b.failed, b.poison = first, 0, 0
	for i := range b.calls {
		b.calls[i].done = 0
		b.calls[i].values.Reset()
	}
}

// release lets go of the batch.
func (b *block) release() {
	b.columns.Clear()
	b.ctx, b.batch, b.err = nil, nil, nil
	for i := range b.calls {
		c := &b.calls[i].call
		c.Batch = nil
		for k := range c.Args {
			clear(c.Args[k].Texts[:])
		}
	}
	b.program.blocks.Put(b)
}

// value returns the state of a call, which has values for the messages in need then.
func (b *block) value(call int, need uint64) *callState {
	s := &b.calls[call]
	todo := need &^ s.done
	if todo == 0 || b.err != nil {
		return s
	}
	s.done |= todo
	column := &b.program.calls[call]
	c := &s.call
	c.Batch, c.First = b.batch, b.first
	strict := column.function.Strict()
	for i := range column.args { // an argument that decides the value hides those behind it
		a := &c.Args[i]
		todo &^= b.argument(&column.args[i], a, todo, s)
		if strict {
			s.values.Unknown |= a.Missing & todo
			todo &^= a.Missing
		}
		s.values.Raise |= a.Malformed & todo
		todo &^= a.Malformed
	}
	if c.Want = todo; todo == 0 {
		return s
	}
	s.fresh.Reset()
	if b.err = column.function.Call(b.ctx, c, &s.fresh); b.err != nil {
		return s
	}
	s.add(todo, column.function.Result())
	return s
}

// add takes over fresh values.
func (s *callState) add(todo uint64, kind filter.ValueKind) {
	f, v := &s.fresh, &s.values
	v.True |= f.True & todo
	v.Unknown |= f.Unknown & todo
	v.Raise |= f.Raise & todo
	v.Failed |= f.Failed & todo
	v.Poison |= f.Poison & todo
	if kind == filter.BooleanValue {
		return
	}
	for w := todo; w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		v.Numbers[i] = f.Numbers[i]
	}
}

// argument fills one for the messages in need, and returns those for which the call that is the argument has failed.
func (b *block) argument(from *argument, to *filter.Argument, need uint64, s *callState) (failed uint64) {
	to.Constant, to.Missing, to.Malformed = from.constant, 0, 0
	switch {
	case from.constant:
		to.Texts[0], to.Numbers[0] = from.text, from.number
		return 0
	case from.column < 0:
		return b.calledArgument(from, to, need, s)
	}
	at := b.at[from.column]
	present := b.columns.Present(at)
	to.Missing = need &^ present
	switch from.kind {
	case filter.TextValue, filter.BooleanValue:
		for w := need & present; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w) & 63
			text := b.columns.Value(at, i)
			to.Texts[i] = text
			to.Numbers[i] = int64(bit(len(text) == 4 && bytes.EqualFold(text, []byte("true"))))
		}
	default:
		ok, numbers := b.columns.Numbers(at, need)
		to.Malformed = need & present &^ ok
		for w := need & present & ok; w != 0; w &= w - 1 {
			i := bits.TrailingZeros64(w) & 63
			to.Numbers[i] = numbers[i]
			if from.kind == filter.DoubleValue {
				to.Numbers[i] = int64(math.Float64bits(filter.UnorderDouble(numbers[i])))
			}
		}
	}
	return 0
}

// calledArgument takes the value of another call. What raises there is malformed here, which raises.
func (b *block) calledArgument(from *argument, to *filter.Argument, need uint64, s *callState) (failed uint64) {
	inner := &b.value(from.call, need).values
	kind := b.program.calls[from.call].function.Result()
	to.Missing, to.Malformed = inner.Unknown&need, inner.Raise&need
	failed = inner.Failed & need
	s.values.Failed |= failed
	s.values.Poison |= inner.Poison & need
	for w := need &^ (inner.Unknown | inner.Raise | inner.Failed); w != 0; w &= w - 1 {
		i := bits.TrailingZeros64(w) & 63
		switch {
		case kind == filter.BooleanValue:
			to.Numbers[i] = int64(inner.True >> i & 1)
		case kind == filter.Int64Value && from.kind == filter.DoubleValue:
			to.Numbers[i] = floatBits(inner.Numbers[i])
		default:
			to.Numbers[i] = inner.Numbers[i]
		}
	}
	return failed
}

// callColumns collects calls. Equal ones are one.
type callColumns struct {
	known map[string]int
	list  []callColumn
}

func (v *vectorizer) call(c *sqltree.Call) int {
	text := c.String()
	if i, ok := v.calls.known[text]; ok {
		return i
	}
	column := callColumn{function: c.Function}
	for i := range c.Args {
		a := &c.Args[i]
		from := argument{kind: a.Kind, constant: a.Constant(), text: []byte(a.Text), number: a.Number, column: -1}
		switch {
		case a.Property != "":
			from.column = v.column(a.Property, columnKinds[a.Kind])
		case a.Call != nil:
			from.call = v.call(a.Call)
		}
		column.args = append(column.args, from)
	}
	v.calls.list = append(v.calls.list, column)
	v.calls.known[text] = len(v.calls.list) - 1
	return len(v.calls.list) - 1
}

// columnKinds says how a property is read for an argument.
var columnKinds = map[filter.ValueKind]filter.Kind{filter.TextValue: filter.Text, filter.BooleanValue: filter.Text,
	filter.Int32Value: filter.Int32, filter.Int64Value: filter.Int64, filter.DoubleValue: filter.Double}
