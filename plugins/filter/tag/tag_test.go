package tag

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/filter/filtertest"
	"github.com/weirmq/weir/core/message"
)

func tagged(tags ...string) (list []filtertest.Message) {
	for _, tag := range tags {
		list = append(list, filtertest.Message{Tag: tag})
	}
	return list
}

// wants sets the outcomes: those tags that are named are true.
func wants(list []filtertest.Message, matching ...string) []filtertest.Message {
	list = slices.Clone(list)
	for i := range list {
		if slices.Contains(matching, list[i].Tag) {
			list[i].Want = filtertest.True
		}
	}
	return list
}

func TestConformance(t *testing.T) {
	all := tagged("", "TagA", "TagB", "Aa", "BB", "AaAa", "BBBB", "*", "TagA|TagB", "标签", "😀", "|")
	everything := wants(all, "", "TagA", "TagB", "Aa", "BB", "AaAa", "BBBB", "*", "TagA|TagB", "标签", "😀", "|")
	ext := func(tag string, want filtertest.Outcome) filtertest.Message {
		return filtertest.Message{Tag: tag, ExtAddress: true, Want: want}
	}
	noRecord := filtertest.Message{Tag: "TagA", ExtAddress: true, NoRecord: true, Want: filtertest.Undecided}
	expr := func(text string) filter.Expression { return filter.Expression{Type: filter.TypeTag, Text: text} }
	filtertest.Run(t, filtertest.Suite{Factory: Factory{}, Cases: []filtertest.Case{
		{Name: "everything", Expression: expr("*"), Messages: append(everything, ext("x", filtertest.True))},
		{Name: "empty", Expression: expr(""), Messages: everything, SameKey: "everything"},
		{Name: "one", Expression: expr("TagA"), Messages: append(wants(all, "TagA"), ext("TagA", filtertest.True), ext("x", filtertest.False), noRecord)},
		{Name: "two", Expression: expr("TagA||TagB"), Messages: append(wants(all, "TagA", "TagB"), ext("TagB", filtertest.True), noRecord)},
		{Name: "two, otherwise written", Expression: expr(" TagB ||  || TagA||TagA"), Messages: wants(all, "TagA", "TagB"), SameKey: "two"},
		{Name: "equal hashes pass", Expression: expr("Aa"), Messages: wants(all, "Aa", "BB")},
		{Name: "equal hashes of four characters", Expression: expr("AaAa||TagA"), Messages: wants(all, "AaAa", "BBBB", "TagA")},
		{Name: "colliding tags", Expression: expr("Aa||BB"), Messages: wants(all, "Aa", "BB"), SameKey: "equal hashes pass", Warnings: 1},
		{Name: "blanks match nothing", Expression: expr("  "), Messages: append(all, ext("x", filtertest.False)), Warnings: 1},
		{Name: "blanked star is a tag", Expression: expr(" * "), Messages: wants(all, "*"), Warnings: 1},
		{Name: "single bar is a part of the name", Expression: expr("TagA|TagB"), Messages: wants(all, "TagA|TagB"), Warnings: 1},
		{Name: "not ASCII", Expression: expr("标签||😀"), Messages: wants(all, "标签", "😀")},
		{Name: "many", Expression: expr("1||2||3||4||5||6||7||8||9||TagA||10"), Messages: append(wants(all, "TagA"), noRecord)},
		{Name: "separator only", Expression: expr("||"),
			Error: "parse tag subscription: nothing but || in it; write tags separated by ||, or * for everything"},
	}})
}

// TestVectors compares with what RocketMQ's FilterAPI made of the same texts.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/subscription.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Tags []struct {
			Text   *string
			Result json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Tags {
		text := ""
		if v.Text != nil {
			text = *v.Text
		}
		p, err := compiler{}.Compile(context.Background(), filter.Expression{Type: filter.TypeTag, Text: text})
		var want struct {
			SubString string
			Codes     []int32
		}
		if json.Unmarshal(v.Result, &want) != nil {
			if err == nil {
				t.Errorf("%q: compiles, but RocketMQ says %s", text, v.Result)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		tags := message.Tags{All: want.SubString == "*", Codes: want.Codes}
		slices.Sort(tags.Codes)
		if p.Key() != keyOf(tags) {
			t.Errorf("%q: other codes than %v", text, want.Codes)
		}
		for _, c := range want.Codes {
			if !p.(*program).set.has(int64(c)) {
				t.Errorf("%q: code %d doesn't match", text, c)
			}
		}
	}
}
