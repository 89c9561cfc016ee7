package filter

import "context"

type hasteKey struct{}

// WithHaste returns a context for a Match that others wait for, whatever their topic: messages are not readable before it
// returns. A program that runs modules must then neither wait for its turn nor try again after a failure; what it can't
// judge at once is undecided, and the pull has it judged in its own time.
func WithHaste(ctx context.Context) context.Context {
	return context.WithValue(ctx, hasteKey{}, true)
}

// InHaste says whether ctx is one of WithHaste.
func InHaste(ctx context.Context) bool { return ctx.Value(hasteKey{}) != nil }
