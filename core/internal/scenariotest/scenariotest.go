// Package scenariotest plays scenario files: texts that say what is done, and below that, indented, what it shows.
package scenariotest

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the results of scenarios into their files")

// Run plays the file as a subtest for each that pattern finds. A file is a list of commands, each at the beginning of a line, and below each,
// indented, what it shows; # begins a comment. play is given the text and returns it with the results made anew. With -rewrite they are written
// into the file, to be read before they are committed.
func Run(t *testing.T, pattern string, play func(t *testing.T, text string) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compare(t, string(text), got)
		})
	}
}

// compare shows the first difference, with the two lines behind it.
func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	from := func(lines []string, i int) string {
		return strings.Join(lines[min(i, len(lines)):min(i+3, len(lines))], "\n")
	}
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			t.Fatalf("from line %d on the file has\n%s\nand it should be\n%s", i+1, from(w, i), from(g, i))
		}
	}
}

// Play runs each command of text and writes below it what run returns, a line each.
func Play(t *testing.T, text string, run func(command string, a Args) []string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue // a result, made anew
		}
		out.WriteString(line + "\n")
		command, _, _ := strings.Cut(line, "#")
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		for _, l := range run(words[0], parse(t, words[1:])) {
			out.WriteString("  " + l + "\n")
		}
	}
	return out.String()
}

// Args are the words of a command, those with an = apart.
type Args struct {
	t *testing.T
	// Words are those without.
	Words []string
	// Set has the values by name, the last of each.
	Set  map[string]string
	many map[string][]string
}

func parse(t *testing.T, words []string) Args {
	a := Args{t: t, Set: map[string]string{}, many: map[string][]string{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.Set[k], a.many[k] = v, append(a.many[k], v)
		} else {
			a.Words = append(a.Words, w)
		}
	}
	return a
}

// Every returns all values of a name, in order.
func (a Args) Every(key string) []string { return a.many[key] }

// Int returns the number that a name is set to.
func (a Args) Int(key string, fallback int64) int64 {
	v, ok := a.Set[key]
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		a.t.Fatalf("%s: %v", key, err)
	}
	return n
}

// Number returns word i as a number.
func (a Args) Number(i int) int64 {
	n, err := strconv.ParseInt(a.Words[i], 10, 64)
	if err != nil {
		a.t.Fatalf("word %d: %v", i+1, err)
	}
	return n
}
