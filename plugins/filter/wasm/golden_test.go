package wasm

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// The golden batches are what guests of all languages are tested with, here and without a broker: NAME-N.batch is a batch
// of N messages as mqf_filter or mqf_call gets it, NAME-N.out what must come back, and golden.json lists them.
var update = flag.Bool("update", false, "write the golden batches")

const (
	guestsDir = "../../../sdk/guest"
	goldenDir = guestsDir + "/golden"
)

// goldenBatch is an entry of golden.json.
type goldenBatch struct {
	Filter   string            `json:"filter"`
	Function string            `json:"function,omitempty"` // for mqf_call, by its name
	Number   int               `json:"number,omitempty"`   // of the function
	Config   map[string]string `json:"config"`
	Batch    string            `json:"batch"`
	Out      string            `json:"out"`
	Count    int               `json:"count"`
}

// goldenCase makes messages and knows their outcomes without any guest.
type goldenCase struct {
	filter   string
	config   map[string]string
	counts   []int
	props    func(i int) (map[string]string, string)
	judge    func(props map[string]string, body string) string
	manifest string // in place of the example's
}

func goldenCases() []goldenCase {
	number := func(s string) (float64, string) {
		if s == "" {
			return 0, "unknown"
		}
		f, ok := filter.ParseDouble([]byte(s))
		if !ok {
			return 0, "raise"
		}
		return f, ""
	}
	return []goldenCase{
		{filter: "threshold", config: map[string]string{"limit": "100"}, counts: []int{1, 63, 64, 65, 130},
			props: func(i int) (map[string]string, string) {
				values := []string{"100", "100.5", "", "much", "-1e300", "NaN", "Infinity", "0x1p7", "1e2d", " 101 ", "٣", "12345678901234567890"}
				p := map[string]string{"other": strconv.Itoa(i)}
				if v := values[i*7%len(values)]; v != "" {
					p["amount"] = v
				}
				return p, ""
			},
			judge: func(p map[string]string, _ string) string {
				f, fault := number(p["amount"])
				if fault != "" {
					return fault
				}
				return strconv.FormatBool(f > 100)
			}},
		{filter: "geo", config: map[string]string{"south": "52.3", "west": "13", "north": "52.7", "east": "13.8"}, counts: []int{1, 64, 100},
			props: func(i int) (map[string]string, string) {
				p := map[string]string{"lat": fmt.Sprint(52 + float64(i%10)/10), "lon": fmt.Sprint(12.5 + float64(i%7)/4)}
				switch i % 11 {
				case 3:
					delete(p, "lat")
				case 5:
					p["lon"] = "east"
				case 7:
					p = map[string]string{"lon": "?"}
				}
				return p, ""
			},
			judge: func(p map[string]string, _ string) string {
				lat, a := number(p["lat"])
				lon, b := number(p["lon"])
				switch {
				case a == "raise" || b == "raise":
					return "raise"
				case a != "" || b != "":
					return "unknown"
				}
				return strconv.FormatBool(lat >= 52.3 && lat <= 52.7 && lon >= 13 && lon <= 13.8)
			}},
		{filter: "json", config: map[string]string{"field": "region", "value": "eu"}, counts: []int{1, 64, 70},
			props: func(i int) (map[string]string, string) {
				bodies := []string{`{"region":"eu"}`, `{"region":"us"}`, ` { "a" : [1,{"region":"eu"},"]"] , "region" : "eu" } `, `{}`, ``, `[]`,
					`{"region":eu}`, `{"region":"e\u0075"}`, `{"a":"\"region\":\"eu\""}`, `{"region":"eu`, `{"a":1,}`, `{"a":1 "b":2}`, `{"region":["eu"]}`}
				return nil, bodies[i%len(bodies)]
			},
			judge: func(_ map[string]string, body string) string {
				switch body {
				case `{"region":"eu"}`, `{"region":eu}`, ` { "a" : [1,{"region":"eu"},"]"] , "region" : "eu" } `:
					return "true"
				case `{"region":"us"}`, `{"region":"e\u0075"}`, `{"region":["eu"]}`:
					return "false"
				case `{}`, `{"a":"\"region\":\"eu\""}`:
					return "unknown"
				}
				return "raise"
			}},
		{filter: "layout", counts: []int{3}, manifest: `{"name":"layout","version":"1.0.0","abi":"1.0","kind":["filter"],"purity":"impure",
			"needs":["meta","body","raw_props"],"body_cap":5,"props":[{"name":"t","type":"text"},{"name":"n","type":"int32"},
			{"name":"l","type":"int64"},{"name":"d","type":"double"},{"name":"b","type":"boolean"},{"name":"n","type":"text"}]}`,
			props: func(i int) (map[string]string, string) {
				return []map[string]string{{"t": "text", "n": "-7", "l": "9223372036854775807", "d": "-0.0", "b": "TRUE"}, {},
					{"t": "ü", "n": "x", "l": "1.5", "d": "?", "b": "yes"}}[i], []string{"", "abc", "longer than five"}[i]
			}},
	}
}

