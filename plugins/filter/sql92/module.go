package sql92

import (
	"context"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/sqltree"
	"github.com/weirmq/weir/plugins/internal/sqlwasm"
)

// moduleProgram judges with a WebAssembly module that was made of the condition.
type moduleProgram struct {
	base
	module  filter.Module
	code    *sqlwasm.Program
	columns []filter.Column
	layout  *filter.Layout
	same    []int // column i is column i of layout
	reads   []int // of each of the module's columns, its index in columns
	hosted  []node
	blocks  sync.Pool // of *block with columns of their own
	// borrowed are blocks for columns of others.
	borrowed sync.Pool
}

var (
	_ filter.Program       = (*moduleProgram)(nil)
	_ filter.ColumnMatcher = (*moduleProgram)(nil)
)

func newModuleProgram(ctx context.Context, b base, root sqltree.Cond, engine filter.ModuleEngine) (*moduleProgram, error) {
	code, err := sqlwasm.Generate(root)
	if err != nil {
		return nil, err
	}
	p := &moduleProgram{base: b, code: code}
	if p.module, err = engine.LoadModule(ctx, code.Binary); err != nil {
		return nil, err
	}
	v := vectorizer{columns: map[filter.Column]int{}}
	for _, c := range code.Columns {
		p.reads = append(p.reads, v.column(c.Property, c.Kind))
	}
	for _, h := range code.Hosted {
		p.hosted = append(p.hosted, v.node(h.Cond))
	}
	p.columns = v.list
	p.layout = filter.NewLayout(p.columns)
	for i := range p.columns {
		p.same = append(p.same, i)
	}
	p.blocks.New = func() any { return &block{columns: filter.NewColumns(p.layout), at: p.same} }
	p.borrowed.New = func() any { return new(block) }
	return p, nil
}

// Close frees the module.
func (p *moduleProgram) Close() error { return p.module.Close() }

// Columns lists the columns that MatchColumns reads.
func (p *moduleProgram) Columns() []filter.Column { return p.columns }

// MatchColumns judges messages whose properties are in columns already.
func (p *moduleProgram) MatchColumns(c *filter.Columns, at []int, want uint64) (w filter.Word) {
	b := p.borrowed.Get().(*block)
	b.columns, b.at = c, at
	in, err := p.module.Take()
	if err == nil {
		w, err = p.judge(in, b, want)
		p.module.Give(in)
	}
	if err != nil {
		w = filter.Word{Undecided: want}
	}
	b.columns, b.at = nil, nil
	p.borrowed.Put(b)
	return w
}

// Match judges the batch.
func (p *moduleProgram) Match(_ context.Context, batch *filter.Batch, v *filter.Verdicts) error {
	in, err := p.module.Take()
	if err != nil {
		return err
	}
	defer p.module.Give(in)
	b := p.blocks.Get().(*block)
	defer func() {
		b.columns.Clear()
		p.blocks.Put(b)
	}()
	n := batch.Len()
	for first := 0; first < n; first += filter.ColumnsMax {
		last := min(first+filter.ColumnsMax, n)
		if len(p.columns) > 0 {
			b.columns.Load(batch.Records[min(first, len(batch.Records)):min(last, len(batch.Records))])
		}
		w, err := p.judge(in, b, ^uint64(0)>>(filter.ColumnsMax-(last-first)))
		if err != nil {
			return err
		}
		i := first / 64
		v.True[i], v.Unknown[i], v.Raise[i], v.Undecided[i] = w.True, w.Unknown, w.Raise, w.Undecided
	}
	return nil
}

// judge fills the module's memory and calls it, in several calls if the texts are too long for one.
func (p *moduleProgram) judge(in filter.ModuleInstance, b *block, want uint64) (w filter.Word, err error) {
	if len(p.columns) > 0 {
		w.Undecided = want &^ b.columns.Sound()
		want &^= w.Undecided
	}
	m := in.Memory()
	for i, n := range p.hosted {
		at := p.code.Hosted[i].At
		t, u, e := n.eval(b, want)
		putWord(m, at, t)
		putWord(m, at+8, u)
		putWord(m, at+16, e)
	}
	for want != 0 {
		part := p.fill(m, b, want)
		if err := in.Judge(part); err != nil {
			return w, err
		}
		w.True |= word(m, sqlwasm.TrueAt)
		w.Unknown |= word(m, sqlwasm.UnknownAt)
		w.Raise |= word(m, sqlwasm.RaiseAt)
		want &^= part
	}
	return w, nil
}

func putWord(m []byte, at uint32, w uint64) { binary.LittleEndian.PutUint64(m[at:], w) }
func word(m []byte, at uint32) uint64       { return binary.LittleEndian.Uint64(m[at:]) }

// fill writes the columns of messages in want, and returns those for which there was room, which is one at least.
func (p *moduleProgram) fill(m []byte, b *block, want uint64) (part uint64) {
	part = p.fillTexts(m, b, want)
	for i := range p.code.Columns {
		c := &p.code.Columns[i]
		at := b.at[p.reads[i]]
		present := b.columns.Present(at)
		putWord(m, c.Present(), present)
		if c.Shape != sqlwasm.Numbers {
			continue
		}
		read, numbers := b.columns.Numbers(at, part)
		putWord(m, c.Read(), read)
		for w := part & present & read; w != 0; w &= w - 1 {
			k := bits.TrailingZeros64(w) & (filter.ColumnsMax - 1)
			putWord(m, c.Items()+uint32(8*k), uint64(numbers[k]))
		}
	}
	return part
}

// fillTexts copies the texts, message by message.
func (p *moduleProgram) fillTexts(m []byte, b *block, want uint64) (part uint64) {
	next := p.code.Arena
	for w := want; w != 0; w &= w - 1 {
		k := bits.TrailingZeros64(w)
		for i := range p.code.Columns {
			c := &p.code.Columns[i]
			if c.Shape != sqlwasm.Texts || b.columns.Present(b.at[p.reads[i]])>>k&1 == 0 {
				continue
			}
			text := b.columns.Value(b.at[p.reads[i]], k)
			if next+uint32(len(text)) > p.code.End {
				return part
			}
			item := c.Items() + uint32(8*k)
			binary.LittleEndian.PutUint32(m[item:], next)
			binary.LittleEndian.PutUint32(m[item+4:], uint32(len(text)))
			next += uint32(copy(m[next:], text))
		}
		part |= 1 << k
	}
	return part
}
