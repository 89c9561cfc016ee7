//go:build race

package sql92

const raceEnabled = true // pools drop things at random then
