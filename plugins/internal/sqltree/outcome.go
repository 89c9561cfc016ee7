package sqltree

// Outcome is what a condition comes to. The numbers are fixed: generated code uses them.
type Outcome uint8

// The outcomes.
const (
	False Outcome = iota
	True
	Unknown
	Raise
)

var outcomeNames = [...]string{"false", "true", "unknown", "raise"}

// String returns the outcome's name.
func (o Outcome) String() string { return outcomeNames[o] }

func truth(b bool) Outcome {
	if b {
		return True
	}
	return False
}
