package remoting

import (
	"maps"
	"testing"
)

func TestParseProperties(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]string
		err        string
	}{
		{"lines", "a=1\nb=2\r\n", map[string]string{"a": "1", "b": "2"}, ""},
		{"other separators", "a: 1\nb 2\nc\t=\t3\nd", map[string]string{"a": "1", "b": "2", "c": "3", "d": ""}, ""},
		{"comments and blank lines", "# x=1\n!y=2\n\n  a=1\n", map[string]string{"a": "1"}, ""},
		{"separators in values", "a=b=c:d e\n", map[string]string{"a": "b=c:d e"}, ""},
		{"escapes", `path=C\:\\x\ty` + "\n" + `a\=b=1`, map[string]string{"path": "C:\\x\ty", "a=b": "1"}, ""},
		{"the last one counts", "a=1\na=2", map[string]string{"a": "2"}, ""},
		{"nothing", "# only this\n", nil, "SYSTEM_ERROR: the body names no settings"},
		{"no name", "=1", nil, `SYSTEM_ERROR: the settings have a line without a name: "=1"`},
	} {
		got, err := parseProperties([]byte(tt.text))
		if text := ""; err != nil {
			if text = err.Error(); text != tt.err {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if tt.err != "" || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v%s", tt.name, got, tt.want, tt.err)
		}
	}
}

func TestAppendProperties(t *testing.T) {
	got := string(appendProperties([]byte("<"), map[string]string{"b": "2", "a": "x=y", "c": ""}))
	if got != "<a=x=y\nb=2\nc=\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("a=1\n#c\nb\\==\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := parseProperties(text)
		if err == nil && len(values) == 0 {
			t.Error("no settings and no error")
		}
	})
}

func TestInternerIsBounded(t *testing.T) {
	var n interner
	if n.text(nil) != "" || n.text([]byte("a")) != "a" {
		t.Error("texts differ")
	}
	if got := testing.AllocsPerRun(100, func() { n.text([]byte("a")) }); got > 0 {
		t.Errorf("%.0f allocations for a known name", got)
	}
	for i := range 10 * internMax {
		n.text([]byte{byte(i), byte(i >> 8), 1})
	}
	if len(n.m) > internMax {
		t.Errorf("%d names are kept", len(n.m))
	}
	long := make([]byte, internLength+1)
	if n.text(long) != string(long) || n.m[string(long)] != "" {
		t.Error("a long name is kept")
	}
}
