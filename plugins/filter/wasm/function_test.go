package wasm

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// library is a module of functions: 0 even(int64) boolean, which traps at 77; 1 twice(double) double; 2 size(text, called
// with nulls) int64, which is unknown for a missing text; 3 than(int64, int64) boolean: greater than.
func library() *wasmtest.Guest {
	g := newGuest().With(map[string]any{"kind": []string{"functions"}, "functions": []map[string]any{
		{"number": 0, "name": "even", "args": []string{"int64"}, "result": "boolean"},
		{"number": 1, "name": "twice", "args": []string{"double"}, "result": "double"},
		{"number": 2, "name": "size", "args": []string{"text"}, "result": "int64", "nulls": "called"},
		{"number": 3, "name": "than", "args": []string{"int64", "int64"}, "result": "boolean"},
	}})
	g.Drop = []string{"mqf_filter"}
	g.Code["mqf_call"] = libraryCode
	return g
}

// libraryCode has parameters fn, batch, length, out, cap; locals 5 to 8 are index, entry, number of records, and status.
func libraryCode(c *wasmbin.Code) {
	const fn, batch, out, i, entry, n = 0, 1, 3, 5, 6, 7
	c.LocalGet(batch)
	c.Memory(wasmbin.I32Load, 2, atCount)
	c.LocalSet(n)
	c.LocalGet(batch)
	c.LocalGet(batch)
	c.Memory(wasmbin.I32Load, 2, atDirectory)
	c.Op(wasmbin.I32Add)
	c.LocalSet(entry)
	// typed pushes the address of the value of argument k for record i: batch + column + pad8(entries) + 8i, where a
	// constant has one entry.
	typed := func(k uint32) {
		constant := func() {
			c.LocalGet(entry)
			c.Memory(wasmbin.I32Load8U, 0, slotSize*k+9)
		}
		c.LocalGet(batch)
		c.LocalGet(entry)
		c.Memory(wasmbin.I32Load, 2, slotSize*k+4)
		c.Op(wasmbin.I32Add)
		wasmtest.Args(c, 8)
		c.LocalGet(n)
		wasmtest.Args(c, 7)
		c.Op(wasmbin.I32Add)
		wasmtest.Args(c, -8)
		c.Op(wasmbin.I32And)
		constant()
		c.Op(wasmbin.Select, wasmbin.I32Add)
		wasmtest.Args(c, 0)
		c.LocalGet(i)
		wasmtest.Args(c, 3)
		c.Op(wasmbin.I32Shl)
		constant()
		c.Op(wasmbin.Select, wasmbin.I32Add)
	}
	setBit := func() { // the condition is on the stack
		c.If(wasmbin.NoValue)
		c.LocalGet(out)
		c.LocalGet(i)
		wasmtest.Args(c, 3)
		c.Op(wasmbin.I32ShrU, wasmbin.I32Add)
		c.LocalTee(8)
		c.LocalGet(8)
		c.Memory(wasmbin.I32Load8U, 0, 0)
		wasmtest.Args(c, 1)
		c.LocalGet(i)
		wasmtest.Args(c, 7)
		c.Op(wasmbin.I32And, wasmbin.I32Shl, wasmbin.I32Or)
		c.Memory(wasmbin.I32Store8, 0, 0)
		c.End()
	}
	result := func() { // pushes the address of the value of record i
		c.LocalGet(out)
		c.LocalGet(n)
		wasmtest.Args(c, 7)
		c.Op(wasmbin.I32Add)
		wasmtest.Args(c, -8)
		c.Op(wasmbin.I32And, wasmbin.I32Add)
		c.LocalGet(i)
		wasmtest.Args(c, 3)
		c.Op(wasmbin.I32Shl, wasmbin.I32Add)
	}
	is := func(number int32, then func()) {
		c.LocalGet(fn)
		wasmtest.Args(c, number)
		c.Op(wasmbin.I32Eq)
		c.If(wasmbin.NoValue)
		then()
		c.End()
	}
	hasValue := func() { // out[i] = 1
		c.LocalGet(out)
		c.LocalGet(i)
		c.Op(wasmbin.I32Add)
		wasmtest.Args(c, 1)
		c.Memory(wasmbin.I32Store8, 0, 0)
	}
	c.Loop(wasmbin.NoValue)
	is(0, func() {
		typed(0)
		c.Memory(wasmbin.I64Load, 0, 0)
		c.I64Const(77)
		c.Op(wasmbin.I64Eq)
		c.If(wasmbin.NoValue)
		c.Op(wasmbin.Unreachable)
		c.End()
		typed(0)
		c.Memory(wasmbin.I64Load, 0, 0)
		c.I64Const(1)
		c.Op(wasmbin.I64And, wasmbin.I64Eqz)
		setBit()
	})
	is(1, func() {
		hasValue()
		result()
		typed(0)
		c.Memory(wasmbin.F64Load, 0, 0)
		typed(0)
		c.Memory(wasmbin.F64Load, 0, 0)
		c.Op(0xa0) // f64.add
		c.Memory(wasmbin.F64Store, 0, 0)
	})
	is(2, func() {
		c.LocalGet(batch) // where the reference of record i is
		c.LocalGet(entry)
		c.Memory(wasmbin.I32Load, 2, 0)
		c.Op(wasmbin.I32Add)
		c.LocalGet(i)
		wasmtest.Args(c, 3)
		c.Op(wasmbin.I32Shl, wasmbin.I32Add)
		c.LocalTee(8)
		c.Memory(wasmbin.I32Load, 2, 0)
		wasmtest.Args(c, -1)
		c.Op(wasmbin.I32Ne)
		c.If(wasmbin.NoValue)
		hasValue()
		result()
		c.LocalGet(8)
		c.Memory(wasmbin.I32Load, 2, 4)
		c.Op(wasmbin.I64ExtendI32U)
		c.Memory(wasmbin.I64Store, 0, 0)
		c.End()
	})
	is(3, func() {
		typed(0)
		c.Memory(wasmbin.I64Load, 0, 0)
		typed(1)
		c.Memory(wasmbin.I64Load, 0, 0)
		c.Op(wasmbin.I64GtS)
		setBit()
	})
	c.LocalGet(i)
	wasmtest.Args(c, 1)
	c.Op(wasmbin.I32Add)
	c.LocalTee(i)
	c.LocalGet(n)
	c.Op(wasmbin.I32LtU)
	c.BrIf(0)
	c.End()
	c.LocalGet(n)
}

