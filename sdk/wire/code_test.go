package wire

import "testing"

func TestConstantVectors(t *testing.T) {
	vec := load[struct {
		RequestCodes map[string]int32
		Language     map[string]Language
		Versions     map[string]int
	}](t, "constants.json")
	for name, code := range vec.RequestCodes {
		if got := CodeName(code); got != name {
			t.Errorf("%d is %s, want %s", code, got, name)
		}
	}
	if got := CodeName(9999); got != "CODE_9999" {
		t.Error(got)
	}
	for name, l := range vec.Language {
		if l.String() != name || ParseLanguage(name) != l {
			t.Errorf("language %d is %s, want %s", l, l, name)
		}
	}
	if vec.Versions["V4_9_7"] != Version {
		t.Errorf("version %d", Version)
	}
}
