//go:build invariants || race

package invariants

// Enabled says whether expensive self-checks run.
const Enabled = true
