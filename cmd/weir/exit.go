package main

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/weirmq/weir/core/config"
)

// The exit codes. Scripts rely on them; docs/cli.md lists them.
const (
	exitOK          = 0
	exitFailure     = 1 // the command was understood and failed
	exitUsage       = 2 // the command line or the configuration is wrong
	exitUnreachable = 3 // no answer: connection refused, lost, or timed out
	exitNotFound    = 4 // no such topic, group or message
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func isUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}

// silent is an error that has been told already and only sets the exit code.
type silent struct{ code int }

func (s *silent) Error() string { return "" }

// exitCode chooses the code that err ends the process with.
func exitCode(err error) int {
	var said *silent
	var bad config.Errors
	var network net.Error
	var op *net.OpError
	var why *reason
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &said):
		return said.code
	case errors.As(err, &why):
		return why.code
	case isUsage(err), errors.As(err, &bad):
		return exitUsage
	case errors.As(err, &op) && op.Op == "listen":
		return exitFailure // our own address, nobody else's
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && !isErrno(network):
		return exitUnreachable
	}
	return exitFailure
}

// isErrno says that err is a number of the operating system, about a file for example. Those have the methods of network errors, too.
func isErrno(err error) bool {
	_, ok := err.(syscall.Errno) //nolint:errorlint // what wraps a number is a network error or none
	return ok
}
