package wasm

import (
	"math/rand/v2"
	"testing"

	"github.com/weirmq/weir/core/message"
)

// TestGatherAgreesWithNext compares with the plain walk, for property strings sound and broken.
func TestGatherAgreesWithNext(t *testing.T) {
	names := []string{"a", "ab", "abc", "b", "a\xffb", "longer_than_eight_bytes", "zz"}
	l := &layout{}
	for _, n := range names {
		l.need(n, SlotText)
	}
	values := make([][]byte, len(l.names))
	pieces := append([]string{"\x01", "\x02", "\x01\x02", "v", "value", "\x00\x03\x82\x81", "a\x01x\x02", "abc\x01\x01\x02", "zz\x01"}, names...)
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var p message.Properties
		for range r.IntN(14) {
			p = append(p, pieces[r.IntN(len(pieces))]...)
		}
		l.gather(p, values)
		for i, name := range l.names {
			want, ok := p.Get(name)
			if string(values[i]) != string(want) || (values[i] != nil) != ok {
				t.Fatalf("%q: %q is %q, want %q, %v", p, name, values[i], want, ok)
			}
		}
	}
}
