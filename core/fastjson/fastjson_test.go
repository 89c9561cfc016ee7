package fastjson

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

type vectors struct {
	Encode []struct{ Body, Text string }
	Pretty []struct{ File, Text string }
	Decode []struct {
		Body, Input string
		Understood  *string
	}
}

// load reads what fastjson 1.2.69 with the classes of RocketMQ 4.9.7 wrote and understood.
func load(t testing.TB) (v vectors) {
	t.Helper()
	b, err := os.ReadFile("testdata/json-bodies.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStrictVectors(t *testing.T) {
	vec := load(t)
	var texts []string
	for _, v := range vec.Encode {
		texts = append(texts, v.Text)
	}
	for _, v := range vec.Pretty {
		texts = append(texts, v.Text)
	}
	for _, s := range texts {
		got, err := AppendStrict(nil, []byte(s))
		if err != nil || !json.Valid(got) {
			t.Errorf("%s: %s, %v", s, got, err)
		}
		var buf bytes.Buffer
		if json.Compact(&buf, []byte(s)) == nil && !bytes.Equal(buf.Bytes(), got) && !strings.Contains(s, `\u`) {
			t.Errorf("strict already: %s became %s", s, got)
		}
	}
}

func TestAppendStrict(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{`{0:"a",1:"b"}`, `{"0":"a","1":"b"}`, ""},
		{`{{"brokerName":"b","queueId":0,"topic":"t"}:12}`, `{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"t\"}":12}`, ""},
		{`{ {'topic':'t', queueId : 0,} : 12 }`, `{"{\"topic\":\"t\",\"queueId\":0}":12}`, ""},
		{`{'a':'b"c'}`, `{"a":"b\"c"}`, ""},
		{`{a:1,,b:2,}`, `{"a":1,"b":2}`, ""},
		{`[1,,2,]`, `[1,2]`, ""},
		{`{"$ref":"$.x"}`, `{"$ref":"$.x"}`, ""},
		{`{"a":+5,"b":.5,"c":5.,"d":007,"e":1L,"f":1.5E+7,"g":-0}`, `{"a":5,"b":0.5,"c":5,"d":7,"e":1,"f":1.5E+7,"g":-0}`, ""},
		{"{\"a\":\"x\ty\"}", `{"a":"x\ty"}`, ""},
		{`{"a":"\'\/\v"}`, `{"a":"'/\u000B"}`, ""},
		{`{"a":NaN}`, `{"a":null}`, ""},
		{"\n true ", `true`, ""},
		{`{"a":1}x`, "", "read json: byte 7: text behind the value"},
		{`{"a":}`, "", "read json: byte 5: want a value"},
		{`{"a" 1}`, "", "read json: byte 5: want a colon"},
		{`{"a`, "", "read json: byte 2: string is cut off"},
		{`{"a":"\q"}`, "", "read json: byte 8: unknown escape"},
		{`{"a":1`, "", "read json: byte 6: want a key"},
		{`[1`, "", "read json: byte 2: want a value"},
		{``, "", "read json: byte 0: want a value"},
		{`{"a":1e}`, "", "read json: byte 5: want a value"},
		{`{"a":--1}`, "", "read json: byte 5: want a value"},
		{strings.Repeat("[", 65), "", "read json: byte 64: nested too deeply"},
		{strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) + strings.Repeat("]", 64), ""},
	} {
		got, err := AppendStrict([]byte("before"), []byte(tt.in))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if string(got) != "before"+tt.want || text != tt.err {
			t.Errorf("%s: %s %q, want %s %q", tt.in, got, text, tt.want, tt.err)
		}
	}
}

