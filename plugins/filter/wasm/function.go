package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/weirmq/weir/core/filter"
)

// function is a function of a module for SQL92 expressions. It is called with columns of arguments for up to 64 messages,
// like a filter with columns of properties, and has everything else of a program: instances, fuel, a breaker.
type function struct {
	*program
	about *Function
	args  []filter.ValueKind
}

var _ filter.Function = (*function)(nil)

// newFunction makes a function and starts the program's first instance.
func (c *maker) newFunction(ctx context.Context, m *module, r *reporter, about *Function) (*function, error) {
	p, err := c.newProgram(ctx, m, r, c.cfg.Config)
	if err != nil {
		return nil, err
	}
	f := &function{program: p, about: about}
	for _, t := range about.Args {
		f.args = append(f.args, filter.ValueKind(t))
	}
	return f, nil
}

func (f *function) Name() string                  { return f.module.name + "." + f.about.Name }
func (f *function) Arguments() []filter.ValueKind { return f.args }
func (f *function) Strict() bool                  { return f.about.Nulls != "called" }
func (f *function) Result() filter.ValueKind      { return filter.ValueKind(f.about.Result) }

// Needs asks for nothing but arguments.
func (f *function) Needs() filter.Needs { return filter.Needs{Properties: []string{}} }

// Key is that of the module with its settings, and the function's number.
func (f *function) Key() filter.Key {
	key := f.program.Key()
	return sha256.Sum256(binary.BigEndian.AppendUint32(key[:], uint32(f.about.Number)))
}

// Pure says that module and function promise it; see program.Pure.
func (f *function) Pure() bool { return f.about.Purity != "impure" && f.program.Pure() }

// Call computes the values, or says which messages have failed.
func (f *function) Call(ctx context.Context, c *filter.Call, r *filter.Values) error {
	want := f.sort(c, r)
	if want == 0 {
		return nil
	}
	trial, err := f.closedFor()
	if err != nil {
		r.Failed |= want
		f.remember(err)
		return nil
	}
	hasty := filter.InHaste(ctx)
	if hasty && !f.tryAcquire() {
		f.breaker.abandoned(trial)
		r.Failed |= want
		return nil
	}
	if !hasty {
		if err := f.acquire(ctx); err != nil {
			f.breaker.abandoned(trial)
			return err
		}
	}
	defer f.release()
	var all [filter.ColumnsMax]int
	order := all[:0]
	for w := want; w != 0; w &= w - 1 {
		order = append(order, bits.TrailingZeros64(w))
	}
	f.callAll(c, order, r, hasty)
	return nil
}

// sort decides the messages that the function isn't called for, argument by argument: a missing one makes the value
// unknown, unless the function wants to see that, and one that is no value of its type raises.
func (f *function) sort(c *filter.Call, r *filter.Values) (want uint64) {
	want = c.Want
	strict := f.Strict()
	for i := range c.Args {
		a := &c.Args[i]
		if strict {
			r.Unknown |= a.Missing & want
			want &^= a.Missing
		}
		r.Raise |= a.Malformed & want
		want &^= a.Malformed
	}
	return want
}

// remember keeps why messages have failed.
func (f *function) remember(err error) {
	err = fmt.Errorf("WASM function %s: %w", f.Name(), err)
	f.fault.Store(&err)
}

func (f *function) callAll(c *filter.Call, order []int, r *filter.Values, hasty bool) {
	for len(order) > 0 {
		n, err := f.invoke(c, order, r, false)
		if err == nil {
			f.sound.Store(true)
			f.breaker.succeeded()
			f.probeCall(c, order[:n], r)
			order = order[n:]
			continue
		}
		f.countFailed(err)
		if hasty {
			f.remember(err)
			for _, i := range order {
				r.Failed |= 1 << i
			}
		} else {
			f.isolateCall(c, order, r, err)
		}
		if f.breaker.failed(f.clock.Now()) {
			f.countOpened(err)
		}
		return
	}
}

// isolateCall computes what it can of a call that failed, and marks what is poison.
func (f *function) isolateCall(c *filter.Call, order []int, r *filter.Values, cause error) {
	poison := f.isolate(order, cause,
		func(part []int) (int, error) { return f.invoke(c, part, r, true) },
		func(err error, part []int) {
			f.remember(err)
			for _, i := range part {
				r.Failed |= 1 << i
			}
		})
	for _, i := range poison {
		r.Poison |= 1 << i
	}
}

