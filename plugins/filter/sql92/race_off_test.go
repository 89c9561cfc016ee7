//go:build !race

package sql92

const raceEnabled = false
