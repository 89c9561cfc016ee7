package wasm

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
)

// goldenCall makes the arguments of calls and knows their values without any guest: those of the example places.
type goldenCall struct {
	name     string
	function string
	counts   []int
	args     []goldenArgument
	value    func(x []goldenValue) any // a bool, an int64 or a float64; unknown; raised
}

// goldenArgument makes the arguments in one place.
type goldenArgument struct {
	kind     SlotType
	constant bool
	at       func(i int) goldenValue
}

// goldenValue is an argument for a message. The values that a function returns instead of one are outcomes, too.
type goldenValue struct {
	status byte
	text   string
	bits   uint64
}

func (v goldenValue) double() float64 { return math.Float64frombits(v.bits) }

type outcome byte

const (
	unknown outcome = statusMissing
	raised  outcome = statusUnparsed
)

// each goes through values; a nil is missing, and an error is no value of its type.
func each(list ...any) func(i int) goldenValue {
	return func(i int) goldenValue {
		switch x := list[i%len(list)].(type) {
		case nil:
			return goldenValue{status: statusMissing}
		case string:
			return goldenValue{status: statusValue, text: x}
		case int:
			return goldenValue{status: statusValue, bits: uint64(int64(x))}
		case int64:
			return goldenValue{status: statusValue, bits: uint64(x)}
		case float64:
			bits := math.Float64bits(x)
			if x != x {
				bits = canonicalNaN
			}
			return goldenValue{status: statusValue, bits: bits}
		default:
			return goldenValue{status: statusUnparsed}
		}
	}
}

func column(kind SlotType, list ...any) goldenArgument {
	return goldenArgument{kind: kind, at: each(list...)}
}

func literal(kind SlotType, x any) goldenArgument {
	return goldenArgument{kind: kind, constant: true, at: each(x)}
}

func goldenCalls() []goldenCall {
	wrong := fmt.Errorf("no value of the type")
	inf, nan := math.Inf(1), math.NaN()
	lats := column(SlotDouble, 52.3, 52.5, 52.7, 52.70000000000001, nil, 48.8, wrong, nan, inf, math.Copysign(0, -1), 52.299)
	lons := column(SlotDouble, 13.0, 13.8, nil, 2.2, 13.4, wrong, -inf, 13.4, 2.5)
	cities := column(SlotText, "berlin", "paris", "", nil, "Berlin", "berlin\x00", "berli", "berlins", "rome", "\xff\xfe", "bérlin", "ベルリン", strings.Repeat("berlin", 40))
	long := strings.Repeat("\xc3\x28\x00é", 32767/5) + "zz" // as long as a property can be, and no UTF-8
	keys := column(SlotText, "ada", "", nil, "grace", "\x80", "\xed\xa0\x80", "é", "😀", "a\x00b")
	texts := column(SlotText, "ada", "", long, "grace", "", "x", "y", "z", "1", "2", "3", "4", "5", "6", "7", "8")
	shares := column(SlotInt64, 100, 1, 0, -1, nil, wrong, int64(math.MaxInt64), int64(math.MinInt64), 3, int64(1)<<33, 7)
	doubles := column(SlotDouble, 0.0, 3.0, -3.0, nil, 1e200, math.SmallestNonzeroFloat64, nan, inf, wrong, math.MaxFloat64, 52.5)
	shifted := goldenArgument{kind: SlotDouble, at: func(i int) goldenValue { return doubles.at(i*3 + 1) }}
	sizes := []int{1, 7, 8, 9, 63, 64, 65, 130}
	return []goldenCall{
		{name: "within", function: "within", counts: sizes, args: []goldenArgument{lats, lons, cities}, value: within},
		{name: "within-literal", function: "within", counts: []int{64, 100}, args: []goldenArgument{lats, lons, literal(SlotText, "berlin")}, value: within},
		{name: "within-place", function: "within", counts: []int{9}, args: []goldenArgument{literal(SlotDouble, 52.5), literal(SlotDouble, 13.4), cities}, value: within},
		{name: "apart", function: "apart", counts: sizes, args: []goldenArgument{doubles, shifted, shifted, doubles}, value: apart},
		{name: "apart-literal", function: "apart", counts: []int{64, 4096}, value: apart,
			args: []goldenArgument{lats, literal(SlotDouble, 13.4), literal(SlotDouble, 52.5), literal(SlotDouble, 13.4)}},
		{name: "share", function: "share", counts: sizes, args: []goldenArgument{keys, shares}, value: share},
		{name: "share-long", function: "share", counts: []int{16}, args: []goldenArgument{texts, shares}, value: share},
		{name: "share-literal", function: "share", counts: []int{64}, args: []goldenArgument{keys, literal(SlotInt64, 100)}, value: share},
		{name: "share-constant", function: "share", counts: []int{1, 11}, args: []goldenArgument{literal(SlotText, "ada"), shares}, value: share},
	}
}