type queue struct {
	BrokerName string `json:"brokerName"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

type bean struct {
	Name    string             `json:"name"`
	N       int32              `json:"n"`
	Big     int64              `json:"big"`
	F       float64            `json:"f"`
	On      bool               `json:"on"`
	List    []string           `json:"list"`
	Codes   []int32            `json:"codes"`
	ByID    map[int64]string   `json:"byId"`
	ByQueue map[queue]int64    `json:"byQueue"`
	Subs    map[string]*nested `json:"subs,omitempty"`
	Raw     json.RawMessage    `json:"raw,omitempty"`
	Any     any                `json:"any,omitempty"`
	Ptr     *nested            `json:"ptr"`
	Skipped int                `json:"-"`
}

type nested struct {
	X int32 `json:"x"`
	Y bool  `json:"y"`
}

func (n *nested) SetDefaults() { n.X, n.Y = 16, true }

func TestUnmarshal(t *testing.T) {
	var v bean
	err := Unmarshal([]byte(`{NAME:5,"n":"7",'Big':1.0,"f":"1.5","on":1,unknown:{a:[1,{}]},"list":[1,'b',true,{x:1}],"codes":["97",98],
		"byId":{0:"a","1":"b"},"byQueue":{{"brokerName":"b","queueId":0,"topic":"t"}:12,"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"t\"}":"7"},
		"subs":{"a":{},"b":{"x":3,"y":"false"},"c":null},"raw":{a:1},"any":{b:[2]},"ptr":{}}`), &v)
	if err != nil {
		t.Fatal(err)
	}
	want := bean{
		Name: "5", N: 7, Big: 1, F: 1.5, On: true, List: []string{"1", "b", "true", `{"x":1}`}, Codes: []int32{97, 98},
		ByID:    map[int64]string{0: "a", 1: "b"},
		ByQueue: map[queue]int64{{"b", 0, "t"}: 12, {"b", 1, "t"}: 7},
		Subs:    map[string]*nested{"a": {16, true}, "b": {3, false}, "c": nil},
		Raw:     json.RawMessage(`{"a":1}`), Any: map[string]any{"b": []any{2.0}}, Ptr: &nested{16, true},
	}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v, want %+v", v, want)
	}
	if err := Unmarshal([]byte(`{"name":null,"n":null,"list":null,"byId":null,"ptr":null,"subs":{"a":null}}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.Name != "5" || v.N != 7 || v.List != nil || v.ByID != nil || v.Ptr != nil || v.Subs["a"] != nil {
		t.Errorf("after nulls: %+v", v)
	}
}

func TestRaw(t *testing.T) {
	var v struct {
		A map[string]Raw `json:"a"`
		B Raw            `json:"b"`
	}
	in := `{"a":{"x":{{ "topic":'t'}:1, 2:3},"y":5},"b":[1, 2]}`
	if err := Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	if out, err := Marshal(&v); err != nil || string(out) != in {
		t.Errorf("%s %v, want %s", out, err, in)
	}
	v.B = nil
	if out, _ := Marshal(&v.B); string(out) != "null" {
		t.Errorf("%s", out)
	}
}

func TestUnmarshalErrors(t *testing.T) {
	for in, want := range map[string]string{
		`{"n":2147483648}`:             `read json: byte 5: "2147483648" is no int32`,
		`{"n":"x"}`:                    `read json: byte 5: "x" is no int32`,
		`{"n":{}}`:                     `read json: byte 5: want int32`,
		`{"on":"maybe"}`:               `read json: byte 6: "maybe" is no bool`,
		`{"byId":{"x":"a"}}`:           `read json: byte 9: key "x" is no number`,
		`{"byId":[]}`:                  `read json: byte 8: want an object`,
		`{"byQueue":{"x":1}}`:          `read json: byte 12: the key holds no object`,
		`{"byQueue":{{"topic":1}:null`: `read json: byte 24: null for a number in a map`,
		`{"list":"a"}`:                 `read json: byte 11: want a list`,
		`[]`:                           `read json: byte 0: want an object`,
		`{} trailing`:                  `read json: byte 3: text behind the value`,
		``:                             `read json: byte 0: want a value`,
	} {
		var v bean
		if err := Unmarshal([]byte(in), &v); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if err := Unmarshal([]byte("{}"), bean{}); err == nil || err.Error() != "read json: want a pointer, have fastjson.bean" {
		t.Error(err)
	}
}

func TestAppend(t *testing.T) {
	v := bean{
		Name: "<&>中\u007f\"", N: 1, F: 1e9, ByID: map[int64]string{10: "x", 9: "y"},
		ByQueue: map[queue]int64{{"b", 1, "t"}: 7, {"b", 0, "t"}: 12},
	}
	got, err := Append([]byte("before"), &v)
	want := `before{"big":0,"byId":{"9":"y","10":"x"},"byQueue":{{"brokerName":"b","queueId":0,"topic":"t"}:12,{"brokerName":"b","queueId":1,"topic":"t"}:7},` +
		`"codes":[],"f":1.0E9,"list":[],"n":1,"name":"<&>中\u007F\"","on":false}`
	if err != nil || string(got) != want {
		t.Errorf("%s %v, want\n%s", got, err, want)
	}
	if _, err := Append(nil, struct{ C chan int }{}); err == nil || err.Error() != "write json: C: can't write a chan int" {
		t.Error(err)
	}
}

// TestAppendFile writes the metadata files of the vectors byte for byte.
func TestAppendFile(t *testing.T) {
	for _, v := range load(t).Pretty {
		var doc any
		switch v.File {
		case "consumerOffset.json":
			doc = &struct {
				OffsetTable map[string]map[int32]int64 `json:"offsetTable"`
			}{}
		case "delayOffset.json":
			doc = &struct {
				OffsetTable map[int32]int64 `json:"offsetTable"`
			}{}
		case "consumerFilter.json":
			type data struct {
				Bloom struct {
					BitNum int32   `json:"bitNum"`
					BitPos []int32 `json:"bitPos"`
				} `json:"bloomFilterData"`
				BornTime       int64  `json:"bornTime"`
				ClientVersion  int64  `json:"clientVersion"`
				ConsumerGroup  string `json:"consumerGroup"`
				Dead           bool   `json:"dead"`
				DeadTime       int64  `json:"deadTime"`
				Expression     string `json:"expression"`
				ExpressionType string `json:"expressionType"`
				Topic          string `json:"topic"`
			}
			doc = &struct {
				T map[string]struct {
					G     map[string]data `json:"groupFilterData"`
					Topic string          `json:"topic"`
				} `json:"filterDataByTopic"`
			}{}
		default:
			doc = &map[string]map[string]anyOrdered{}
		}
		if err := Unmarshal([]byte(v.Text), doc); err != nil {
			t.Fatalf("%s: %v", v.File, err)
		}
		got, err := AppendFile(nil, doc)
		v.Text = strings.ReplaceAll(v.Text, "18:2,3:12", "3:12,18:2") // hash order there, order of numbers here
		if err != nil || string(got) != v.Text {
			t.Errorf("%s: %v\n%s, want\n%s", v.File, err, got, v.Text)
		}
	}
}

// anyOrdered is a JSON value of any shape.
type anyOrdered struct{ v any }

func (a *anyOrdered) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(&a.v)
}

