package message

import "testing"

func TestHashVectors(t *testing.T) {
	for _, v := range load[struct {
		Hash []struct {
			Text     string
			TagsCode int64
		}
	}](t, "hash.json").Hash {
		if got := TagsCode(v.Text); got != v.TagsCode {
			t.Errorf("%q: %d, want %d", v.Text, got, v.TagsCode)
		}
		if got := TagsCode([]byte(v.Text)); got != v.TagsCode {
			t.Errorf("bytes %q: %d, want %d", v.Text, got, v.TagsCode)
		}
	}
}

func TestHashMalformed(t *testing.T) {
	// Expected values are those of new String(bytes, UTF_8).hashCode() in Java 17.
	const repl = "\ufffd"
	for _, tt := range []struct{ in, as string }{
		{"\xe4\xb8", repl}, {"\xe4\xb8A", repl + "A"}, {"\xe4", repl}, {"\xe4A", repl + "A"},
		{"\xed\xa0\x80", repl}, {"\xc0\x80", repl + repl}, {"\xc3", repl}, {"\x80a", repl + "a"},
		{"\xf0\x9f\x98", repl}, {"\xf0\x9f", repl}, {"\xf0\x80\x80\x80", repl + repl + repl + repl},
		{"\xf4\x90\x80\x80", repl + repl + repl + repl}, {"\xf8\x80", repl + repl}, {"\xe0\x80\x80", repl + repl + repl},
		{"\xf0\x9f\x98a", repl + "a"},
	} {
		if got, want := JavaHash(tt.in), JavaHash(tt.as); got != want {
			t.Errorf("%x: %d, want that of %q, %d", tt.in, got, tt.as, want)
		}
	}
}

func TestCRCVectors(t *testing.T) {
	for _, v := range load[struct {
		CRC []struct {
			Bytes string
			CRC   int32
		}
	}](t, "util.json").CRC {
		if got := BodyCRC(unhex(t, v.Bytes)); got != v.CRC {
			t.Errorf("%s: %d, want %d", v.Bytes, got, v.CRC)
		}
	}
}

func FuzzJavaHash(f *testing.F) {
	f.Add("TagA")
	f.Add("\xf0\x9f\x98\xe4\xb8")
	f.Fuzz(func(t *testing.T, s string) {
		if JavaHash(s) != JavaHash([]byte(s)) {
			t.Fatal("string and bytes differ")
		}
	})
}
