//go:build race

package expr

// raceDetector says whether this test binary watches for races. It makes pools drop what they hold now and then.
const raceDetector = true
