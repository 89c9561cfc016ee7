package message

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"
)

func TestBatchVectors(t *testing.T) {
	type item struct {
		Flag       int32
		Body       string
		Properties json.RawMessage
	}
	vec := load[struct {
		Encode []struct {
			Messages []item
			Body     string
		}
		Decode []struct {
			Body   string
			Result json.RawMessage
		}
	}](t, "batch-body.json")
	for i, v := range vec.Encode {
		var b Batch
		for _, m := range v.Messages {
			var props string
			_ = json.Unmarshal(m.Properties, &props)
			b, _ = AppendBatchItem(b, m.Flag, unhex(t, m.Body), Properties(props))
		}
		if hex.EncodeToString(b) != v.Body {
			t.Errorf("%d: encoded %x, want %s", i, b, v.Body)
		}
		if n, err := b.Count(); err != nil || n != len(v.Messages) {
			t.Errorf("%d: count %d, %v", i, n, err)
		}
	}
	for _, v := range vec.Decode {
		var want []item
		javaReads := json.Unmarshal(v.Result, &want) == nil
		b := Batch(unhex(t, v.Body))
		var got int
		for {
			it, rest, ok, err := b.Next()
			if err != nil {
				if javaReads || !errors.Is(err, ErrBadBatch) {
					t.Errorf("%s: %v", v.Body, err)
				}
				break
			}
			if !ok {
				if !javaReads || got != len(want) {
					t.Errorf("%s: %d items, want %s", v.Body, got, v.Result)
				}
				break
			}
			if javaReads && (it.Flag != want[got].Flag || hex.EncodeToString(it.Body) != want[got].Body) {
				t.Errorf("%s: item %d differs", v.Body, got)
			}
			b, got = rest, got+1
		}
	}
}

func FuzzBatch(f *testing.F) {
	b, _ := AppendBatchItem(nil, 1, []byte("hi"), Properties("a\x01b"))
	b, _ = AppendBatchItem(b, 2, nil, nil)
	f.Add([]byte(b))
	f.Fuzz(func(t *testing.T, in []byte) {
		var again Batch
		b := Batch(in)
		for {
			it, rest, ok, err := b.Next()
			if err != nil || !ok {
				break
			}
			if len(rest) >= len(b) {
				t.Fatal("no progress")
			}
			again, _ = AppendBatchItem(again, it.Flag, it.Body, it.Properties)
			b = rest
		}
		if n := len(in) - len(b); len(again) != n || n > 22 && !bytes.Equal(again[12:20], in[12:20]) {
			t.Fatalf("encoded again: %d bytes, want %d", len(again), n)
		}
	})
}