// invoke has one call made, for as many messages of order as fit.
func (f *function) invoke(c *filter.Call, order []int, r *filter.Values, fresh bool) (int, error) {
	in, err := f.take(fresh)
	if err != nil {
		return 0, err
	}
	began := f.clock.Now()
	n, err := in.invoke(f, c, order, r)
	f.countCall(in, n, began)
	f.give(in, err == nil)
	return n, err
}

// probeCall asks again now and then, backwards and a fresh instance, if verdicts are kept; see probe.
func (f *function) probeCall(c *filter.Call, order []int, r *filter.Values) {
	if !f.Pure() || f.calls.Add(1)%probeEvery != 0 {
		return
	}
	other := slices.Clone(order)
	slices.Reverse(other)
	var again filter.Values
	for len(other) > 0 {
		n, err := f.invoke(c, other, &again, true)
		if err != nil {
			return
		}
		other = other[n:]
	}
	for _, i := range order {
		if r.True>>i&1 != again.True>>i&1 || r.Unknown>>i&1 != again.Unknown>>i&1 || r.Raise>>i&1 != again.Raise>>i&1 ||
			(r.Unknown|r.Raise)>>i&1 == 0 && r.Numbers[i] != again.Numbers[i] { // without a value there is an older one's number

			f.demote()
			return
		}
	}
}

// invoke lays the arguments of as many messages of order out as fit into one call, and reads the values.
func (in *instance) invoke(f *function, c *filter.Call, order []int, r *filter.Values) (int, error) {
	n := fitting(c, order)
	order = order[:n]
	in.batches++
	in.given = f.fuelFor(n)
	in.fuel.Set(uint64(in.given))
	results := resultSize(n)
	if f.Result() != filter.BooleanValue {
		results = pad8(n) + 8*n
	}
	if err := in.lend(callSize(c, order) + results); err != nil {
		return 0, err
	}
	mem, ok := in.mod.Memory().Read(in.area, in.areaSize)
	if !ok {
		return 0, ErrArea
	}
	length := writeCall(mem, c, order)
	clear(mem[length : length+results])
	out := in.area + uint32(length)
	res, err := in.call(in.function, uint64(f.about.Number), uint64(in.area), uint64(length), uint64(out), uint64(results))
	if err != nil {
		return 0, err
	}
	switch code := int32(res); {
	case code < 0:
		return 0, fault(ErrCode, "mqf_call of %s returned %s%s", f.about.Name, codeText(code), in.errorText())
	case int(code) != n:
		return 0, fault(ErrResultCount, "%d values of %s for %d messages", code, f.about.Name, n)
	}
	b, ok := in.mod.Memory().Read(out, uint32(results))
	if !ok {
		return 0, ErrArea
	}
	if f.Result() == filter.BooleanValue {
		readBooleans(b, order, r)
	} else {
		readNumbers(b, order, r, f.Result())
	}
	return n, nil
}

func readBooleans(b []byte, order []int, r *filter.Values) {
	t, u, e := le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	for k, i := range order {
		bit := uint64(1) << i
		switch {
		case e>>k&1 != 0:
			r.Raise |= bit
		case u>>k&1 != 0:
			r.Unknown |= bit
		case t>>k&1 != 0:
			r.True |= bit
		}
	}
}

func readNumbers(b []byte, order []int, r *filter.Values, kind filter.ValueKind) {
	values := b[pad8(len(order)):]
	for k, i := range order {
		bit := uint64(1) << i
		switch b[k] {
		case statusMissing:
			r.Unknown |= bit
		case statusValue:
			n := le.Uint64(values[8*k:])
			if kind == filter.DoubleValue && n&0x7ff0000000000000 == 0x7ff0000000000000 && n<<12 != 0 {
				n = canonicalNaN
			}
			r.Numbers[i] = int64(n)
		default:
			r.Raise |= bit
		}
	}
}

// textsOf returns how many bytes the texts of one message take.
func textsOf(c *filter.Call, i int) (size int) {
	for k := range c.Args {
		if a := &c.Args[k]; !a.Constant && a.Missing>>i&1 == 0 {
			size += len(a.Texts[i])
		}
	}
	return size
}

// fitting returns how many of the messages fit into one call, at least one.
func fitting(c *filter.Call, order []int) (n int) {
	size := 0
	for n < len(order) {
		if size += textsOf(c, order[n]); n > 0 && size > batchSizeMax {
			break
		}
		n++
	}
	return n
}

// callSize bounds what writeCall needs.
func callSize(c *filter.Call, order []int) int {
	n := len(order)
	size := headerSize + len(c.Args)*(slotSize+refSize*n+pad8(n)+8*n+2*paddingSize) + pad8(len(c.Batch.Topic)) + 2*paddingSize
	for k := range c.Args {
		if c.Args[k].Constant {
			size += len(c.Args[k].Texts[0])
		}
	}
	for _, i := range order {
		size += textsOf(c, i)
	}
	return size
}

