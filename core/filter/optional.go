package filter

// Explainer is an optional ability of a Program: to say why verdicts were undecided.
type Explainer interface {
	// Fault returns the cause of the last undecided verdicts, nil if there never were any. It is for whoever has to tell a
	// client or an operator why messages wait.
	Fault() error
}

// Sharer is an optional ability of a Compiler: to serve an expression type together with other compilers, each its own
// texts.
type Sharer interface {
	// Serves says whether e is for this compiler. For any text at most one of the compilers of a type says so.
	Serves(e Expression) bool
	// Names lists what texts for this compiler begin with, as the valid choices of an error message.
	Names() []string
}