func functionOf(t *testing.T, name string, ck clock.Clock) filter.Function {
	t.Helper()
	c, err := open(t, library().Build(), ck)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Function(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func callOf(f filter.Function, want uint64) *filter.Call {
	return &filter.Call{Want: want, Batch: &filter.Batch{Topic: "T"}, Args: make([]filter.Argument, len(f.Arguments())), Kinds: f.Arguments()}
}

func values(t *testing.T, f filter.Function, c *filter.Call) *filter.Values {
	t.Helper()
	r := &filter.Values{}
	if err := f.Call(context.Background(), c, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFunctionBoolean has values, missing ones and ones that are no numbers, in some of 64 messages.
func TestFunctionBoolean(t *testing.T) {
	f := functionOf(t, "even", clock.NewManual(time.Unix(1e9, 0)))
	c := callOf(f, 0xFFFF00000000FFFF)
	for i := range c.Args[0].Numbers {
		c.Args[0].Numbers[i] = int64(i)
	}
	c.Args[0].Missing, c.Args[0].Malformed = 0b1100, 0b10000
	r := values(t, f, c)
	even := uint64(0x5555555555555555)
	if r.True != even&c.Want&^0b11100 || r.Unknown != 0b1100 || r.Raise != 0b10000 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	if f.Name() != "guest.even" || f.Result() != filter.BooleanValue || f.Pure() {
		t.Errorf("%s %s, pure %v", f.Name(), f.Result(), f.Pure())
	}
}

func TestFunctionNumbers(t *testing.T) {
	f := functionOf(t, "twice", nil)
	c := callOf(f, 0b1011)
	for i, x := range []float64{1.5, -2, 9, math.NaN()} {
		c.Args[0].Numbers[i] = int64(math.Float64bits(x))
	}
	r := values(t, f, c)
	if r.Unknown|r.Raise|r.Failed != 0 || math.Float64frombits(uint64(r.Numbers[0])) != 3 || math.Float64frombits(uint64(r.Numbers[1])) != -4 || r.Numbers[3] != canonicalNaN {
		t.Errorf("%+v", r)
	}
}

// TestFunctionCalledWithNulls gets to see what is missing.
func TestFunctionCalledWithNulls(t *testing.T) {
	f := functionOf(t, "size", nil)
	c := callOf(f, 0b111)
	c.Args[0].Texts[0], c.Args[0].Texts[2] = []byte("four"), []byte(strings.Repeat("x", 1000))
	c.Args[0].Missing = 0b10
	if r := values(t, f, c); r.Unknown != 0b10 || r.Numbers[0] != 4 || r.Numbers[2] != 1000 {
		t.Errorf("%+v", r)
	}
	for i := range c.Args[0].Texts { // more than fits into one call
		c.Args[0].Texts[i] = []byte(strings.Repeat("y", 30_000+i))
	}
	c.Want, c.Args[0].Missing = math.MaxUint64, 0
	r := values(t, f, c)
	for i, n := range r.Numbers {
		if n != int64(30_000+i) {
			t.Fatalf("message %d: %d bytes", i, n)
		}
	}
}

// TestFunctionConstant compares with one value for all messages.
func TestFunctionConstant(t *testing.T) {
	f := functionOf(t, "than", nil)
	c := callOf(f, 0xFF)
	for i := range c.Args[0].Numbers {
		c.Args[0].Numbers[i] = int64(i)
	}
	c.Args[1].Constant, c.Args[1].Numbers[0] = true, 3
	if r := values(t, f, c); r.True != 0xF0 {
		t.Errorf("greater than 3: %b", r.True)
	}
	c.Args[0].Constant, c.Args[1].Constant = true, false
	c.Args[0].Numbers[0] = 5
	for i := range c.Args[1].Numbers {
		c.Args[1].Numbers[i] = int64(i)
	}
	if r := values(t, f, c); r.True != 0x1F {
		t.Errorf("less than 5: %b", r.True)
	}
}

// TestFunctionPoison has messages at which the function traps: they alone fail, and are to blame. Then it fails until it
// isn't called any more.
func TestFunctionPoison(t *testing.T) {
	f := functionOf(t, "even", clock.NewManual(time.Unix(1e9, 0)))
	c := callOf(f, math.MaxUint64)
	for _, i := range []int{3, 40} {
		c.Args[0].Numbers[i] = 77
	}
	r := values(t, f, c)
	bad := uint64(1<<3 | 1<<40)
	if r.Failed != bad || r.Poison != bad || r.True != ^bad || !errors.Is(f.Fault(), ErrTrap) {
		t.Errorf("failed %b, poison %b, %d true: %v", r.Failed, r.Poison, bits.OnesCount64(r.True), f.Fault())
	}
	for range breakerFailures {
		values(t, f, c)
	}
	if r := values(t, f, c); r.Failed != math.MaxUint64 || r.Poison != 0 || !errors.Is(f.Fault(), ErrOpen) {
		t.Errorf("open: failed %b, poison %b: %v", r.Failed, r.Poison, f.Fault())
	}
	if f.OnPoison() != filter.Drop || f.OnFault() != filter.Hold {
		t.Errorf("%v %v", f.OnPoison(), f.OnFault())
	}
}

func TestFunctionRefusals(t *testing.T) {
	c, err := open(t, library().Build(), nil)
	if err != nil {
		t.Fatal(err)
	}
	module, names := c.Functions()
	if module != "guest" || strings.Join(names, " ") != "even twice size than" {
		t.Errorf("%s %q", module, names)
	}
	if _, err := c.Function(context.Background(), "odd"); !errors.Is(err, ErrUnknownFunction) || !strings.Contains(err.Error(), "even, twice, size, than") {
		t.Errorf("unknown function: %v", err)
	}
	if _, err := c.Filter(context.Background(), "guest", nil); !errors.Is(err, errNoFilter) {
		t.Errorf("a library as a filter: %v", err)
	}
}

// TestKitFunctions calls the functions of the C kit's example.
func TestKitFunctions(t *testing.T) {
	bin, err := os.ReadFile(filepath.Join(guestsDir, "c", "examples", "places", "places.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := open(t, bin, nil)
	if err != nil {
		t.Fatal(err)
	}
	function := func(name string) filter.Function {
		f, err := c.Function(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	bitsOf := func(x float64) int64 { return int64(math.Float64bits(x)) }

	f := function("within")
	call := callOf(f, 0xFFFF)
	for i := range 16 {
		call.Args[0].Numbers[i], call.Args[1].Numbers[i] = bitsOf(52.05+float64(i)/10), bitsOf(13.4)
	}
	call.Args[2].Constant, call.Args[2].Texts[0] = true, []byte("berlin")
	call.Args[0].Missing, call.Args[1].Malformed = 1<<4, 1<<5
	if r := values(t, f, call); r.True != 1<<3|1<<6 || r.Unknown != 1<<4 || r.Raise != 1<<5 {
		t.Errorf("within: %b true, %b unknown, %b raise", r.True, r.Unknown, r.Raise)
	}
	call.Args[2].Texts[0] = []byte("rome")
	if r := values(t, f, call); r.True != 0 || r.Unknown != 0xFFFF&^(1<<5) {
		t.Errorf("within a place that isn't known: %b true, %b unknown", r.True, r.Unknown)
	}

	f = function("apart")
	call = callOf(f, 0b11)
	for k, x := range []float64{0, 0, 3, 4} {
		call.Args[k].Constant = k >= 2
		call.Args[k].Numbers[0], call.Args[k].Numbers[1] = bitsOf(x), bitsOf(x+3)
	}
	if r := values(t, f, call); r.Numbers[0] != bitsOf(5) || r.Numbers[1] != bitsOf(1) {
		t.Errorf("apart: %v and %v", math.Float64frombits(uint64(r.Numbers[0])), math.Float64frombits(uint64(r.Numbers[1])))
	}

	f = function("share")
	call = callOf(f, 0b1111)
	for i, text := range []string{"ada", "ada", "", "grace"} {
		call.Args[0].Texts[i] = []byte(text)
	}
	call.Args[0].Missing = 0b100
	call.Args[1].Constant, call.Args[1].Numbers[0] = true, 100
	r := values(t, f, call)
	if r.Numbers[0] != r.Numbers[1] || r.Numbers[0] < 0 || r.Numbers[0] > 99 || r.Numbers[2] != 0 || r.Unknown|r.Raise|r.Failed != 0 {
		t.Errorf("share: %+v", r)
	}
	if call.Args[1].Numbers[0] = 0; values(t, f, call).Raise != 0b1111 {
		t.Error("a share of nothing doesn't raise")
	}
}

// TestProbeOfFunctions calls a pure function often enough to be probed, with the same Values again and again, as SQL92 does: the
// number of an older message where there is no value now is no evidence against it.
func TestProbeOfFunctions(t *testing.T) {
	c, err := open(t, library().Build(), nil, func(c *Config) { c.Dispatch = true })
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Function(context.Background(), "size")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	call, r := callOf(f, 0b11), &filter.Values{}
	for i := range 2*probeEvery + 2 {
		call.Args[0].Texts[0], call.Args[0].Texts[1] = []byte("four"), []byte("three")
		call.Args[0].Missing = uint64(i % 2)
		r.Reset()
		if err := f.Call(context.Background(), call, r); err != nil {
			t.Fatal(err)
		}
	}
	if !f.Pure() {
		t.Error("a pure function was taken for an impure one")
	}
}