// rows lays the messages of a case out.
func (g *goldenCase) rows(t testing.TB, n int) (*rows, []string) {
	t.Helper()
	var m *Manifest
	text := []byte(g.manifest)
	if g.manifest == "" {
		var err error
		if text, err = os.ReadFile(filepath.Join(guestsDir, "c/examples", g.filter, "manifest.json")); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(m.Props)
	if g.filter == "threshold" {
		l.need("amount", SlotDouble)
	}
	r := &rows{layout: l, needs: m.batchNeeds()}
	r.begin(&filter.Batch{Topic: "golden", Queue: 5})
	var wants []string
	for i := range n {
		props, body := g.props(i)
		bin, err := (&Test{Props: props, Body: body}).record()
		if err != nil {
			t.Fatal(err)
		}
		rec := message.Record(bin)
		rec.Place(message.Offset(1000+i), 0, 1_700_000_000_000+int64(i))
		if !r.add(rec, int64(-i), batchSizeMax) {
			t.Fatal("too much for one batch")
		}
		if g.judge != nil {
			wants = append(wants, g.judge(props, body))
		}
	}
	return r, wants
}

// bitmaps writes outcomes as a guest does.
func bitmaps(wants []string) []byte {
	out := make([]byte, resultSize(len(wants)))
	words := len(out) / 24
	for i, w := range wants {
		at, ok := map[string]int{"true": 0, "unknown": 1, "raise": 2}[w]
		if ok {
			out[8*words*at+i/8] |= 1 << (i % 8)
		}
	}
	return out
}

// TestGoldenBatches lays the messages of all cases out and compares with the files.
func TestGoldenBatches(t *testing.T) {
	var list []goldenBatch
	for _, g := range goldenCases() {
		for _, n := range g.counts {
			r, wants := g.rows(t, n)
			area := make([]byte, r.size())
			for i := range area {
				area[i] = 0xEE // what was there must not shine through
			}
			length := r.write(area)
			if length > r.size() {
				t.Errorf("%s: %d bytes where %d were expected at most", g.filter, length, r.size())
			}
			name := fmt.Sprintf("%s-%d", g.filter, n)
			compare(t, name+".batch", area[:length])
			entry := goldenBatch{Filter: g.filter, Config: g.config, Batch: name + ".batch", Count: n}
			if g.judge != nil {
				entry.Out = name + ".out"
				compare(t, entry.Out, bitmaps(wants))
			}
			list = append(list, entry)
		}
	}
	list = append(list, goldenCallBatches(t)...)
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "golden.json", append(text, '\n'))
}

// compare compares with a file, or writes it.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join(goldenDir, name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("%s: %d bytes, want %d; they differ from byte %d on", name, len(got), len(want), i)
	}
}

// guests lists the modules of an example, by language. Those in Go are too large to be committed and are built.
func guests(t testing.TB, example string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(guestsDir, "*/examples", example, example+".wasm"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("found %q: %v", paths, err)
	}
	list := map[string]string{}
	for _, p := range paths {
		language, _, _ := strings.Cut(strings.TrimPrefix(p, guestsDir+"/"), "/")
		list[language] = p
	}
	delete(list, "go") // whatever was left there
	if !testing.Short() {
		list["go"] = buildGo(t, example)
	}
	return list
}

func buildGo(t testing.TB, example string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), example+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./examples/"+example)
	cmd.Dir = filepath.Join(guestsDir, "go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the example in Go: %v\n%s", err, msg)
	}
	pack := exec.Command("go", "run", "./pack", "examples/"+example+"/manifest.json", out)
	pack.Dir = cmd.Dir
	if msg, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("pack the example in Go: %v\n%s", err, msg)
	}
	return out
}

// TestGuests feeds the golden batches to the example of every language.
func TestGuests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldenDir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	byFilter := map[string][]goldenBatch{}
	var list []goldenBatch
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if g.Out != "" {
			byFilter[g.Filter] = append(byFilter[g.Filter], g)
		}
	}
	for example, batches := range byFilter {
		for language, path := range guests(t, example) {
			t.Run(example+"/"+language, func(t *testing.T) {
				bin, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				programs := map[string]*program{}
				for _, g := range batches {
					if programs[g.Function] == nil {
						programs[g.Function] = goldenProgram(t, bin, g)
					}
					runGolden(t, programs[g.Function], g)
				}
			})
		}
	}
}

// runGolden feeds one batch to a new instance.
func runGolden(t *testing.T, p *program, g goldenBatch) {
	t.Helper()
	batch, errBatch := os.ReadFile(filepath.Join(goldenDir, g.Batch))
	want, errWant := os.ReadFile(filepath.Join(goldenDir, g.Out))
	in, err := p.take(true)
	if err := errors.Join(errBatch, errWant, err); err != nil {
		t.Fatal(err)
	}
	defer in.close()
	start := p.cfg.Limits.FuelAtStart - int64(in.fuel.Get())
	if err := in.lend(len(batch) + len(want)); err != nil {
		t.Fatal(err)
	}
	mem, _ := in.mod.Memory().Read(in.area, in.areaSize)
	copy(mem, batch)
	clear(mem[len(batch) : len(batch)+len(want)])
	given := p.fuelFor(g.Count)
	if g.Count > 1024 { // more than a broker ever passes
		given *= 4
	}
	in.fuel.Set(uint64(given))
	judge := func() (uint64, error) {
		at, out := uint64(in.area), uint64(in.area)+uint64(len(batch))
		if g.Function != "" {
			return in.call(in.function, uint64(g.Number), at, uint64(len(batch)), out, uint64(len(want)))
		}
		return in.call(in.filter, at, uint64(len(batch)), out)
	}
	n, err := judge()
	if err != nil || int(n) != g.Count {
		t.Fatalf("%s: %d results, %v", g.Batch, int32(n), err)
	}
	t.Logf("%s: fuel %d at start, then %d of %d", g.Batch, start, given-int64(in.fuel.Get()), given)
	mem, _ = in.mod.Memory().Read(in.area, in.areaSize)
	if got := mem[len(batch) : len(batch)+len(want)]; !bytes.Equal(got, want) {
		t.Errorf("%s: results\n%x, want\n%x", g.Batch, got, want)
	}
	// What is no batch is refused with its code.
	mem[0] ^= 1
	if n, err := judge(); err != nil || int32(n) != -2 {
		t.Errorf("%s without its magic number gives %d, %v", g.Batch, int32(n), err)
	}
}
