//go:build wasip1

package mqf

import (
	"errors"
	"math"
	"unsafe"
)

// ErrUnknown is what a function returns when its value is unknown, SQL's NULL. Any other error says that it can't be computed: the
// message doesn't match.
var ErrUnknown = errors.New("unknown")

// Argument is what arguments can be: double, int64, int32, boolean or text, in that order, and each of them with NULL. A string is
// valid during the call; keep a copy.
type Argument interface {
	float64 | int64 | int32 | bool | string | Null[float64] | Null[int64] | Null[int32] | Null[bool] | Null[string]
}

// Null is an argument that may be missing, in a function of which the manifest says "nulls": "called". Elsewhere a missing
// argument makes the value unknown, and in all functions one that is no value of its type raises.
type Null[T any] struct {
	V     T
	Valid bool
}

// Result is what results can be: boolean, int64 or double.
type Result interface{ bool | int64 | float64 }

// Function is a function for SQL92 expressions: wasm.NAME.FUNCTION(...). Func0 to Func4 make one.
type Function struct {
	args    []Type
	boolean bool
	run     func(b *Batch, out *answers)
}

// Functions hands functions over. Call it in an init function. Their numbers in the manifest are their places here, from 0; types
// are those of the manifest.
func Functions(list ...Function) { state.functions = list }

// Func0 makes a function without arguments.
func Func0[R Result](f func() (R, error)) Function {
	return function[R](nil, func(b *Batch, i int) (r R, s Status) { return give(f()) })
}

// Func1 makes a function of one argument.
func Func1[A Argument, R Result](f func(A) (R, error)) Function {
	var a A
	return function[R]([]Type{typeOf[A]()}, func(b *Batch, i int) (r R, s Status) {
		if s = get(b, 0, i, &a); s != Value {
			return r, s
		}
		return give(f(a))
	})
}

// Func2 makes a function of two arguments.
func Func2[A, B Argument, R Result](f func(A, B) (R, error)) Function {
	var a A
	var x B
	return function[R]([]Type{typeOf[A](), typeOf[B]()}, func(b *Batch, i int) (r R, s Status) {
		if s = get(b, 0, i, &a); s != Value {
			return r, s
		}
		if s = get(b, 1, i, &x); s != Value {
			return r, s
		}
		return give(f(a, x))
	})
}

// Func3 makes a function of three arguments.
func Func3[A, B, C Argument, R Result](f func(A, B, C) (R, error)) Function {
	var a A
	var x B
	var y C
	return function[R]([]Type{typeOf[A](), typeOf[B](), typeOf[C]()}, func(b *Batch, i int) (r R, s Status) {
		if s = get(b, 0, i, &a); s != Value {
			return r, s
		}
		if s = get(b, 1, i, &x); s != Value {
			return r, s
		}
		if s = get(b, 2, i, &y); s != Value {
			return r, s
		}
		return give(f(a, x, y))
	})
}

// Func4 makes a function of four arguments.
func Func4[A, B, C, D Argument, R Result](f func(A, B, C, D) (R, error)) Function {
	var a A
	var x B
	var y C
	var z D
	return function[R]([]Type{typeOf[A](), typeOf[B](), typeOf[C](), typeOf[D]()}, func(b *Batch, i int) (r R, s Status) {
		if s = get(b, 0, i, &a); s != Value {
			return r, s
		}
		if s = get(b, 1, i, &x); s != Value {
			return r, s
		}
		if s = get(b, 2, i, &y); s != Value {
			return r, s
		}
		if s = get(b, 3, i, &z); s != Value {
			return r, s
		}
		return give(f(a, x, y, z))
	})
}

// give makes a status of an error.
func give[R Result](r R, err error) (R, Status) {
	switch err {
	case nil:
		return r, Value
	case ErrUnknown:
		return r, Missing
	}
	return r, Unparsed
}

// get reads an argument. What is there of it without NULL is Missing where it is missing, which ends the function.
func get[A Argument](b *Batch, slot, i int, to *A) Status {
	switch p := any(to).(type) {
	case *float64:
		return number(b, slot, i, p)
	case *int64:
		return number(b, slot, i, p)
	case *int32:
		var n int64
		s := number(b, slot, i, &n)
		*p = int32(n)
		return s
	case *bool:
		var n int64
		s := number(b, slot, i, &n)
		*p = n != 0
		return s
	case *string:
		return b.textAt(slot, i, p)
	case *Null[float64]:
		return nullable(p, get(b, slot, i, &p.V))
	case *Null[int64]:
		return nullable(p, get(b, slot, i, &p.V))
	case *Null[int32]:
		return nullable(p, get(b, slot, i, &p.V))
	case *Null[bool]:
		return nullable(p, get(b, slot, i, &p.V))
	case *Null[string]:
		return nullable(p, get(b, slot, i, &p.V))
	}
	return Unparsed
}

