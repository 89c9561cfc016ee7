package filter

// Explainer is an optional ability of a Program: to say why verdicts were undecided.
type Explainer interface {
	// Fault returns the cause of the last undecided verdicts, nil if there never were any. It is for whoever has to tell a
	// client or an operator why messages wait.
	Fault() error
}

// FailurePolicy is an optional ability of a Program: to say what a pull does with messages that it can't judge. Without it
// they are held.
type FailurePolicy interface {
	// OnPoison is for messages that are marked as poison, OnFault for all others that are undecided.
	OnPoison() FailureAction
	OnFault() FailureAction
}

// FailureAction is what becomes of a message that can't be judged.
type FailureAction uint8

// The actions.
const (
	// Hold stops the pull in front of the message; the client comes again.
	Hold FailureAction = iota
	// Drop passes the message over, as one that doesn't match.
	Drop
	// Pass delivers the message, as one that matches.
	Pass
)

// Sharer is an optional ability of a Compiler: to serve an expression type together with other compilers, each its own
// texts.
type Sharer interface {
	// Serves says whether e is for this compiler. For any text at most one of the compilers of a type says so.
	Serves(e Expression) bool
	// Names lists what texts for this compiler begin with, as the valid choices of an error message.
	Names() []string
}

// Describer is an optional ability of a Program: to say for people how it judges.
type Describer interface {
	Describe() Description
}

// Description is what a program says of itself.
type Description struct {
	// Engine is what evaluates it, and Tree its conditions as lines of a drawn tree.
	Engine string   `json:"engine,omitempty"`
	Tree   []string `json:"tree,omitempty"`
	// Reads lists properties and how they are read.
	Reads []string `json:"reads,omitempty"`
	// Index says what the queue's index alone rules out; empty for nothing.
	Index string `json:"index,omitempty"`
	// Parts are the steps in which a message that was read is judged, none when the index decides. A later step is for
	// messages only that have passed those before it.
	Parts []Part `json:"parts,omitempty"`
	// Hints are notes that aren't worth a warning. They begin, like warnings, with "at character N: " if they have a place.
	Hints []string `json:"hints,omitempty"`
}

// Part is a step of judging a message: what kind of step, and the conditions that are judged in it.
type Part struct {
	Name       string   `json:"name"`
	Conditions []string `json:"conditions,omitempty"`
}

// The names of parts.
const (
	PartConditions = "conditions" // over properties and the message's own fields
	PartBody       = "body"       // conditions that read the body
	PartCalls      = "calls"      // of functions and whole modules
	PartModule     = "module"     // a whole module judges
)

// Prefilter is an optional ability of a Program whose Match judges in several parts: to say what the first one rules out,
// for whoever counts. Match does without.
type Prefilter interface {
	// MatchCheap clears in keep the bits of the messages that the first part doesn't let through. It does nothing when
	// there is one part only.
	MatchCheap(b *Batch, keep []uint64)
}
