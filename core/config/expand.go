package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxSecretSize bounds what ${file:} reads.
const maxSecretSize = 64 << 10

// expander resolves ${env:NAME} and ${file:PATH}.
type expander struct {
	lookup func(string) (string, bool)
	dir    string // what relative paths in ${file:} are relative to
	off    bool   // nothing is resolved
}

// string returns s with its references resolved, and whether there were any. "$${" stands for "${".
func (x expander) string(s string) (out string, replaced bool, err error) {
	if x.off {
		return s, false, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), replaced, nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		ref, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return "", false, fmt.Errorf("%q has no closing brace; write $${ for a literal ${", s[i:])
		}
		value, err := x.reference(ref)
		if err != nil {
			return "", false, err
		}
		b.WriteString(value)
		s, replaced = rest, true
	}
}

func (x expander) reference(ref string) (string, error) {
	scheme, arg, _ := strings.Cut(ref, ":")
	switch {
	case scheme == "env" && arg != "":
		v, ok := x.lookup(arg)
		if !ok {
			return "", fmt.Errorf("${env:%s}: the environment has no variable %s", arg, arg)
		}
		return v, nil
	case scheme == "file" && arg != "":
		return x.file(arg)
	}
	return "", fmt.Errorf("${%s}: want ${env:NAME} or ${file:PATH}; write $${ for a literal ${", ref)
}

func (x expander) file(name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.dir, name)
	}
	if st, err := os.Stat(name); err == nil && st.Size() > maxSecretSize {
		return "", fmt.Errorf("${file:%s}: %d bytes, more than the %d that are read", name, st.Size(), maxSecretSize)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("${file:}: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}
