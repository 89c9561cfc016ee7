package expr

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func free(_, _ int) error { return nil }

func TestJSONFind(t *testing.T) {
	text := ` { "a" : [ 1 , { "b" : "x" } , [ ] ] , "a" : 2 , "c\u0064" : { } , "e" : -1.5E+3 , "f" : false , "g":"\"", "h": {"i":null} } trailing`
	for path, want := range map[string]string{
		"a": `[ 1 , { "b" : "x" } , [ ] ]`, "a.0": "1", "a.1.b": `"x"`, "a.2": "[ ]", "a.3": "", "a.01": "", "a.b": "", "a.1.0": "", "cd": "{ }", "cd.x": "", "e": "-1.5E+3",
		"f": "false", "f.x": "", "g": `"\""`, "h.i": "null", "z": "", "h.i.j": "",
	} {
		p, err := parseJSONPath(path)
		if err != nil {
			t.Fatal(err)
		}
		s := jsonScanner{b: []byte(text)}
		raw, err := s.find(p)
		if err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v; want %q", path, raw, err, want)
		}
	}
}

func TestJSONFaults(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for text, want := range map[string]error{
		"": errJSON, "x": errJSON, `{"a"`: errJSON, `{"a":`: errJSON, `{"a":tru}`: errJSON, `{"b":1 "a":1}`: errJSON, `{b:1}`: errJSON, `{"b":01}`: errJSON, `{"b":1.}`: errJSON,
		`{"b":-}`: errJSON, `{"b":1e}`: errJSON, "{\"b\":\"\n\"}": errJSON, `{"a":"\q"}`: nil, `{"b":[1,]}`: errJSON, `{"b":{"c":1,}}`: errJSON, `{"b":` + deep + `}`: errJSONDeep,
	} {
		s := jsonScanner{b: []byte(text)}
		if _, err := s.find(jsonPath{{name: "a", index: -1}}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	whole := `{"b": [12, "x", true], "a": 5}`
	for n := range len(whole) - 1 {
		s := jsonScanner{b: []byte(whole[:n]), cut: true}
		if raw, err := s.find(jsonPath{{name: "a", index: -1}}); !errors.Is(err, errJSONCut) {
			t.Errorf("%s: %q, %v; want that it is cut", whole[:n], raw, err)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", strings.Repeat("a.", 64) + "a"} {
		if _, err := parseJSONPath(bad); err == nil {
			t.Errorf("path %q is accepted", bad)
		}
	}
}

func TestJSONDecodePays(t *testing.T) {
	left := 1000
	_, err := decodeJSON([]byte("["+strings.Repeat("1,", 100)+"1]"), func(n, _ int) error {
		if left -= n; left < 0 {
			return errMemory
		}
		return nil
	})
	if !errors.Is(err, errMemory) {
		t.Errorf("a list of 101 elements for 1000 bytes: %v", err)
	}
}

// FuzzJSON compares with encoding/json what is valid, and wants no panic of what isn't.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,-0,1e3,"x\u00e9\n",null,true,false,{}],"b":{"c":{"d":[]}}}`, `"\ud800"`, ` [ ] `, `{"a":1,"a":2}`, `1E400`, `{"\u0061":1}`, "\"\xff\"", `12345678901234567890`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := jsonScanner{b: text}
		raw, err := s.find(nil)
		if err == nil {
			_, _ = decodeJSON(raw, free)
		}
		for _, path := range []string{"a", "a.0", "b.c.d", "0.0"} {
			p, _ := parseJSONPath(path)
			s := jsonScanner{b: text, cut: len(text)%2 == 0}
			_, _ = s.find(p)
		}
		if !json.Valid(text) || errors.Is(err, errJSONDeep) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		got, err := decodeJSON(raw, free)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want = plain(want); !reflect.DeepEqual(got, want) && !strings.Contains(string(text), `":`) { // doubled names differ
			t.Errorf("%q: %#v, want %#v", text, got, want)
		}
	})
}

// plain replaces the numbers.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return jsonNumber([]byte(v))
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}
