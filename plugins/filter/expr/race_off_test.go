//go:build !race

package expr

// raceDetector says whether this test binary watches for races.
const raceDetector = false
