package suite

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/repo"
	"github.com/weirmq/weir/test/internal/sut"
)

var (
	only     = flag.String("only", "", "run only these, CLASS or CLASS#METHOD, separated by commas")
	jobs     = flag.Int("jobs", 6, "classes at the same time; most of their time they wait")
	classMax = flag.Duration("class-timeout", 4*time.Minute, "for one class, then its JVM is killed")
	alsoJava = flag.Bool("java", false, "run on Java's own cluster as well, and print both times")
	out      = flag.String("out", "", "directory for results.jsonl and the logs (default: a temporary one, removed when all pass)")
)

func TestMain(m *testing.M) { sut.Main(m) }

// TestSuite runs the suite whole.
func TestSuite(t *testing.T) {
	repo.NeedJava(t)
	all, err := parseClasses(classList)
	if err != nil {
		t.Fatal(err)
	}
	knownBad, err := parseExpected(expectedList, all)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(all, *only)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	jars, err := javamq.Install(ctx, javamq.Suite4)
	if err != nil {
		t.Fatal(err)
	}
	home := logDir(t)
	first := runOn(ctx, t, sut.Default(), jars, home, chosen)
	runs := []*summary{first}
	if *alsoJava && sut.Default() != sut.Java {
		runs = append(runs, runOn(ctx, t, sut.Java, jars, home, chosen))
	}
	if err := writeResults(filepath.Join(home, "results.jsonl"), runs...); err != nil {
		t.Error(err)
	}
	var java *summary
	for _, s := range runs {
		if s.kind == string(sut.Java) {
			java, knownBad = s, pick(s == first, expected{}, knownBad)
		}
	}
	t.Logf("\n%s", table(first, java))
	for _, s := range runs {
		t.Log(s)
		judge(t, s, pick(s.kind == string(sut.Java), expected{}, knownBad))
	}
}

func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

// runOn runs the classes on two brokers of a kind, and stops them.
func runOn(ctx context.Context, t *testing.T, kind sut.Kind, jars *javamq.Jars, home string, classes []*class) *summary {
	s := &summary{kind: string(kind)}
	t.Run("on "+s.kind, func(t *testing.T) {
		r := &runner{jars: jars, cluster: startCluster(t, kind), logs: filepath.Join(home, s.kind), jobs: *jobs, timeout: *classMax}
		began := time.Now()
		r.run(ctx, classes, func(c *classResult) {
			s.classes = append(s.classes, c)
			t.Logf("[%2d/%d] %s", len(s.classes), len(classes), c)
		})
		for i, c := range s.classes {
			if c.class.timed && len(c.bad()) > 0 {
				s.classes[i] = r.runClass(ctx, c.class)
				t.Logf("[again] %s", s.classes[i])
			}
		}
		s.took = time.Since(began)
	})
	return s
}

// judge fails the test for what fails and is not expected to, and for what is expected to and doesn't.
func judge(t *testing.T, s *summary, known expected) {
	t.Helper()
	for _, complaint := range complaints(s, known) {
		t.Error(complaint)
	}
}

// logDir is -out, or a directory that is removed only if the test passes.
func logDir(t *testing.T) string {
	if *out != "" {
		dir, err := filepath.Abs(*out)
		if err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir, err := os.MkdirTemp("", "weir-suite-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("results.jsonl and the logs of each class are left in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// TestComplaints judges the judge.
func TestComplaints(t *testing.T) {
	a, b := &class{name: "x.AIT", tests: 2}, &class{name: "x.BIT", tests: 2}
	s := &summary{kind: "weir", classes: []*classResult{
		{class: a, tests: []result{{Method: "one", Outcome: passed}, {Method: "two", Outcome: failed, Message: "why"}}},
		{class: b, tests: []result{{Method: "one", Outcome: passed}, {Method: "two", Outcome: skipped}}},
	}}
	for _, x := range []struct {
		name, known string
		want        []string
	}{
		{"nothing known", "", []string{"weir: AIT#two: fail: why"}},
		{"method known", "AIT#two later", nil},
		{"class known", "AIT later", nil},
		{"method passes", "AIT#two later\nAIT#one later", []string{"weir: AIT#one passes: take it out of expected_failures.txt"}},
		{"class passes", "AIT#two later\nBIT later", []string{"weir: BIT passes: take it out of expected_failures.txt"}},
		{"unknown method", "AIT#two later\nBIT#three later", []string{"weir: BIT#three is in expected_failures.txt and was not run"}},
	} {
		known, err := parseExpected(x.known, []*class{a, b})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(complaints(s, known), "\n"); got != strings.Join(x.want, "\n") {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestOwed shows that a test without an outcome is an error, and so is one that wasn't planned.
func TestOwed(t *testing.T) {
	s := &sayings{kind: "weir", class: &class{name: "x.AIT", tests: 3}}
	for _, line := range []string{"noise", "@suite\tplan\tone", "@suite\tplan\ttwo", "@suite\tfail\tone\t1500\twhy\tso", "@suite"} {
		s.line([]byte(line))
	}
	got := s.result(context.DeadlineExceeded, time.Second).tests
	want := []result{
		{Kind: "weir", Class: "x.AIT", Method: "one", Outcome: failed, Seconds: 1.5, Message: "why\tso"},
		{Kind: "weir", Class: "x.AIT", Method: "two", Outcome: missing, Message: "context deadline exceeded"},
		{Kind: "weir", Class: "x.AIT", Method: "(class)", Outcome: missing, Message: "2 tests were planned, want 3: context deadline exceeded"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("result %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestLists(t *testing.T) {
	all, err := parseClasses(classList)
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for _, c := range all {
		tests += c.tests
	}
	if len(all) != 47 || tests != 108 {
		t.Errorf("%d classes with %d tests, want 47 with 108", len(all), tests)
	}
	if _, err := parseExpected(expectedList, all); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"NoSuchIT reason", "SqlFilterIT"} {
		if _, err := parseExpected(bad, all); err == nil {
			t.Errorf("expected failure %q: no error", bad)
		}
	}
	chosen, err := choose(all, "SqlFilterIT#testFilterConsumer,client.consumer.tag.MulTagSubIT")
	if err != nil || len(chosen) != 2 || chosen[0].owed()+chosen[1].owed() < 2 {
		t.Errorf("chosen: %v, %v", chosen, err)
	}
	if _, err := choose(all, "NoSuchIT"); err == nil {
		t.Error("-only NoSuchIT: no error")
	}
}