// decided returns the outcome that the arguments alone decide, from left to right; 0 if there is none.
func decided(x []goldenValue) outcome {
	for i := range x {
		if x[i].status != statusValue {
			return outcome(x[i].status) + noValue
		}
	}
	return 0
}

// noValue keeps missing, which is 0, apart from no outcome.
const noValue = 0x80

func within(x []goldenValue) any {
	if o := decided(x); o != 0 {
		return o - noValue
	}
	area, ok := map[string][4]float64{"berlin": {52.3, 13, 52.7, 13.8}, "paris": {48.8, 2.2, 48.95, 2.5}}[x[2].text]
	if !ok {
		return unknown
	}
	lat, lon := x[0].double(), x[1].double()
	return lat >= area[0] && lat <= area[2] && lon >= area[1] && lon <= area[3]
}

func apart(x []goldenValue) any {
	if o := decided(x); o != 0 {
		return o - noValue
	}
	lat, lon := x[0].double()-x[2].double(), x[1].double()-x[3].double()
	a := lat * lat // apart, so that no processor adds and multiplies at once
	return math.Sqrt(a + float64(lon*lon))
}

func share(x []goldenValue) any {
	if o := decided(x[1:]); o != 0 {
		return o - noValue
	}
	of := int64(x[1].bits)
	switch {
	case of <= 0:
		return raised
	case x[0].status == statusMissing:
		return int64(0)
	}
	hash := uint32(2166136261)
	for _, b := range []byte(x[0].text) {
		hash = (hash ^ uint32(b)) * 16777619
	}
	return int64(hash) % of
}

// write lays n calls out, and returns the batch and the results.
func (g *goldenCall) write(n int) (batch, out []byte) {
	size := headerSize + 64 + (slotSize+refSize*n+9*n+64)*len(g.args)
	for k := range g.args {
		for i := range g.entries(k, n) {
			size += len(g.args[k].at(i).text)
		}
	}
	w := &writer{b: make([]byte, size)}
	_, head := w.column(headerSize)
	copy(head, "MQB1")
	le.PutUint16(head[4:], layoutMinor)
	le.PutUint32(head[atCount:], uint32(n))
	le.PutUint32(head[atSlots:], uint32(len(g.args)))
	directory, entries := w.column(slotSize * len(g.args))
	le.PutUint32(head[atDirectory:], uint32(directory))
	topic, name := w.column(len("golden"))
	copy(name, "golden")
	le.PutUint32(head[atTopic:], uint32(topic))
	le.PutUint32(head[atTopic+4:], uint32(len(name)))
	le.PutUint32(head[atQueue:], 5)
	refs := make([][]byte, len(g.args))
	for k := range g.args {
		entry, count := entries[slotSize*k:], g.entries(k, n)
		if g.args[k].constant {
			entry[9] = slotConstant
		}
		entry[8] = byte(g.args[k].kind)
		if g.args[k].kind == SlotText {
			var at int
			at, refs[k] = w.column(refSize * count)
			le.PutUint32(entry, uint32(at))
			continue
		}
		at, status := w.column(count)
		le.PutUint32(entry[4:], uint32(at))
		_, values := w.column(8 * count)
		for i := range count {
			v := g.args[k].at(i)
			status[i] = v.status
			le.PutUint64(values[8*i:], v.bits)
		}
	}
	for k := range refs {
		for i := range len(refs[k]) / refSize {
			if v := g.args[k].at(i); v.status == statusValue {
				putText(w, refs[k][refSize*i:], []byte(v.text))
			} else {
				le.PutUint32(refs[k][refSize*i:], missingOffset)
			}
		}
	}
	end := pad8(w.at) + paddingSize
	le.PutUint32(head[atLength:], uint32(end))
	return w.b[:end], g.results(n)
}

func (g *goldenCall) entries(k, n int) int {
	if g.args[k].constant {
		return 1
	}
	return n
}

// results writes the values of n calls as a guest does.
func (g *goldenCall) results(n int) []byte {
	words := (n + 63) / 64
	bits, numbers := make([]byte, 24*words), make([]byte, pad8(n)+8*n)
	boolean := g.function == "within"
	for i := range n {
		x := make([]goldenValue, len(g.args))
		for k := range g.args {
			x[k] = g.args[k].at(min(i, g.entries(k, n)-1))
		}
		set, value := 0, uint64(0)
		numbers[i] = statusValue
		switch v := g.value(x).(type) {
		case outcome:
			numbers[i] = byte(v)
			set = map[outcome]int{unknown: 1, raised: 2}[v]
		case bool:
			if !v {
				continue
			}
		case int64:
			value = uint64(v)
		case float64:
			if value = math.Float64bits(v); v != v {
				value = canonicalNaN
			}
		}
		bits[8*words*set+i/8] |= 1 << (i % 8)
		le.PutUint64(numbers[pad8(n)+8*i:], value)
	}
	if boolean {
		return bits
	}
	return numbers
}

