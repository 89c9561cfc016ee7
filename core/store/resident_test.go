package store

import "testing"

// What was found in memory is known until the next epoch; other windows, and ranges that reach into one, are not.
func TestResidency(t *testing.T) {
	r := &residency{}
	const w = residentWindow
	if r.known(0, 1) || r.known(5*w, w) {
		t.Fatal("known before anything was noted")
	}
	r.note(5*w+10, w) // parts of windows 5 and 6
	for _, c := range []struct {
		pos, n int64
		want   bool
	}{
		{5 * w, 1, true}, {5 * w, 2 * w, true}, {6*w + w - 1, 1, true}, {6*w + w - 1, 2, false}, {5*w - 1, 2, false},
		{4 * w, w, false}, {(5 + residentSlots) * w, 1, false},
	} {
		if got := r.known(c.pos, c.n); got != c.want {
			t.Errorf("[%d, +%d): known %v, want %v", c.pos, c.n, got, c.want)
		}
	}
	r.note((5+residentSlots)*w, 1)
	if r.known(5*w, 1) || !r.known((5+residentSlots)*w, 1) || !r.known(6*w, 1) {
		t.Error("a window that shares a slot doesn't replace the other one only")
	}
	r.tick()
	if r.known(6*w, 1) || r.known((5+residentSlots)*w, 1) {
		t.Error("known for ever")
	}
	r.note(6*w, 1)
	if !r.known(6*w, 1) {
		t.Error("noted again and not known")
	}
}