func nullable[T any](p *Null[T], s Status) Status {
	if p.Valid = s == Value; s == Missing {
		var none T
		p.V = none
		return Value
	}
	return s
}

// entry returns where message i is in the columns of a slot, and how many entries they have: one, in a constant's.
func (b *Batch) entry(slot *slotEntry, i int) (at int, count uint32) {
	if slot.flags&1 != 0 {
		return 0, 1
	}
	return i, b.header.count
}

// number reads eight bytes of a typed column. What stands there without a value is no matter.
func number[T int64 | float64](b *Batch, slot, i int, to *T) Status {
	s := &b.slots[slot]
	i, count := b.entry(s, i)
	column := unsafe.Add(b.base, s.typed)
	*to = *(*T)(unsafe.Add(column, (count+7)&^7+8*uint32(i)))
	return *(*Status)(unsafe.Add(column, i))
}

func (b *Batch) textAt(slot, i int, to *string) Status {
	s := &b.slots[slot]
	i, _ = b.entry(s, i)
	r := *(*ref)(unsafe.Add(b.base, s.texts+8*uint32(i)))
	if r.at == missing {
		return Missing
	}
	*to = b.text(r)
	return Value
}

func typeOf[A Argument]() Type {
	switch any(*new(A)).(type) {
	case float64, Null[float64]:
		return Double
	case int64, Null[int64]:
		return Int64
	case int32, Null[int32]:
		return Int32
	case bool, Null[bool]:
		return Boolean
	}
	return Text
}

// answers are where the values go: statuses and values, or three bitmaps.
type answers struct {
	status []Status
	values []uint64
	bits   [3][]uint64
}

// function runs compute for each message.
func function[R Result](args []Type, compute func(b *Batch, i int) (R, Status)) Function {
	var none R
	_, boolean := any(none).(bool)
	return Function{args: args, boolean: boolean, run: func(b *Batch, out *answers) {
		for i := range b.Len() {
			r, s := compute(b, i)
			out.put(i, s, any(&r))
		}
	}}
}

// put writes one value. It is behind a pointer, so that nothing is allocated for it.
func (a *answers) put(i int, s Status, value any) {
	if a.status != nil {
		a.status[i] = s
	}
	switch p := value.(type) {
	case *bool:
		which := [...]int{Missing: 1, Value: 0, Unparsed: 2}[s]
		if s != Value || *p {
			a.bits[which][i>>6] |= 1 << (i & 63)
		}
	case *int64:
		if s == Value {
			a.values[i] = uint64(*p)
		}
	case *float64:
		switch {
		case s != Value:
		case *p != *p:
			a.values[i] = 0x7FF8000000000000
		default:
			a.values[i] = math.Float64bits(*p)
		}
	}
}

// takes says whether a batch has arguments of the function's types.
func (f *Function) takes(b *Batch) bool {
	if len(b.slots) != len(f.args) {
		return false
	}
	for i := range b.slots {
		if s := &b.slots[i]; Type(s.kind) != f.args[i] || (s.texts != 0) != (f.args[i] == Text) {
			return false
		}
	}
	return true
}

//go:wasmexport mqf_call
func call(fn uint32, batch unsafe.Pointer, length uint32, out unsafe.Pointer, room uint32) int32 {
	b := &state.batch
	if code := b.open(batch, length); code != 0 {
		return code
	}
	if int(fn) >= len(state.functions) {
		return fail(-6, "there is no such function")
	}
	f := &state.functions[fn]
	n := b.header.count
	words, column := (n+63)/64, (n+7)&^7
	need := column + 8*n
	if f.boolean {
		need = 24 * words
	}
	if room < need {
		return fail(-5, "no room for the values")
	}
	if !f.takes(b) {
		return fail(-2, "the arguments aren't of the types that the manifest must say")
	}
	a := &state.answers
	*a = answers{}
	if f.boolean {
		all := unsafe.Slice((*uint64)(out), 3*words)
		a.bits = [3][]uint64{all[:words], all[words : 2*words], all[2*words:]}
	} else {
		a.status = unsafe.Slice((*Status)(out), n)
		a.values = unsafe.Slice((*uint64)(unsafe.Add(out, column)), n)
	}
	f.run(b, a)
	return int32(n)
}

// fail keeps why a code is negative.
func fail(code int32, why string) int32 {
	state.failure = append(state.failure[:0], why...)
	return code
}
