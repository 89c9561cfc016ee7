// Package filter compares filter plugins with RocketMQ's own filter classes.
package filter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/plugin/plugintest"
	"github.com/weirmq/weir/plugins"
	"github.com/weirmq/weir/plugins/filter/sql92"
	"github.com/weirmq/weir/plugins/filter/sql92/sql92test"
	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/repo"
)

// expressions and messages make 100,000 pairs for each version.
const (
	expressions = 2500
	messages    = 40
)

// TestSQL92AgainstJava judges random messages with random expressions, here and by the classes of RocketMQ 4.9.7 and
// 5.3.3. Every outcome of every engine has to be the same, and so has every refusal to compile.
func TestSQL92AgainstJava(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ set, dialect string }{{javamq.Server4, "rocketmq"}, {javamq.Filter5, "rocketmq5"}} {
		t.Run(v.dialect, func(t *testing.T) {
			t.Parallel()
			repo.NeedJava(t)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			jars, err := javamq.Install(ctx, v.set)
			if err != nil {
				t.Fatal(err)
			}
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			g := sql92test.New(seed)
			g.Five = v.dialect == "rocketmq5"
			cases := makeCases(g)
			answers := judgeByJava(ctx, t, jars, cases)
			var compilers []filter.Compiler
			for _, engine := range []string{"vector", "wasm", "expr", "closure"} {
				compilers = append(compilers, compiler(t, engine, v.dialect))
			}
			seen := map[byte]int{}
			for i := range cases {
				for _, letter := range []byte(answers[i]) {
					seen[letter]++
				}
				for _, c := range compilers {
					cases[i].check(ctx, t, c, answers[i])
				}
			}
			t.Logf("%d outcomes true, %d false, %d unknown, %d raised; %d expressions refused", seen['T'], seen['F'], seen['U'], seen['R'], seen['X'])
		})
	}
}

type testCase struct {
	text  string
	props []map[string]string
}

func makeCases(g *sql92test.Generator) []testCase {
	cases := make([]testCase, expressions)
	for i := range cases {
		cases[i].text = g.Expression()
		for range messages {
			cases[i].props = append(cases[i].props, g.Properties())
		}
	}
	return cases
}

// write appends c in FilterJudge's form.
func (c *testCase) write(w *bytes.Buffer) {
	text := base64.RawURLEncoding.EncodeToString
	w.WriteString(text([]byte(c.text)))
	for i, props := range c.props {
		w.WriteByte(" ;"[min(i, 1)])
		for j, name := range slices.Sorted(maps.Keys(props)) {
			if j > 0 {
				w.WriteByte(',')
			}
			fmt.Fprintf(w, "%s:%s", text([]byte(name)), text([]byte(props[name])))
		}
	}
	w.WriteByte('\n')
}

func judgeByJava(ctx context.Context, t *testing.T, jars *javamq.Jars, cases []testCase) (answers []string) {
	home := t.TempDir()
	in, out := filepath.Join(home, "cases"), filepath.Join(home, "answers")
	var b bytes.Buffer
	for i := range cases {
		cases[i].write(&b)
	}
	if err := os.WriteFile(in, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := javamq.Program{Jars: jars, Home: home, Name: "judge", JVM: javamq.QuickStart, Main: "FilterJudge", Args: []string{in, out}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(ctx); err != nil {
		t.Fatalf("%v\n%s", err, p.Tail())
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Tail())
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		answers = append(answers, s.Text())
	}
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d cases\n%s", len(answers), len(cases), p.Tail())
	}
	return answers
}

func compiler(t *testing.T, engine, dialect string) filter.Compiler {
	sets, err := plugins.CompiledIn()
	if err != nil {
		t.Fatal(err)
	}
	factory, _ := sets.Filters.Find(sql92.Type)
	cfg := factory.DefaultConfig().(*sql92.Config)
	cfg.Engine, cfg.Dialect = engine, dialect
	c, err := factory.NewCompiler(plugintest.Settings(t, plugin.Type("sql92")), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *testCase) check(ctx context.Context, t *testing.T, compiler filter.Compiler, want string) {
	p, err := compiler.Compile(ctx, filter.Expression{Type: filter.TypeSQL92, Text: c.text})
	if (want == "X") != (err != nil) {
		t.Errorf("%q: Java says %s, we %v", c.text, want, err)
	}
	if err != nil || want == "X" {
		return
	}
	defer p.Close()
	b := &filter.Batch{Topic: "T", TagsCodes: make([]int64, len(c.props))}
	for _, props := range c.props {
		b.Records = append(b.Records, record(props))
	}
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(ctx, b, &v); err != nil {
		t.Fatal(err)
	}
	got := []byte(strings.Repeat("F", b.Len()))
	for i := range got {
		for letter, bits := range map[byte][]uint64{'T': v.True, 'U': v.Unknown, 'R': v.Raise, '?': v.Undecided} {
			if filter.HasBit(bits, i) {
				got[i] = letter
			}
		}
		if got[i] != want[i] {
			t.Errorf("%q of %q: Java says %c, we %c", c.text, c.props[i], want[i], got[i])
		}
	}
}

var host = netip.MustParseAddrPort("127.0.0.1:10911")

func record(props map[string]string) []byte {
	m := message.Message{Topic: "T", BornHost: host, StoreHost: host}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		m.Properties = message.AppendProperty(m.Properties, name, props[name])
	}
	b, err := message.AppendRecord(nil, &m)
	if err != nil {
		panic(err)
	}
	return b
}
