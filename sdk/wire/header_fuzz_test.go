package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzJSONHeader compares with encoding/json: what is strict JSON and fits the header's struct must be read alike.
func FuzzJSONHeader(f *testing.F) {
	for _, v := range load[struct {
		DecodeJSON []struct{ Input string } `json:"decodeJson"`
		Encode     []struct{ JSONHeader string }
	}](f, "command-frame.json").DecodeJSON {
		f.Add([]byte(v.Input))
	}
	f.Add([]byte(sendHeaderJSON))
	f.Add([]byte(`{"extFields":{"a":"\ud83d\ude00\ud83d","b":"\u0001\n"},"remark":"\/"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Header
		_, err := h.Decode(rawFrame(JSON, in, nil))
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
		if err == nil {
			roundTrip(t, &h)
		}
		var want struct {
			Code, Flag, Opaque, Version int32
			Remark                      *string
			ExtFields                   map[string]string
		}
		if !utf8.Valid(in) || json.Unmarshal(in, &want) != nil || in[bytes.IndexAny(in, "{n")] != '{' {
			return
		}
		if !plainMembers(in) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v, encoding/json reads it", in, err)
		}
		if h.Code != want.Code || h.Flag != want.Flag || h.Opaque != want.Opaque || h.Version != want.Version {
			t.Fatalf("%s: %+v, want %+v", in, h, want)
		}
		if want.Remark != nil && text(h.Remark) != *want.Remark {
			t.Fatalf("%s: remark %q, want %q", in, h.Remark, *want.Remark)
		}
		for k, v := range want.ExtFields {
			if got, ok := h.Get(k); ok && string(got) != v || !ok && v != "" {
				t.Fatalf("%s: ext %q = %q, want %q", in, k, got, v)
			}
		}
	})
}

// plainMembers says whether in repeats no member and has a language that is allowed to be anything: repeated ones are merged by encoding/json
// and replaced by us, and numbers for a language are checked only by us.
func plainMembers(in []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(in))
	seen := map[string]bool{}
	_, _ = dec.Token()
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		k := string(bytes.ToLower([]byte(key.(string))))
		if seen[k] || k == "language" || utf8.RuneCountInString(k) != len(k) {
			return false
		}
		seen[k] = true
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return false
		}
		if depth(skip) > maxNesting-1 {
			return false
		}
	}
	return len(in) < 1<<14
}

func depth(b []byte) int { return bytes.Count(b, []byte("[")) + bytes.Count(b, []byte("{")) }

// roundTrip writes h and expects to read the same.
func roundTrip(t *testing.T, h *Header) {
	t.Helper()
	h.Unique()
	for _, typ := range []Type{JSON, Binary} {
		h.Type = typ
		frame, err := AppendFrame(nil, h, []byte("body"))
		if err != nil {
			continue // doesn't fit the binary header
		}
		var again Header
		body, err := again.Decode(frame)
		if err != nil || string(body) != "body" {
			if typ == JSON && len(frame) > MaxHeaderSize {
				continue
			}
			t.Fatalf("%v: %q: %v", typ, frame, err)
		}
		if again.Code != h.Code || again.Opaque != h.Opaque || again.Flag != h.Flag || again.Version != h.Version {
			t.Fatalf("%v: %+v, want %+v", typ, again, *h)
		}
		for _, f := range h.Ext {
			if !utf8.Valid(f.Key) || !utf8.Valid(f.Value) || len(f.Key) == 0 || len(f.Value) == 0 {
				continue
			}
			if got, ok := again.Get(string(f.Key)); !ok || !bytes.Equal(got, f.Value) {
				t.Fatalf("%v: ext %q = %q, want %q", typ, f.Key, got, f.Value)
			}
		}
	}
}

func FuzzBinaryHeader(f *testing.F) {
	for _, v := range load[struct {
		DecodeBinary []struct{ Frame string }
	}](f, "command-frame.json").DecodeBinary {
		f.Add(unhex(f, v.Frame)[8:])
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Header
		_, err := h.Decode(rawFrame(Binary, in, nil))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		roundTrip(t, &h)
	})
}

// FuzzFrame feeds raw bytes to what a connection's read loop calls.
func FuzzFrame(f *testing.F) {
	f.Add(rawFrame(JSON, []byte(sendHeaderJSON), []byte("body")))
	f.Add(rawFrame(Binary, make([]byte, 21), nil))
	f.Fuzz(func(t *testing.T, buf []byte) {
		var h Header
		for len(buf) > 0 {
			frame, n, err := NextFrame(buf)
			if err != nil {
				return
			}
			if frame == nil {
				if n <= len(buf) || n > MaxFrameSize {
					t.Fatalf("have %d bytes, wants %d", len(buf), n)
				}
				return
			}
			if n != len(frame) {
				t.Fatalf("n %d, frame of %d", n, len(frame))
			}
			_, _ = h.Decode(frame)
			buf = buf[n:]
		}
	})
}

// FuzzEndTransactionHeader reads a decision from any ext fields: what is read comes back when it is written.
func FuzzEndTransactionHeader(f *testing.F) {
	f.Add([]byte(`{"code":37,"extFields":{"commitLogOffset":"123","commitOrRollback":"8","fromTransactionCheck":"true","msgId":"7F","producerGroup":"g","tranStateTableOffset":"4","transactionId":"t"}}`))
	f.Add([]byte(`{"extFields":{"commitLogOffset":"-9223372036854775808","commitOrRollback":"2147483648","producerGroup":"","tranStateTableOffset":"+1"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h Header
		if _, err := h.Decode(rawFrame(JSON, in, nil)); err != nil {
			return
		}
		var x EndTransactionHeader
		if err := x.Decode(&h); err != nil {
			return
		}
		var written Header
		written.Request(CodeEndTransaction, 1)
		x.Encode(&written)
		var again EndTransactionHeader
		if err := again.Decode(&written); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if again.CommitLogOffset != x.CommitLogOffset || again.CommitOrRollback != x.CommitOrRollback || again.TranStateTableOffset != x.TranStateTableOffset ||
			again.FromTransactionCheck != x.FromTransactionCheck || !bytes.Equal(again.ProducerGroup, x.ProducerGroup) || !bytes.Equal(again.MsgID, x.MsgID) ||
			!bytes.Equal(again.TransactionID, x.TransactionID) {
			t.Fatalf("%s: %+v comes back as %+v", in, x, again)
		}
	})
}
