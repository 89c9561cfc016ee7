package wire

import (
	"bytes"
	"testing"
)

func TestUnique(t *testing.T) {
	var h Header
	h.SetString("a", "1")
	h.SetString("b", "2")
	h.Ext = append(h.Ext, Field{Key: []byte("n")})
	h.SetString("a", "3")
	h.Ext = append(h.Ext, Field{Key: []byte("b")}) // null takes the earlier value away
	if _, ok := h.Get("b"); ok {
		t.Error("b is there")
	}
	h.Unique()
	if len(h.Ext) != 1 || string(h.Ext[0].Key) != "a" || string(h.Ext[0].Value) != "3" {
		t.Errorf("%q", h.Ext)
	}
}

// TestScratchIsBounded shows that a header that once held much doesn't keep it, and that copies survive growth.
func TestScratchIsBounded(t *testing.T) {
	var h Header
	h.SetString("first", "value")
	h.SetBytes("big", bytes.Repeat([]byte("x"), 100<<10))
	if v, _ := h.Get("first"); string(v) != "value" {
		t.Errorf("first is %q after growth", v)
	}
	if h.Reset(); cap(h.scratch) > keptScratch || len(h.Ext) != 0 {
		t.Errorf("keeps %d bytes", cap(h.scratch))
	}
}

// TestViews shows which texts are views of the frame and which are copies.
func TestViews(t *testing.T) {
	frame := rawFrame(JSON, []byte(`{"extFields":{"a":"plain","b":"es\u0063aped"},"remark":"r"}`), []byte("body"))
	var h Header
	body, err := h.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := h.Get("a")
	b, _ := h.Get("b")
	copy(frame, bytes.Repeat([]byte("#"), len(frame)))
	if string(a) != "#####" || string(b) != "escaped" || string(h.Remark) != "#" || string(body) != "####" {
		t.Errorf("%s %s %s %s", a, b, h.Remark, body)
	}
	// Appending to a view must not run into what follows it.
	if cap(a) != len(a) || cap(b) != len(b) || cap(body) < len(body) {
		t.Errorf("capacities %d %d", cap(a), cap(b))
	}
}

func TestExtFieldsAreSortedInJSON(t *testing.T) {
	h := Header{Code: 1}
	for _, k := range []string{"topic", "a", "queueId", "b"} {
		h.SetString(k, "<&>")
	}
	got, _ := AppendFrame(nil, &h, nil)
	want := `{"code":1,"extFields":{"a":"<&>","b":"<&>","queueId":"<&>","topic":"<&>"},"flag":0,"language":"JAVA","opaque":0,"serializeTypeCurrentRPC":"JSON","version":0}`
	if string(got[8:]) != want {
		t.Errorf("%s, want %s", got[8:], want)
	}
}