func (a anyOrdered) MarshalJSON() ([]byte, error) {
	b, err := json.MarshalIndent(a.v, "\t\t", "\t")
	return bytes.ReplaceAll(b, []byte(`": `), []byte(`":`)), err
}

func TestAppendDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", 1.5: "1.5", 0.1667: "0.1667", 1e7: "1.0E7", 9999999: "9999999.0", 15000000: "1.5E7", 1e9: "1.0E9",
		0.001: "0.001", 0.0001: "1.0E-4", -2.5: "-2.5", math.Inf(1): "null", 1e-10: "1.0E-10", 123456789.125: "1.23456789125E8",
	} {
		if got := string(AppendDouble(nil, f)); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := string(AppendDouble(nil, math.NaN())); got != "null" {
		t.Error(got)
	}
}

func TestAppendStringIsJSON(t *testing.T) {
	for _, s := range []string{"", "a\x00\x1f\x7f\u0080\u009f\u00a0\u2028\u2029<>&'/", "\xff\xc3", "中😀", "\\\"\b\t\n\f\r"} {
		var got string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && s != "\xff\xc3" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

func FuzzStrict(f *testing.F) {
	vec := load(f)
	f.Add([]byte("\"\xff\xff\x7f\xff\""))
	for _, v := range vec.Decode {
		f.Add([]byte(v.Input))
	}
	for _, v := range vec.Encode {
		f.Add([]byte(v.Text))
	}
	for _, v := range vec.Pretty {
		f.Add([]byte(v.Text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := AppendStrict(nil, in)
		if err != nil {
			if len(out) != 0 {
				t.Fatal("output in spite of an error")
			}
			if json.Valid(in) && bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) <= MaxDepth {
				t.Fatalf("%s: %v, but it is JSON", in, err)
			}
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		var want, got any
		if json.Unmarshal(in, &want) == nil && json.Unmarshal(out, &got) == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q", in, out)
		}
		again, err := AppendStrict(nil, out)
		if err != nil && bytes.Contains(in, []byte("{")) && len(in) < 200 {
			t.Fatalf("strict text is refused: %q: %v", out, err)
		}
		if err == nil && !bytes.Equal(again, out) {
			t.Fatalf("%q became %q", out, again)
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range load(f).Decode {
		f.Add([]byte(v.Input))
	}
	f.Add([]byte(`{"name":5,"n":"7","byQueue":{{"topic":1}:2},"subs":{"a":{}},"raw":{a:1},"any":[1]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var v bean
		if Unmarshal(in, &v) != nil {
			return
		}
		v.Any, v.Raw = nil, nil
		for _, write := range []func([]byte, any) ([]byte, error){Append, AppendFile} {
			b, err := write(nil, &v)
			if err != nil {
				t.Fatal(err)
			}
			var again bean
			if err := Unmarshal(b, &again); err != nil {
				t.Fatalf("%q: %v", b, err)
			}
			b2, err := write(nil, &again)
			if err != nil || !bytes.Equal(b, b2) {
				t.Fatalf("%q, then %q, %v", b, b2, err)
			}
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	doc := []byte(`{"name":"x","n":7,"byId":{0:"a:1",1:"b:2"},"list":["a","b"],"byQueue":{{"brokerName":"b","queueId":0,"topic":"t"}:12}}`)
	b.ReportAllocs()
	for b.Loop() {
		var v bean
		if err := Unmarshal(doc, &v); err != nil {
			b.Fatal(err)
		}
	}
}
