package config

import (
	"encoding/json"
	"strings"

	"github.com/goccy/go-yaml"
)

// ShowOptions choose what Show writes beside the values.
type ShowOptions struct {
	Origin bool // where each value comes from
	Doc    bool // what each key means
}

// Show writes the effective configuration as a broker.yaml, with the origin of every value behind it and its meaning
// above it when asked. Loading what it writes gives the same configuration, but for masked secrets.
func (c *Config) Show(o ShowOptions) string {
	var lines []showLine
	var open []string
	for _, v := range c.values {
		for shared := 0; shared < len(v.Keys)-1; shared++ {
			if shared < len(open) && open[shared] == v.Keys[shared] {
				continue
			}
			open = append(open[:shared:shared], v.Keys[shared])
			lines = append(lines, showLine{text: indent(shared) + scalarText(v.Keys[shared]) + ":"})
		}
		depth := len(v.Keys) - 1
		open = open[:min(depth, len(open))]
		if o.Doc && v.Doc != "" {
			lines = append(lines, showLine{text: indent(depth) + "# " + v.Doc + choicesNote(v.Choices)})
		}
		lines = append(lines, showLine{text: indent(depth) + scalarText(v.Keys[depth]) + ": " + v.text(), origin: v.Origin})
	}
	return render(lines, o.Origin)
}

type showLine struct{ text, origin string }

func indent(depth int) string { return strings.Repeat("  ", depth) }

func choicesNote(choices []string) string {
	if len(choices) == 0 {
		return ""
	}
	return " One of " + strings.Join(choices, ", ") + "."
}

// render aligns the origins in one column.
func render(lines []showLine, origins bool) string {
	width := 0
	for _, l := range lines {
		if n := len(l.text); l.origin != "" && n > width && n <= 64 {
			width = n
		}
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		if origins && l.origin != "" {
			b.WriteString(strings.Repeat(" ", max(0, width-len(l.text))) + "  # " + l.origin)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// text writes the value on one line.
func (v *Value) text() string {
	if s, ok := v.Value.(string); ok && v.reference {
		return scalarText(s)
	}
	return valueText(v.Value)
}

// valueText writes a value on one line.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return scalarText(strings.ReplaceAll(v, "${", "$${"))
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = valueText(one)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range sortedKeys(v) {
			parts = append(parts, scalarText(k)+": "+valueText(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

// scalarText writes a string as YAML, in quotes only where it needs them.
func scalarText(s string) string {
	b, err := yaml.Marshal(s)
	out := strings.TrimSuffix(string(b), "\n")
	if err != nil || strings.ContainsAny(out, "\n,[]{}#") {
		quoted, _ := json.Marshal(s)
		return string(quoted)
	}
	return out
}
