package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/test/internal/differ"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

// TestDiffer sends every request of the scripts in testdata/differ to the real broker and name server and to weir, and
// wants the same answers but for what the scripts allow. Both start empty and serve all scripts, in order of their
// names, so a script that fails may make later ones fail too.
func TestDiffer(t *testing.T) {
	t.Parallel()
	repo.NeedJava(t)
	if sut.Default() == sut.Java {
		t.Skip("Java is one side of this anyway")
	}
	scripts, err := filepath.Glob("testdata/differ/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	options := sut.Options{
		SegmentSize: 16 << 20, QueueEntries: 2000, // small files, so that copies of them are small
		JavaProperties: map[string]string{ // as weir is by default
			"maxTransferBytesOnMessageInMemory": "1048576", "maxTransferCountOnMessageInMemory": "1024",
		},
	}
	var brokers []*sut.Broker
	side := func(kind sut.Kind) differ.Side {
		o := options
		o.Kind = kind
		b := sut.Start(t, o)
		brokers = append(brokers, b)
		return differ.Side{Name: string(kind), Broker: b.Addr(), Names: b.NameServer()}
	}
	java, weir := side(sut.Java), side(sut.Weir)
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			result, err := differ.Run(string(text), java, weir)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, f := range result.Findings {
				t.Errorf("%s:%v", path, f)
			}
			for _, a := range result.Unused {
				t.Errorf("%s: not needed any more: %s", path, a)
			}
			t.Logf("%d requests, %d of them answered differently as allowed", result.Requests, result.Allowed)
		})
	}
	t.Run("stores", func(t *testing.T) { differStores(t, options, brokers...) })
}
