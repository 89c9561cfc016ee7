// Package invariants tells code whether to spend time on checking itself.
//
// Built with `-tags invariants` or with the race detector, Enabled is true and expensive self-checks run; otherwise it
// is a false constant and the compiler removes them. A check that is cheap or that guards data runs always and does not
// belong here.
//
//	if invariants.Enabled && next < last {
//		invariants.Failf("segment: list not ascending: %d after %d", next, last)
//	}
package invariants

import "fmt"

// Failf panics with the formatted text, marked as a bug of ours. Call it only when a condition that our own code
// guarantees does not hold; bad input from outside is an error, never this.
func Failf(format string, args ...any) {
	panic("weir bug: " + fmt.Sprintf(format, args...))
}
