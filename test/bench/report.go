//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// row is one line of the report: the medians of both brokers and how they compare.
type row struct {
	Name      string  `json:"scenario"`
	What      string  `json:"what"`
	Weir      *sample `json:"weir,omitempty"`
	Java      *sample `json:"java,omitempty"`
	Times     float64 `json:"times_java,omitempty"`       // weir's rate by Java's
	Aim       float64 `json:"aim_times_java,omitempty"`   //
	CPUTimes  float64 `json:"java_cpu_by_weir,omitempty"` // Java's CPU time for a message by weir's; 5 is the aim
	Raw       float64 `json:"fdatasync_per_second,omitempty"`
	RawCPU    float64 `json:"fdatasync_cpu_us,omitempty"`
	RawShare  float64 `json:"share_of_fdatasync,omitempty"` // weir's rate by that; 0.8 is the aim
	JavaShare float64 `json:"java_share_of_fdatasync,omitempty"`
}

// cpuAim is by how much less CPU time a message should cost than in Java's broker.
const cpuAim = 5

// rawAim is the part of the disk's rate of syncs that one sender should get with sync flush.
const rawAim = 0.8

func rows(list []*comparison) []row {
	var out []row
	for _, c := range list {
		r := row{Name: c.Name, What: c.Scenario.What, Aim: c.Scenario.Aim}
		var rates, cpu []float64
		for _, d := range c.Raw {
			rates, cpu = append(rates, d.Rate), append(cpu, d.CPU)
		}
		r.Raw, r.RawCPU = median(rates), median(cpu)
		if s := c.Samples["weir"]; len(s) > 0 {
			m := medians(s)
			r.Weir = &m
		}
		if s := c.Samples["java"]; len(s) > 0 {
			m := medians(s)
			r.Java = &m
		}
		if r.Weir != nil && r.Java != nil {
			r.Times, r.CPUTimes = ratio(r.Weir.Rate, r.Java.Rate), ratio(r.Java.CPU, r.Weir.CPU)
		}
		if r.Raw > 0 && r.Weir != nil {
			r.RawShare = ratio(r.Weir.Rate, r.Raw)
		}
		if r.Raw > 0 && r.Java != nil {
			r.JavaShare = ratio(r.Java.Rate, r.Raw)
		}
		out = append(out, r)
	}
	return out
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(a/b*100) / 100
}

func writeJSON(w io.Writer, m machine, list []*comparison) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"machine": m, "results": rows(list), "measurements": list})
}

// writeTable writes the report for people.
func writeTable(w io.Writer, m machine, rounds int, list []*comparison) error {
	fmt.Fprintf(w, "\n%s, %d processors, Linux %s, %s, %s; load %s before, %s after\n", m.CPU, m.Processors, m.Kernel, m.FileSystem, m.Go,
		m.LoadBefore, m.LoadAfter)
	fmt.Fprintf(w, "medians of %d rounds; others = processors that other processes used meanwhile\n\n", rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tweir /s\tjava /s\t×\taim\tweir p50 / p99\tjava p50 / p99\tweir µs CPU\tjava µs CPU\t÷\taim\tweir MiB\tjava MiB\tothers\t")
	for _, r := range rows(list) {
		fmt.Fprintln(t, r.line())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rows(list) {
		if r.Raw > 0 {
			fmt.Fprintf(w, "\n%s: the disk does %.0f appends with fdatasync a second, at %.1f µs CPU; weir gets %.0f %% of that (aim %.0f %%), java %.0f %%\n",
				r.Name, r.Raw, r.RawCPU, 100*r.RawShare, 100*rawAim, 100*r.JavaShare)
		}
	}
	fmt.Fprintln(w, "\n/s: messages, entries in tag-scan. µs CPU: of the broker for each of them. MiB: private memory (all resident, mapped files included)")
	return nil
}

func (r *row) line() string {
	none := sample{}
	weir, java, others := &none, &none, 0.0
	for _, s := range []*sample{r.Weir, r.Java} {
		if s != nil {
			others = max(others, s.Others)
		}
	}
	if r.Weir != nil {
		weir = r.Weir
	}
	if r.Java != nil {
		java = r.Java
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t", r.What, count(weir.Rate), count(java.Rate),
		factor(r.Times), factor(r.Aim), latencies(weir), latencies(java), micros(weir.CPU), micros(java.CPU), factor(r.CPUTimes),
		factor(cpuAim), memory(weir), memory(java), others)
}

func latencies(s *sample) string {
	if s.Rate == 0 {
		return "-"
	}
	return span(s.P50) + " / " + span(s.P99)
}

// span formats µs.
func span(us float64) string {
	switch {
	case us < 1000:
		return fmt.Sprintf("%.0f µs", us)
	case us < 100_000:
		return fmt.Sprintf("%.1f ms", us/1000)
	}
	return fmt.Sprintf("%.0f ms", us/1000)
}

func factor(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func micros(x float64) string {
	switch {
	case x == 0:
		return "-"
	case x < 1:
		return fmt.Sprintf("%.3f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func memory(s *sample) string {
	if s.Resident == 0 {
		return "-"
	}
	return fmt.Sprintf("%d (%d)", s.Anonymous>>20, s.Resident>>20)
}

// count formats a rate with separators: 1,234,567.
func count(x float64) string {
	if x == 0 {
		return "-"
	}
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
