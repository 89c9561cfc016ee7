//go:build wasip1

// json-field: a member of the JSON object in the body has a value. The value is compared as it is written, strings without
// their quotes; a string with an escape in it is equal to nothing. encoding/json would add 1.35 MB.
package main

import (
	"errors"
	"strings"

	"example.com/json-field/mqf"
)

type member struct{ field, value string }

func init() { mqf.Run(&member{}) }

func main() {}

// Start reads the settings.
func (m *member) Start(config *mqf.Batch) error {
	for i, s := range []*string{&m.field, &m.value} {
		text, ok := config.Texts(i).At(0)
		if !ok {
			return errors.New("field or value is missing")
		}
		*s = strings.Clone(text)
	}
	return nil
}

// Batch reads the bodies.
func (m *member) Batch(b *mqf.Batch, v *mqf.Verdicts) {
	bodies := b.Bodies()
	mqf.Each(b, v, func(i int) mqf.Verdict {
		body, _ := bodies.At(i)
		return m.judge(body)
	})
}

func (m *member) judge(t string) mqf.Verdict {
	i, ok := expect(t, blanks(t, 0), '{')
	if !ok {
		return mqf.Raise
	}
	if at(t, i) == '}' {
		return mqf.Unknown
	}
	for {
		nameEnd := 0
		if at(t, i) == '"' {
			nameEnd = stringEnd(t, i)
		}
		if nameEnd == 0 {
			return mqf.Raise
		}
		name := t[i+1 : nameEnd-1]
		from, ok := expect(t, blanks(t, nameEnd), ':')
		if !ok {
			return mqf.Raise
		}
		end := valueEnd(t, from)
		if end == 0 {
			return mqf.Raise
		}
		if name == m.field {
			return m.compare(t[from:end])
		}
		i = blanks(t, end)
		if at(t, i) == '}' {
			return mqf.Unknown
		}
		if i, ok = expect(t, i, ','); !ok {
			return mqf.Raise
		}
	}
}

func (m *member) compare(value string) mqf.Verdict {
	if value[0] == '"' {
		value = value[1 : len(value)-1]
		if strings.IndexByte(value, '\\') >= 0 {
			return mqf.False
		}
	}
	if value == m.value {
		return mqf.True
	}
	return mqf.False
}

func at(t string, i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func blanks(t string, i int) int {
	for i < len(t) && isBlank(t[i]) {
		i++
	}
	return i
}

// expect returns the place of the next token behind c.
func expect(t string, i int, c byte) (int, bool) {
	if at(t, i) != c || i >= len(t) {
		return 0, false
	}
	return blanks(t, i+1), true
}

// stringEnd returns the place behind the string that begins at i, 0 if it has no end.
func stringEnd(t string, i int) int {
	for i++; i < len(t); i++ {
		switch t[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// valueEnd returns the place behind the value that begins at from, 0 if it has no end.
func valueEnd(t string, from int) int {
	depth := 0
	for i := from; i < len(t); i++ {
		switch c := t[i]; {
		case c == '"':
			end := stringEnd(t, i)
			if end == 0 || depth == 0 {
				return end
			}
			i = end - 1
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',' || isBlank(c)) && depth == 0:
			if i > from {
				return i
			}
			return 0
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
