package remoting

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/fastjson"
	"github.com/weirmq/weir/core/transport"
	"github.com/weirmq/weir/sdk/wire"
)

var update = flag.Bool("update", false, "write testdata/dispatch.txt again")

// recorded is a frame that a real client, broker or name server sent. The archive is the codec's.
type recorded struct {
	File        string
	RequestCode int32
	Kind        string // request, one-way request, response
	From, To    string
	bytes       []byte
}

func recordedFrames(tb testing.TB) []*recorded {
	tb.Helper()
	f, err := os.Open("../../../sdk/wire/testdata/frames.tar.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		if files[strings.TrimPrefix(h.Name, "frames/")], err = io.ReadAll(r); err != nil {
			tb.Fatal(err)
		}
	}
	var index []*recorded
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		tb.Fatal(err)
	}
	for _, g := range index {
		g.bytes = files[g.File]
	}
	return index
}

// toServer says whether the frame is a request to a broker or a name server.
func (g *recorded) toServer() bool { return g.Kind != "response" && g.To != "client" }

// TestRecordedRequestsReachTheirRoles sends every request that was recorded from real clients, tools and brokers to an
// endpoint with all roles, and compares what the roles are asked with testdata/dispatch.txt.
func TestRecordedRequestsReachTheirRoles(t *testing.T) {
	roles := &allRoles{}
	e := start(t, roles.handlers(), nil)
	p := dial(t, e)
	var got strings.Builder
	var h wire.Header
	for _, g := range recordedFrames(t) {
		if !g.toServer() {
			continue
		}
		if _, err := h.Decode(g.bytes); err != nil {
			t.Fatalf("%s: %v", g.File, err)
		}
		p.write(g.bytes)
		fmt.Fprintf(&got, "%s\n", g.File)
		// Behind a request that may not be answered comes one that is: then the first has been served.
		opaque := h.Opaque
		if h.IsOneway() {
			p.write(frame(t, wire.JSON, 9999, opaque, 0, nil, nil))
		}
		for {
			a := p.read()
			if h.IsOneway() && a.Code == 3 && strings.Contains(string(a.Remark), "9999") {
				break
			}
			if a.Opaque != opaque || !a.IsResponse() || a.Type != h.Type || a.Version != 407 {
				t.Errorf("%s: answer %+v", g.File, a.Header)
			}
			fmt.Fprintf(&got, "  %d %s\n", a.Code, a.Remark)
			if !h.IsOneway() {
				break
			}
		}
		waitFor(t, func() bool { return nothingUnderWay(e) })
		for _, asked := range roles.take() {
			fmt.Fprintf(&got, "  %s\n", asked)
		}
	}
	compareGolden(t, "testdata/dispatch.txt", got.String())
}

// nothingUnderWay reports whether no connection has a request in a goroutine of its own.
func nothingUnderWay(e *endpoint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		if len(c.slow) > 0 {
			return false
		}
	}
	return true
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantLines, gotLines := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(wantLines), len(gotLines)) {
		var w, g string
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if w != g {
			t.Fatalf("%s:%d:\ngot  %s\nwant %s", file, i+1, g, w)
		}
	}
}

// shape reduces a JSON value to the names of its members, with the names in tables of things replaced by a star.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if tableKey(k) {
				k = "*"
			}
			out[k] = shape(e)
		}
		return out
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	}
	return "scalar"
}

// tableKey says whether a member's name is data: members of beans are plain words that begin with a lower-case letter.
func tableKey(k string) bool {
	known := []string{"broker-a", "exercise-", "lite", "pull"}
	return k == "" || k[0] < 'a' || k[0] > 'z' || strings.ContainsAny(k, "@{\"-:%") || slices.ContainsFunc(known, func(p string) bool { return strings.HasPrefix(k, p) })
}

// TestAnswersHaveTheShapeOfRecordedOnes compares the members of our JSON bodies with those of RocketMQ's: every member
// that a real broker sent must be there.
func TestAnswersHaveTheShapeOfRecordedOnes(t *testing.T) {
	roles := &allRoles{}
	e := start(t, roles.handlers(), nil)
	p := dial(t, e)
	frames := recordedFrames(t)
	done := map[int32]bool{}
	for _, g := range frames {
		if !g.toServer() || done[g.RequestCode] {
			continue
		}
		want := recordedBody(t, frames, g.RequestCode)
		if want == nil {
			continue
		}
		p.write(g.bytes)
		a := p.read()
		if a.Code != 0 || len(a.body) == 0 {
			continue
		}
		done[g.RequestCode] = true
		got := parseLoosely(t, a.body)
		if missing := lacks(shape(want), shape(got)); len(missing) > 0 {
			t.Errorf("%s: our answer lacks %v\nours  %s", g.File, missing, a.body)
		}
	}
	if len(done) < 15 {
		t.Errorf("compared only %d answers", len(done))
	}
}

// passedOn are the requests whose answer's body is a client's, or free.
var passedOn = []int32{wire.CodeGetConsumerRunningInfo, wire.CodeConsumeMessageDirectly, wire.CodeGetBrokerRuntimeInfo, wire.CodeGetKVListByNamespace}

// recordedBody returns the JSON body of a recorded answer of success to code, nil when there is none.
func recordedBody(t *testing.T, frames []*recorded, code int32) any {
	if slices.Contains(passedOn, code) {
		return nil
	}
	for _, g := range frames {
		if g.Kind != "response" || g.RequestCode != code {
			continue
		}
		var h wire.Header
		body, err := h.Decode(g.bytes)
		if err != nil || h.Code != 0 || len(body) == 0 || body[0] != '{' {
			continue
		}
		return parseLoosely(t, body)
	}
	return nil
}

func parseLoosely(t *testing.T, body []byte) any {
	t.Helper()
	strict, err := fastjson.AppendStrict(nil, body)
	if err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	var v any
	if err := json.Unmarshal(strict, &v); err != nil {
		t.Fatalf("body %s: %v", strict, err)
	}
	return v
}

// lacks lists the members of want that got hasn't, where got has anything there.
func lacks(want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{"an object"}
		}
		var missing []string
		for k, w := range want {
			e, ok := g[k]
			if !ok {
				missing = append(missing, k)
				continue
			}
			for _, m := range lacks(w, e) {
				missing = append(missing, k+"."+m)
			}
		}
		return missing
	case []any:
		g, ok := got.([]any)
		if !ok {
			return []string{"a list"}
		}
		if len(want) > 0 && len(g) > 0 {
			return lacks(want[0], g[0])
		}
	}
	return nil
}

var _ transport.Registry = registry{}
