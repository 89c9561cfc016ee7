package invariants

import "testing"

func TestFailfPanicsWithText(t *testing.T) {
	defer func() {
		if got, want := recover(), "weir bug: segment 3 after 7"; got != want {
			t.Fatalf("panic value %q, want %q", got, want)
		}
	}()
	Failf("segment %d after %d", 3, 7)
}
