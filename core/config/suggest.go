package config

import (
	"slices"
	"strings"
)

// didYouMean returns a hint for a word that is none of choices: the likely one, or all of them when there are few.
func didYouMean(word string, choices []string) string {
	if best := closest(word, choices); best != "" {
		return "did you mean " + quote(best) + "?"
	}
	return validChoices(choices)
}

// validChoices lists choices in a hint.
func validChoices(choices []string) string {
	const most = 24
	switch n := len(choices); {
	case n == 0:
		return ""
	case n > most:
		return "valid are " + strings.Join(choices[:most], ", ") + ", ..."
	default:
		return "valid are " + strings.Join(choices, ", ")
	}
}

// closest returns the choice that word is probably a misspelling of, or "".
func closest(word string, choices []string) string {
	word = strings.ToLower(word)
	best, least := "", len(word)/3+2
	if len(word) <= 2 {
		least = 2
	}
	for _, c := range choices {
		if fold(word) == fold(c) {
			return c
		}
		if d := distance(word, strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// fold removes what people mix up: case, dashes and underscores.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func quote(s string) string { return `"` + s + `"` }

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
