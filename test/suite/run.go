package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
)

// The outcomes of a test. One that has none, because its JVM was killed or ended by itself, is an error.
const (
	passed   = "pass"
	failed   = "fail"
	skipped  = "skip"
	missing  = "error"
	planned  = "plan" // not an outcome, but the word that announces a test
	lineMark = "@suite\t"
)

// result is what became of one test.
type result struct {
	Kind    string  `json:"broker"`
	Class   string  `json:"class"`
	Method  string  `json:"method"`
	Outcome string  `json:"outcome"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message,omitempty"`
}

// classResult is what became of a class.
type classResult struct {
	class *class
	took  time.Duration
	tests []result
}

// bad are the tests that neither passed nor were skipped.
func (r *classResult) bad() []result {
	return slices.DeleteFunc(slices.Clone(r.tests), func(t result) bool { return t.Outcome == passed || t.Outcome == skipped })
}

func (r *classResult) String() string {
	bad := r.bad()
	var text strings.Builder
	fmt.Fprintf(&text, "%-38s %2d of %2d pass, %5.1f s", r.class.short(), len(r.tests)-len(bad), len(r.tests), r.took.Seconds())
	for _, b := range bad {
		fmt.Fprintf(&text, "\n        %s: %s after %.1f s: %s", b.Method, b.Outcome, b.Seconds, b.Message)
	}
	return text.String()
}

// runner runs classes, each in a JVM of its own.
type runner struct {
	jars    *javamq.Jars
	cluster *cluster
	logs    string        // a folder for each class
	jobs    int           // classes at the same time
	timeout time.Duration // for one class
}

// run runs the classes and hands on each result when it is there, from one goroutine.
func (r *runner) run(ctx context.Context, classes []*class, each func(*classResult)) {
	todo, done := make(chan *class), make(chan *classResult)
	var all sync.WaitGroup
	for range r.jobs {
		all.Go(func() {
			for c := range todo {
				done <- r.runClass(ctx, c)
			}
		})
	}
	go func() {
		for _, c := range classes {
			todo <- c
		}
		close(todo)
		all.Wait()
		close(done)
	}()
	for result := range done {
		each(result)
	}
}

// home is the folder with the output of a class, output.out, and its client's log.
func (r *runner) home(c *class) string { return filepath.Join(r.logs, c.short()) }

// runClass lets a JVM run the class. Past the time-out its threads are printed to its log, and it is killed.
func (r *runner) runClass(ctx context.Context, c *class) *classResult {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	says := &sayings{kind: string(r.cluster.kind), class: c}
	p, err := javamq.Program{
		Jars: r.jars, Home: r.home(c), Name: "output", JVM: append(r.cluster.flags(), javamq.QuickStart...),
		Main: "suite.OneClass", Args: append([]string{classPrefix + c.name}, c.only...),
		Lines: says.line,
	}.Start()
	if err != nil {
		return says.result(err, time.Since(began))
	}
	select {
	case <-p.Done():
		err = errors.New("its JVM ended before")
		if exit := p.Wait(ctx); exit != nil {
			err = fmt.Errorf("its JVM ended before: %w", exit)
		}
	case <-ctx.Done():
		err = fmt.Errorf("not within the %v for its class", r.timeout)
		_ = syscall.Kill(p.Pid(), syscall.SIGQUIT)
		select {
		case <-p.Done():
		case <-time.After(2 * time.Second): // printing its threads is all that it may still do
		}
		p.Kill()
	}
	return says.result(err, time.Since(began))
}

// sayings collects what a JVM says of its tests. One goroutine calls line; result is called when that has ended.
type sayings struct {
	kind  string
	class *class
	plan  []string
	tests []result
}

// line takes a line of suite.OneClass; all else is for the log.
func (s *sayings) line(line []byte) (log bool) {
	text, ok := strings.CutPrefix(string(line), lineMark)
	if !ok {
		return true
	}
	words := strings.SplitN(text, "\t", 4)
	switch {
	case len(words) == 2 && words[0] == planned:
		s.plan = append(s.plan, words[1])
	case len(words) >= 3:
		ms, _ := strconv.Atoi(words[2])
		r := result{Kind: s.kind, Class: s.class.name, Method: words[1], Outcome: words[0], Seconds: float64(ms) / 1000}
		if len(words) == 4 {
			r.Message = words[3]
		}
		s.tests = append(s.tests, r)
	}
	return true
}

// result gives every test that was planned, or that the list of classes promises, an outcome; err is why one has none.
func (s *sayings) result(err error, took time.Duration) *classResult {
	owe := func(method string) {
		message, _, _ := strings.Cut(err.Error(), "\n")
		s.tests = append(s.tests, result{Kind: s.kind, Class: s.class.name, Method: method, Outcome: missing, Message: message})
	}
	for _, method := range s.plan {
		if !slices.ContainsFunc(s.tests, func(r result) bool { return r.Method == method }) {
			owe(method)
		}
	}
	if len(s.plan) != s.class.owed() {
		err = fmt.Errorf("%d tests were planned, want %d: %w", len(s.plan), s.class.owed(), err)
		owe("(class)")
	}
	return &classResult{class: s.class, took: took, tests: s.tests}
}
