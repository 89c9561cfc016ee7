package filter

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/message"
)

func record(t testing.TB, p message.Properties) []byte {
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	b, err := message.AppendRecord(nil, &message.Message{Topic: "T", BornHost: host, StoreHost: host, Properties: p})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestColumnsLocate compares with message.Properties for property strings of every odd shape.
func TestColumnsLocate(t *testing.T) {
	names := []string{"a", "ab", "abc", "b", "TAGS", "a-name-of-more-than-eight-bytes", "", "x\x01y", "\x02"}
	var columns []Column
	for _, n := range names {
		columns = append(columns, Column{Property: n})
	}
	strs := []string{"", "a\x01", "\x011", "a\x011", "a\x011\x02", "a\x011\x02a\x012", "a\x011\x02a\x01", "x\x01y\x01z", "ab\x01c", "abc\x01d\x02ab\x02a\x01\x01",
		"b\x011\x02\x02\x02a\x01" + strings.Repeat("v", 300), "TAGS\x01T\x02a-name-of-more-than-eight-bytes\x01v\x02", "\x02\x02", "\x01\x01\x01", "\x02\x01v", "a\x01\xff\xfe\x02b\x01中文"}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := make([]byte, r.IntN(60))
		for i := range b {
			b[i] = "ab\x01\x02T\x82\x81\x03"[r.IntN(8)]
		}
		strs = append(strs, string(b))
	}
	c := NewColumns(NewLayout(columns))
	for at, s := range strs {
		if at%3 == 0 {
			c.Reset()
		}
		i := at % ColumnsMax
		c.Reset()
		c.SetProperties(i, message.Properties(s))
		m := message.Properties(s).Map()
		for k, n := range names {
			want, has := m[n]
			got := c.Present(k)>>i&1 != 0
			if got != has || has && string(c.Value(k, i)) != want {
				t.Fatalf("%q: %q is %v, want %q %v", s, n, got, want, has)
			}
		}
	}
}

func TestColumnsLoad(t *testing.T) {
	layout := NewLayout([]Column{{"n", Int32}, {"n", Int64}, {"n", Double}, {"n", Text}, {"s", Text}})
	if got := layout.Properties(); !slices.Equal(got, []string{"n", "s"}) {
		t.Fatalf("properties %q", got)
	}
	c := NewColumns(layout)
	texts := []string{"5", "x", "3000000000", "2.5", ""}
	var records [][]byte
	for _, s := range texts {
		records = append(records, record(t, message.AppendProperty(nil, "n", s)))
	}
	records = append(records, nil, []byte("no record"))
	for range 2 { // the second load has to forget the first
		c.Load(records)
		if c.Sound() != 0b11111 || c.Present(0) != 0b01111 || c.Present(4) != 0 {
			t.Fatalf("sound %b, present %b and %b", c.Sound(), c.Present(0), c.Present(4))
		}
		for column, want := range []uint64{0b0001, 0b0101, 0b1101} {
			if ok, _ := c.Numbers(column, 0b0001); ok != 0b0001 {
				t.Fatalf("column %d: %b are numbers of the first", column, ok)
			}
			ok, numbers := c.Numbers(column, ^uint64(0))
			if ok != want {
				t.Fatalf("column %d: %b are numbers, want %b", column, ok, want)
			}
			five := int64(5)
			if column == 2 {
				five = OrderDouble(5)
			}
			if numbers[0] != five {
				t.Fatalf("column %d: %d", column, numbers[0])
			}
		}
		if got := c.EqualText(3, ^uint64(0), "x"); got != 0b0010 {
			t.Fatalf("equal to x: %b", got)
		}
		if got := c.In(3, ^uint64(0)&^1, NewTextSet("5", "2.5", "3000000000")); got != 0b1100 {
			t.Fatalf("in the set: %b", got)
		}
		records = records[:5]
	}
	c.Clear()
	if c.Sound() != 0 || c.Present(0) != 0 {
		t.Error("cleared, but not empty")
	}
}

func TestLayoutBind(t *testing.T) {
	a, b := []Column{{"x", Int32}, {"y", Text}}, []Column{{"y", Text}, {"x", Double}, {"x", Int32}}
	all := Union(a, b)
	if want := []Column{{"x", Int32}, {"y", Text}, {"x", Double}}; !slices.Equal(all, want) {
		t.Fatalf("union %v", all)
	}
	at, ok := NewLayout(all).Bind(b)
	if !ok || !slices.Equal(at, []int{1, 2, 0}) {
		t.Errorf("bound %v %v", at, ok)
	}
	if _, ok := NewLayout(a).Bind(b); ok {
		t.Error("a missing column was bound")
	}
}

// TestTextSet looks up every member and many others, of all lengths.
func TestTextSet(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 10, 100, 1000} {
		members := map[string]bool{}
		var list []string
		for range n {
			s := randomText(r)
			members[s] = s != ""
			list = append(list, s)
		}
		s := NewTextSet(append(list, list...)...)
		for _, m := range list {
			if s.Has([]byte(m)) != (m != "") {
				t.Fatalf("%d members: %q is missing", n, m)
			}
		}
		for range 2000 {
			x := randomText(r)
			if s.Has([]byte(x)) != members[x] {
				t.Fatalf("%d members: %q is in, want %v", n, x, members[x])
			}
		}
	}
}

func randomText(r *rand.Rand) string {
	b := make([]byte, r.IntN(70)>>r.IntN(7))
	for i := range b {
		b[i] = byte('a' + r.IntN(2))
	}
	return string(b)
}

func TestColumnsDontAllocate(t *testing.T) {
	layout := NewLayout([]Column{{"n", Int32}, {"n", Double}, {"s", Text}})
	var records [][]byte
	for i := range ColumnsMax {
		records = append(records, record(t, message.AppendProperty(message.AppendProperty(nil, "n", fmt.Sprint(i*1000, ".25")), "s", "x")))
	}
	c := NewColumns(layout)
	set := NewTextSet("x", "y")
	if n := testing.AllocsPerRun(100, func() {
		c.Load(records)
		c.Numbers(0, ^uint64(0))
		c.Numbers(1, ^uint64(0))
		c.In(2, ^uint64(0), set)
		c.EqualText(2, ^uint64(0), "x")
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
