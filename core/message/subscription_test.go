package message

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestParseTagsVectors(t *testing.T) {
	for _, v := range load[struct {
		Tags []struct {
			Text   string
			Result json.RawMessage
		}
	}](t, "subscription.json").Tags {
		var want struct {
			SubString string
			Tags      []string
			Codes     []int32
		}
		javaReads := json.Unmarshal(v.Result, &want) == nil
		got, err := ParseTags(v.Text)
		if (err == nil) != javaReads {
			t.Errorf("%q: %v, want %s", v.Text, err, v.Result)
			continue
		}
		if !javaReads {
			continue
		}
		slices.Sort(want.Tags)
		slices.Sort(got.Names)
		if !slices.Equal(got.Names, want.Tags) || !slices.Equal(got.Codes, want.Codes) || got.All != (want.SubString == "*") {
			t.Errorf("%q: %+v, want %s", v.Text, got, v.Result)
		}
	}
}

func TestTagsMatch(t *testing.T) {
	for _, tt := range []struct {
		text, tag string
		want      bool
	}{
		{"*", "", true}, {"", "x", true}, {"TagA", "TagA", true}, {"TagA", "TagB", false}, {"TagA || TagB", "TagB", true},
		{"AaAa", "BBBB", true}, // equal hashes pass
		{"TagA", "", false}, {" ", "TagA", false}, {" * ", "TagA", false},
	} {
		tags, err := ParseTags(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := tags.Match(TagsCode(tt.tag)); got != tt.want {
			t.Errorf("%q, tag %q: %v", tt.text, tt.tag, got)
		}
	}
}

func FuzzParseTags(f *testing.F) {
	f.Add("TagA || TagB")
	f.Add("||||")
	f.Fuzz(func(t *testing.T, s string) {
		tags, err := ParseTags(s)
		if err == nil && !tags.All && !slices.IsSorted(tags.Codes) {
			t.Fatalf("%v", tags)
		}
	})
}
