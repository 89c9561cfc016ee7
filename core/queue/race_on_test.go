//go:build race

package queue

// The race detector makes pools forget things, so allocations are not counted under it.
const raceEnabled = true