// goldenCallBatches compares the batches of calls with the files, and lists them.
func goldenCallBatches(t *testing.T) (list []goldenBatch) {
	m := placesManifest(t)
	for _, g := range goldenCalls() {
		for _, n := range g.counts {
			batch, out := g.write(n)
			name := fmt.Sprintf("places-%s-%d", g.name, n)
			compare(t, name+".batch", batch)
			compare(t, name+".out", out)
			entry := goldenBatch{Filter: "places", Function: g.function, Batch: name + ".batch", Out: name + ".out", Count: n}
			for i := range m.Functions {
				if m.Functions[i].Name == g.function {
					entry.Number = m.Functions[i].Number
				}
			}
			list = append(list, entry)
			if n <= filter.ColumnsMax {
				g.compareWriter(t, name, n, batch)
			}
		}
	}
	return list
}

func placesManifest(t *testing.T) *Manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(guestsDir, "c/examples/places/manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// compareWriter wants the broker to lay the same calls out in the same bytes, if it would make them: it doesn't pass what is no
// value of its type.
func (g *goldenCall) compareWriter(t *testing.T, name string, n int, want []byte) {
	t.Helper()
	c := &filter.Call{Batch: &filter.Batch{Topic: "golden", Queue: 5}, Args: make([]filter.Argument, len(g.args))}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for k := range g.args {
		c.Kinds = append(c.Kinds, filter.ValueKind(g.args[k].kind))
		a := &c.Args[k]
		a.Constant = g.args[k].constant
		for i := range g.entries(k, n) {
			v := g.args[k].at(i)
			if v.status == statusUnparsed {
				return
			}
			if v.status == statusMissing {
				a.Missing |= 1 << i
			}
			a.Texts[i], a.Numbers[i] = []byte(v.text), int64(v.bits)
		}
	}
	area := make([]byte, callSize(c, order))
	for i := range area {
		area[i] = 0xEE
	}
	if got := area[:writeCall(area, c, order)]; string(got) != string(want) {
		t.Errorf("%s: the broker lays it out otherwise:\n%x, want\n%x", name, got, want)
	}
}

// goldenProgram compiles what an entry calls.
func goldenProgram(t *testing.T, bin []byte, g goldenBatch) *program {
	t.Helper()
	if g.Function == "" {
		return compiled(t, bin, nil, func(c *Config) { c.Config = g.Config })
	}
	c, err := open(t, bin, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Function(context.Background(), g.Function)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f.(*function).program
}

// TestGuestsRefuseCalls has every kit's library called as no broker does: each refuses with a code and a reason.
func TestGuestsRefuseCalls(t *testing.T) {
	calls := goldenCalls()
	batch, out := calls[0].write(9)
	other, _ := calls[5].write(9) // arguments of another function
	for language, path := range guests(t, "places") {
		t.Run(language, func(t *testing.T) {
			bin, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := goldenProgram(t, bin, goldenBatch{Function: "within"})
			for _, x := range []struct {
				name   string
				number uint64
				batch  []byte
				room   int
				code   int32
				text   string
			}{
				{"no such function", 7, batch, 4096, -6, "there is no such function"},
				{"no room", 0, batch, len(out) - 1, -5, "no room for the values"},
				{"no room for numbers", 1, batch, 15, -5, "no room for the values"},
				{"other arguments", 0, other, 4096, -2, "the arguments aren't of the types that the manifest must say"},
				{"an old layout", 0, withMinor(batch, 0), 4096, -3, ""},
				{"a later layout", 0, withMinor(batch, 9), 4096, 9, ""},
			} {
				if language == "c" && x.name == "other arguments" {
					continue // C's functions read their arguments themselves
				}
				in, err := p.take(true)
				if err != nil {
					t.Fatal(err)
				}
				if err := in.lend(len(x.batch) + 4096); err != nil {
					t.Fatal(err)
				}
				mem, _ := in.mod.Memory().Read(in.area, in.areaSize)
				copy(mem, x.batch)
				clear(mem[len(x.batch):])
				in.fuel.Set(1 << 40)
				n, err := in.call(in.function, x.number, uint64(in.area), uint64(len(x.batch)), uint64(in.area)+uint64(len(x.batch)), uint64(x.room))
				if err != nil || int32(n) != x.code {
					t.Errorf("%s: %d, %v; want %d", x.name, int32(n), err, x.code)
				}
				if x.text != "" && !strings.Contains(in.errorText(), x.text) {
					t.Errorf("%s: %q, want %q", x.name, in.errorText(), x.text)
				}
				in.close()
			}
		})
	}
}

func withMinor(batch []byte, minor uint16) []byte {
	b := append([]byte{}, batch...)
	binary.LittleEndian.PutUint16(b[4:], minor)
	return b
}