// writeCall lays out a batch whose slots are the arguments; see the layout in arena.go. A constant has one entry for all.
func writeCall(area []byte, c *filter.Call, order []int) int {
	w := &writer{b: area}
	_, head := w.column(headerSize)
	clear(head)
	copy(head, "MQB1")
	le.PutUint16(head[4:], layoutMinor)
	le.PutUint32(head[atCount:], uint32(len(order)))
	le.PutUint32(head[atSlots:], uint32(len(c.Args)))
	directory, entries := w.column(slotSize * len(c.Args))
	clear(entries)
	le.PutUint32(head[atDirectory:], uint32(directory))
	topic, name := w.column(len(c.Batch.Topic))
	copy(name, c.Batch.Topic)
	le.PutUint32(head[atTopic:], uint32(topic))
	le.PutUint32(head[atTopic+4:], uint32(len(c.Batch.Topic)))
	le.PutUint32(head[atQueue:], uint32(c.Batch.Queue))
	kinds := c.Args
	for k := range kinds {
		writeArgument(w, entries[slotSize*k:], &kinds[k], order, c.Kinds[k])
	}
	for k := range kinds {
		if a := &kinds[k]; c.Kinds[k] == filter.TextValue {
			at := int(le.Uint32(entries[slotSize*k:]))
			writeTexts(w, at, a, order)
		}
	}
	end := pad8(w.at) + paddingSize
	clear(w.b[w.at:end])
	le.PutUint32(head[atLength:], uint32(end))
	return end
}

const slotConstant = 1 // in a slot's flags

// one is the order of a constant.
var one = []int{0}

// writeArgument writes the columns of fixed size of an argument.
func writeArgument(w *writer, entry []byte, a *filter.Argument, order []int, kind filter.ValueKind) {
	if a.Constant {
		entry[9] = slotConstant
		order = one
	}
	n := len(order)
	if kind == filter.TextValue {
		at, _ := w.column(refSize * n)
		le.PutUint32(entry, uint32(at))
		return
	}
	entry[8] = byte(kind)
	at, status := w.column(n)
	le.PutUint32(entry[4:], uint32(at))
	_, values := w.column(8 * n)
	for k, i := range order {
		status[k] = statusValue
		n := uint64(a.Numbers[i])
		if !a.Constant && a.Missing>>i&1 != 0 {
			status[k], n = statusMissing, 0
		}
		le.PutUint64(values[8*k:], n)
	}
}

func writeTexts(w *writer, at int, a *filter.Argument, order []int) {
	if a.Constant {
		order = one
	}
	refs := w.b[at : at+refSize*len(order)]
	for k, i := range order {
		if !a.Constant && a.Missing>>i&1 != 0 {
			le.PutUint32(refs[refSize*k:], missingOffset)
			le.PutUint32(refs[refSize*k+4:], 0)
			continue
		}
		putText(w, refs[refSize*k:], a.Texts[i])
	}
}

// Functions lists the module's functions.
func (c *compiler) Functions() (string, []string) {
	m, _ := c.running()
	if m == nil {
		return "", nil
	}
	var names []string
	for i := range m.manifest.Functions {
		names = append(names, m.manifest.Functions[i].Name)
	}
	return m.name, names
}

// Function makes the function of a name.
func (c *compiler) Function(ctx context.Context, name string) (filter.Function, error) {
	m, r := c.take()
	if m == nil {
		return nil, ErrStopped
	}
	defer m.life.release()
	f, err := c.functionOf(ctx, m, r, name)
	if err != nil {
		return nil, err
	}
	f.renewed = c.replaced(m)
	return f, nil
}

// functionOf makes a module's function by its name.
func (c *maker) functionOf(ctx context.Context, m *module, r *reporter, name string) (*function, error) {
	i := slices.IndexFunc(m.manifest.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return nil, fault(ErrUnknownFunction, "%q; the module %s has %s", printable([]byte(name), 100), m.name, functionNames(m))
	}
	f, err := c.newFunction(ctx, m, r, &m.manifest.Functions[i])
	if err != nil {
		return nil, fmt.Errorf("function %s of module %s: %w", name, m.name, err)
	}
	return f, nil
}

func functionNames(m *module) string {
	if len(m.manifest.Functions) == 0 {
		return "none"
	}
	var names []string
	for i := range m.manifest.Functions {
		names = append(names, m.manifest.Functions[i].Name)
	}
	return strings.Join(names, ", ")
}
