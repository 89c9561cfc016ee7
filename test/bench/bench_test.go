//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{5, 1, 9}, 5}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(c.list); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.list, got, c.want)
		}
	}
}

func TestParseProc(t *testing.T) {
	all, err := parseProcessors("cpu  100 20 300 9999 50 6 7 8 0 0")
	if err != nil || all != 4.41 {
		t.Errorf("processors: %v, %v, want 4.41 s", all, err)
	}
	one, err := parseProcess("42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 1 2 3")
	if err != nil || one != 3 {
		t.Errorf("process: %v, %v, want 3 s", one, err)
	}
	for _, line := range []string{"", "cpu", "intr 1 2 3 4 5 6 7 8 9"} {
		if _, err := parseProcessors(line); err == nil {
			t.Errorf("processors of %q: no error", line)
		}
		if _, err := parseProcess(line); err == nil {
			t.Errorf("process of %q: no error", line)
		}
	}
	if got := parseKiB("VmRSS:\t 9 kB\nRssAnon:\t  12 kB\n", "RssAnon:"); got != 12<<10 {
		t.Errorf("RssAnon: %d", got)
	}
	if got := parseKiB("VmRSS:\t 9 kB\n", "RssAnon:"); got != 0 {
		t.Errorf("no RssAnon: %d", got)
	}
}

// Two brokers, two rounds: ratios of medians, in both directions, and the share of the disk's rate.
func TestReport(t *testing.T) {
	s := scenarios()
	list := []*comparison{
		{Scenario: s[6], Name: s[6].Name, Raw: []diskSample{{9000, 40}, {11000, 50}}, Samples: map[string][]sample{
			"weir": {{Rate: 8000, CPU: 40, P50: 110, P99: 900, Anonymous: 9 << 20, Resident: 50 << 20}, {Rate: 9000, CPU: 60, P50: 120, P99: 1100}},
			"java": {{Rate: 2000, CPU: 300}, {Rate: 2000, CPU: 200, Others: 0.5}}}},
		{Scenario: s[1], Name: s[1].Name, Samples: map[string][]sample{"weir": {{Rate: 212705433, CPU: 0.004}}}},
	}
	r := rows(list)
	if r[0].Times != 4.25 || r[0].CPUTimes != 5 || r[0].RawShare != 0.85 || r[0].JavaShare != 0.2 || r[0].Raw != 10000 {
		t.Errorf("ratios: %+v", r[0])
	}
	if r[1].Java != nil || r[1].Times != 0 || r[1].Raw != 0 {
		t.Errorf("without java: %+v", r[1])
	}
	var table, text bytes.Buffer
	if err := writeTable(&table, machine{CPU: "test", Processors: 2}, 2, list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"test, 2 processors", "8,500", "4.2", "115 µs / 1.0 ms", "50.0", "250.0", "212,705,433", "0.004",
		"flush-1: the disk does 10000 appends with fdatasync a second, at 45.0 µs CPU; weir gets 85 % of that (aim 80 %), java 20 %"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in:\n%s", want, &table)
		}
	}
	if err := writeJSON(&text, machine{}, list); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Results []row `json:"results"`
	}
	if err := json.Unmarshal(text.Bytes(), &back); err != nil || len(back.Results) != 2 || back.Results[0].Times != 4.25 {
		t.Errorf("JSON: %v in %s", err, &text)
	}
}

func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, s := range scenarios() {
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
	}
	list, err := chosen(scenarios(), "drain, flush-1")
	if err != nil || len(list) != 2 || list[0].Name != "drain" || !list[1].Sync || !list[1].Raw {
		t.Errorf("--only drain,flush-1: %+v, %v", list, err)
	}
	if _, err := chosen(scenarios(), "fly"); err == nil || !strings.Contains(err.Error(), `"fly"`) {
		t.Errorf("--only fly: %v", err)
	}
}
