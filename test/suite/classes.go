package suite

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// classPrefix is left out of the names in lists and tables.
const classPrefix = "org.apache.rocketmq.test."

//go:embed classes.txt
var classList string

//go:embed expected_failures.txt
var expectedList string

// class is a published class of tests.
type class struct {
	name  string        // without classPrefix
	tests int           // how many it has
	java  time.Duration // what it took on Java's cluster, beside others
	timed bool          // it compares times, and so may fail on a busy machine
	only  []string      // methods, if not all
}

// short is the name without its package.
func (c *class) short() string { return c.name[strings.LastIndexByte(c.name, '.')+1:] }

// owed is how many tests must have a result.
func (c *class) owed() int {
	if len(c.only) > 0 {
		return len(c.only)
	}
	return c.tests
}

// lines are those of a list that say something, in fields.
func lines(text string) [][]string {
	var list [][]string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(fields[0], "#") {
			list = append(list, fields)
		}
	}
	return list
}

// parseClasses reads lines of name, number of tests, seconds and, maybe, "timed".
func parseClasses(text string) ([]*class, error) {
	var list []*class
	for _, fields := range lines(text) {
		timed := len(fields) == 4 && fields[3] == "timed"
		if len(fields) != 3 && !timed {
			return nil, fmt.Errorf("class %v: want a name, a number of tests, seconds, and maybe timed", fields)
		}
		tests, err := strconv.Atoi(fields[1])
		if err != nil || tests < 1 {
			return nil, fmt.Errorf("class %s: %s is not a number of tests", fields[0], fields[1])
		}
		seconds, err := strconv.ParseFloat(fields[2], 64)
		if err != nil || seconds < 0 {
			return nil, fmt.Errorf("class %s: %s is not a time in seconds", fields[0], fields[2])
		}
		list = append(list, &class{name: fields[0], tests: tests, java: time.Duration(seconds * float64(time.Second)), timed: timed})
	}
	return list, nil
}

// choose keeps what a comma-separated list of CLASS and CLASS#METHOD names, everything if that is empty. Those that take longest
// are first, so that none of them is left for the end.
func choose(all []*class, only string) ([]*class, error) {
	chosen := slices.Clone(all)
	if only != "" {
		chosen = nil
		for name := range strings.SplitSeq(only, ",") {
			name, method, _ := strings.Cut(strings.TrimSpace(name), "#")
			i := slices.IndexFunc(all, func(c *class) bool { return c.short() == name || c.name == name })
			if i < 0 {
				return nil, fmt.Errorf("-only %s: no such class in classes.txt", name)
			}
			c := all[i]
			if method != "" {
				c.only = append(c.only, method)
			}
			if !slices.Contains(chosen, c) {
				chosen = append(chosen, c)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b *class) int { return int(b.java - a.java) })
	return chosen, nil
}

// expected says which tests fail on weir today: CLASS, or CLASS#METHOD, to the reason.
type expected map[string]string

// parseExpected reads lines of a class, or of class#method, and the reason. What is not in the list of classes is an error.
func parseExpected(text string, all []*class) (expected, error) {
	list := make(expected)
	for _, fields := range lines(text) {
		name, _, _ := strings.Cut(fields[0], "#")
		if !slices.ContainsFunc(all, func(c *class) bool { return c.short() == name }) {
			return nil, fmt.Errorf("expected failure %s: no such class in classes.txt", fields[0])
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("expected failure %s: without a reason", fields[0])
		}
		list[fields[0]] = strings.Join(fields[1:], " ")
	}
	return list, nil
}

// reason is why a test is expected to fail, empty if it isn't.
func (e expected) reason(c *class, method string) string {
	if reason, ok := e[c.short()]; ok {
		return reason
	}
	return e[c.short()+"#"+method]
}

// complaints are what is wrong with a run: a test that fails and isn't expected to, and one that is and passes.
func complaints(s *summary, known expected) []string {
	var list []string
	for _, c := range s.classes {
		bad := c.bad()
		for _, b := range bad {
			if known.reason(c.class, b.Method) == "" {
				list = append(list, fmt.Sprintf("%s: %s#%s: %s: %s", s.kind, c.class.short(), b.Method, b.Outcome, b.Message))
			}
		}
		const takeOut = "%s: %s passes: take it out of expected_failures.txt"
		if _, ok := known[c.class.short()]; ok && len(bad) == 0 {
			list = append(list, fmt.Sprintf(takeOut, s.kind, c.class.short()))
		}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			short, method, ok := strings.Cut(name, "#")
			if !ok || short != c.class.short() || len(c.class.only) > 0 && !slices.Contains(c.class.only, method) {
				continue
			}
			switch i := slices.IndexFunc(c.tests, func(r result) bool { return r.Method == method }); {
			case i < 0:
				list = append(list, fmt.Sprintf("%s: %s is in expected_failures.txt and was not run", s.kind, name))
			case c.tests[i].Outcome == passed:
				list = append(list, fmt.Sprintf(takeOut, s.kind, name))
			}
		}
	}
	return list
}
