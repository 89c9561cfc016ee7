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

// Func0 makes a function of no arguments.
func Func0[R Result](f func() (R, error)) Function {
	return function(nil, func(s []source, i int) (r R, status Status) {
		return give(f())
	})
}

// Func1 makes a function of one argument.
func Func1[A Argument, R Result](f func(A) (R, error)) Function {
	var (
		a A
	)
	readA := reader[A]()
	return function([]Type{typeOf[A]()}, func(s []source, i int) (r R, status Status) {
		if status = readA(&s[0], i, &a); status != Value {
			return r, status
		}
		return give(f(a))
	})
}

// Func2 makes a function of two arguments.
func Func2[A, B Argument, R Result](f func(A, B) (R, error)) Function {
	var (
		a A
		b B
	)
	readA, readB := reader[A](), reader[B]()
	return function([]Type{typeOf[A](), typeOf[B]()}, func(s []source, i int) (r R, status Status) {
		if status = readA(&s[0], i, &a); status != Value {
			return r, status
		}
		if status = readB(&s[1], i, &b); status != Value {
			return r, status
		}
		return give(f(a, b))
	})
}

// Func3 makes a function of three arguments.
func Func3[A, B, C Argument, R Result](f func(A, B, C) (R, error)) Function {
	var (
		a A
		b B
		c C
	)
	readA, readB, readC := reader[A](), reader[B](), reader[C]()
	return function([]Type{typeOf[A](), typeOf[B](), typeOf[C]()}, func(s []source, i int) (r R, status Status) {
		if status = readA(&s[0], i, &a); status != Value {
			return r, status
		}
		if status = readB(&s[1], i, &b); status != Value {
			return r, status
		}
		if status = readC(&s[2], i, &c); status != Value {
			return r, status
		}
		return give(f(a, b, c))
	})
}

// Func4 makes a function of four arguments.
func Func4[A, B, C, D Argument, R Result](f func(A, B, C, D) (R, error)) Function {
	var (
		a A
		b B
		c C
		d D
	)
	readA, readB, readC, readD := reader[A](), reader[B](), reader[C](), reader[D]()
	return function([]Type{typeOf[A](), typeOf[B](), typeOf[C](), typeOf[D]()}, func(s []source, i int) (r R, status Status) {
		if status = readA(&s[0], i, &a); status != Value {
			return r, status
		}
		if status = readB(&s[1], i, &b); status != Value {
			return r, status
		}
		if status = readC(&s[2], i, &c); status != Value {
			return r, status
		}
		if status = readD(&s[3], i, &d); status != Value {
			return r, status
		}
		return give(f(a, b, c, d))
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

// source is where the arguments in one place are in a batch.
type source struct {
	base   unsafe.Pointer
	status unsafe.Pointer // of a typed column
	values unsafe.Pointer // of it, or references to texts
	mask   int            // 0 for a constant, which has one entry for all messages
}

// source resolves a slot.
func (b *Batch) source(slot int) source {
	s, count := &b.slots[slot], b.header.count
	mask := -1
	if s.flags&1 != 0 {
		mask, count = 0, 1
	}
	if s.texts != 0 {
		return source{base: b.base, values: unsafe.Add(b.base, s.texts), mask: mask}
	}
	column := unsafe.Add(b.base, s.typed)
	return source{status: column, values: unsafe.Add(column, (count+7)&^7), mask: mask}
}

func readDouble(s *source, i int, to *float64) Status {
	i &= s.mask
	*to = *(*float64)(unsafe.Add(s.values, 8*i))
	return *(*Status)(unsafe.Add(s.status, i))
}

func readInt64(s *source, i int, to *int64) Status {
	i &= s.mask
	*to = *(*int64)(unsafe.Add(s.values, 8*i))
	return *(*Status)(unsafe.Add(s.status, i))
}

func readInt32(s *source, i int, to *int32) Status {
	i &= s.mask
	*to = *(*int32)(unsafe.Add(s.values, 8*i)) // the lower half
	return *(*Status)(unsafe.Add(s.status, i))
}

func readBool(s *source, i int, to *bool) Status {
	i &= s.mask
	*to = *(*int64)(unsafe.Add(s.values, 8*i)) != 0
	return *(*Status)(unsafe.Add(s.status, i))
}

func readText(s *source, i int, to *string) Status {
	r := (*ref)(unsafe.Add(s.values, 8*(i&s.mask)))
	if r.at == missing {
		return Missing
	}
	*to = unsafe.String((*byte)(unsafe.Add(s.base, r.at)), int(r.length))
	return Value
}

// orNull makes a missing argument one that is NULL.
func orNull[T any](read func(*source, int, *T) Status) func(*source, int, *Null[T]) Status {
	return func(s *source, i int, to *Null[T]) Status {
		status := read(s, i, &to.V)
		if to.Valid = status == Value; status == Missing {
			var none T
			to.V = none
			return Value
		}
		return status
	}
}

// reader returns what reads arguments of a type. A missing one ends the function where there is no Null for it.
func reader[A Argument]() (read func(*source, int, *A) Status) {
	switch p := any(&read).(type) {
	case *func(*source, int, *float64) Status:
		*p = readDouble
	case *func(*source, int, *int64) Status:
		*p = readInt64
	case *func(*source, int, *int32) Status:
		*p = readInt32
	case *func(*source, int, *bool) Status:
		*p = readBool
	case *func(*source, int, *string) Status:
		*p = readText
	case *func(*source, int, *Null[float64]) Status:
		*p = orNull(readDouble)
	case *func(*source, int, *Null[int64]) Status:
		*p = orNull(readInt64)
	case *func(*source, int, *Null[int32]) Status:
		*p = orNull(readInt32)
	case *func(*source, int, *Null[bool]) Status:
		*p = orNull(readBool)
	case *func(*source, int, *Null[string]) Status:
		*p = orNull(readText)
	}
	return read
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

// function computes the value for each message.
func function[R Result](args []Type, compute func(s []source, i int) (R, Status)) Function {
	var put func(*answers, int, R)
	boolean := false
	switch p := any(&put).(type) {
	case *func(*answers, int, bool):
		*p, boolean = putBool, true
	case *func(*answers, int, int64):
		*p = putInt64
	case *func(*answers, int, float64):
		*p = putDouble
	}
	sources := make([]source, len(args))
	return Function{args: args, boolean: boolean, run: func(b *Batch, out *answers) {
		for k := range sources {
			sources[k] = b.source(k)
		}
		for i := range b.Len() {
			r, status := compute(sources, i)
			switch {
			case status == Value:
				put(out, i, r)
			case !boolean:
				out.status[i] = status
			case status == Missing:
				out.bits[1][i>>6] |= 1 << (i & 63)
			default:
				out.bits[2][i>>6] |= 1 << (i & 63)
			}
		}
	}}
}

func putBool(a *answers, i int, x bool) {
	if x {
		a.bits[0][i>>6] |= 1 << (i & 63)
	}
}

func putInt64(a *answers, i int, x int64) {
	a.status[i], a.values[i] = Value, uint64(x)
}

func putDouble(a *answers, i int, x float64) {
	a.status[i], a.values[i] = Value, math.Float64bits(x)
	if x != x {
		a.values[i] = 0x7FF8000000000000
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
