//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

// TestFilterReport reads a report of made-up figures.
func TestFilterReport(t *testing.T) {
	list := []*filtered{{filterCase: filterCases()[3], first: filterSample{entries: 7e6}, samples: map[string][]filterSample{
		weirAsks:  {{entries: 8e6, perEntry: 0.1}, {entries: 10e6, perEntry: 0.2}, {entries: 9e6, perEntry: 0.15}},
		weirKeeps: {{entries: 2e9, perEntry: 0.0004}},
		javaKind:  {{entries: 1.5e6, perEntry: 0.9}},
	}}, {filterCase: guestCases()[0], samples: map[string][]filterSample{weirAsks: {{entries: 12e6, perEntry: 0.1}}}}}
	var out strings.Builder
	if err := writeFilters(&out, machine{}, 2_000_000, 3, list, []sendCost{{programs: 0, rate: 500_000, cpu: 1.5}, {programs: 64, rate: 450_000, cpu: 1.7, judged: 60.26, spared: 3.74}}); err != nil {
		t.Fatal(err)
	}
	fields := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, want := range []string{"2,000,000 messages of 256 B", "two predicates, 0 % 9 0.150 1.5 0.900 6.0 5.0 6.0 7 2e+03 0.00040 -", "sends with 64 filters live: 450,000 messages/s (90 % of those without), 1.70 µs CPU a message; a message was judged by 60.3 filters as it arrived and left to the pull by 3.7",
		"C guest, 0 % 12 0.100 1.5 0.900 8.0 3.0 9.0 - - 0.00000 -"} {
		if !strings.Contains(fields(out.String()), fields(want)) {
			t.Errorf("says\n%swithout %q", out.String(), want)
		}
	}
}

// TestFilterBacklog looks at the arguments that make the backlog.
func TestFilterBacklog(t *testing.T) {
	args := fillFilterArgs(5000, "hot", "2%")
	for _, want := range []string{"5000", "hot", "2%", "region=r{0-9}", filterTopic} {
		if !slices.Contains(args, want) {
			t.Errorf("%q lacks %q", args, want)
		}
	}
}
