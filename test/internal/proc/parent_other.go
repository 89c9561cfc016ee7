//go:build !linux

package proc

import "syscall"

// diesWithParent has no equivalent here; the tests' own clean-up must do.
func diesWithParent() *syscall.SysProcAttr { return nil }
