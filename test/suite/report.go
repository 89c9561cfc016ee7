package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary is one run of the suite.
type summary struct {
	kind    string
	took    time.Duration
	classes []*classResult
}

// counts are the tests by outcome; those without one are failed.
func (s *summary) counts() (pass, fail, skip int) {
	for _, c := range s.classes {
		for _, t := range c.tests {
			switch t.Outcome {
			case passed:
				pass++
			case skipped:
				skip++
			default:
				fail++
			}
		}
	}
	return pass, fail, skip
}

func (s *summary) String() string {
	pass, fail, skip := s.counts()
	return fmt.Sprintf("%s: %d passed, %d failed, %d skipped in %.0f s", s.kind, pass, fail, skip, s.took.Seconds())
}

// table has a line for each class: tests, those that passed, the time, and Java's time beside, measured in this run or
// noted in the list of classes.
func table(s, java *summary) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "class\ttests\tpassed\t%s s\tjava s\t\n", s.kind)
	rows := slices.Clone(s.classes)
	slices.SortFunc(rows, func(a, b *classResult) int { return strings.Compare(a.class.name, b.class.name) })
	for _, r := range rows {
		beside := r.class.java
		if java != nil {
			for _, j := range java.classes {
				if j.class == r.class {
					beside = j.took
				}
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%.1f\t\n", r.class.name, len(r.tests), len(r.tests)-len(r.bad()), r.took.Seconds(), beside.Seconds())
	}
	_ = w.Flush()
	return text.String()
}

// writeResults writes a JSON object for each test, a line each.
func writeResults(path string, summaries ...*summary) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	defer f.Close()
	lines := json.NewEncoder(f)
	for _, s := range summaries {
		for _, c := range s.classes {
			for _, t := range c.tests {
				if err := lines.Encode(t); err != nil {
					return fmt.Errorf("write results: %w", err)
				}
			}
		}
	}
	return f.Close()
}
