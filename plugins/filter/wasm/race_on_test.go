//go:build race

package wasm

// The race detector makes pools forget things, so allocations are not counted under it.
const raceEnabled = true
