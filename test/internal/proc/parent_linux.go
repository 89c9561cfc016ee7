package proc

import "syscall"

// diesWithParent lets the kernel kill the child when the test binary goes, even if that was killed itself.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
