package wasmtest

import (
	"bytes"
	"testing"
)

// TestCorpus makes everything twice: equal names or bytes would hide a case.
func TestCorpus(t *testing.T) {
	names, binaries := map[string]bool{}, map[string]string{}
	again := Corpus()
	for i, x := range Corpus() {
		if names[x.Name] {
			t.Errorf("there are two cases %q", x.Name)
		}
		names[x.Name] = true
		if other := binaries[string(x.Binary)]; other != "" {
			t.Errorf("%q has the bytes of %q", x.Name, other)
		}
		binaries[string(x.Binary)] = x.Name
		if !bytes.Equal(x.Binary, again[i].Binary) {
			t.Errorf("%q isn't the same each time", x.Name)
		}
	}
	for seed := range uint64(20) {
		if !bytes.Equal(Generated(seed), Generated(seed)) || !bytes.Equal(Mutated(seed), Mutated(seed)) {
			t.Errorf("module %d isn't the same each time", seed)
		}
	}
}
