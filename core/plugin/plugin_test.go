package plugin_test

import (
	"testing"

	"github.com/weirmq/weir/core/plugin"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]plugin.Size{
		"0": 0, "512": 512, "64KiB": 64 << 10, "1 GiB": 1 << 30, "1.5MiB": 3 << 19, "7B": 7, "2TiB": 2 << 40,
	} {
		got, err := plugin.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "KiB", "1GB", "-1", "1kib", "9223372036854775807KiB", "NaN", "1e30TiB"} {
		if got, err := plugin.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d; want an error", text, got)
		}
	}
}

func TestSizeStringReadsBack(t *testing.T) {
	for _, s := range []plugin.Size{0, 1, 1023, 1024, 6000000, 1 << 30, 5 << 40} {
		back, err := plugin.ParseSize(s.String())
		if err != nil || back != s {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", s.String(), back, err, s)
		}
	}
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]plugin.ID{
		"tag": {Type: "tag"}, "wasm/geo": {Type: "wasm", Name: "geo"}, "wasm/geo-2.1": {Type: "wasm", Name: "geo-2.1"},
	} {
		got, err := plugin.ParseID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseID(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Tag", "wasm/", "/geo", "a/b/c", "a b", "../x"} {
		if got, err := plugin.ParseID(text); err == nil {
			t.Errorf("ParseID(%q) = %v; want an error", text, got)
		}
	}
}
