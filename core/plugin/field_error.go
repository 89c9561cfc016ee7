package plugin

import "fmt"

// FieldError is a bad value in a configuration. A Validate method returns it, alone or in errors.Join, so that
// core/config can point at the line that has the value.
type FieldError struct {
	// Field is the key as it is written in broker.yaml, relative to the struct that was validated: "listen" or, in a
	// section below it, "tls.cert_file".
	Field string
	Err   error
}

// Invalid returns a FieldError with a formatted text.
func Invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Err: fmt.Errorf(format, args...)}
}

// Error returns the field and what is wrong with it.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }
