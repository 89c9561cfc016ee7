// Package proc runs the programs that a test judges or judges with: brokers, name servers, clients.
//
// What a process prints goes to a log file; its standard output is also handed on line by line, because that is how servers say that they are ready and how clients answer. A process dies with the test that started it. Nothing
// here sleeps: who waits for a process waits for a line of it or for its end.
package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// Spec says what to run. Path and Log are required.
type Spec struct {
	Path string
	Args []string
	Env  []string // added to the environment of the test
	Dir  string
	Log  string // file that gets standard output and standard error; it is appended to

	// OnLine gets each line of standard output without its end, from one goroutine, and says whether the log gets it too.
	// The next line waits for its return.
	OnLine func(line []byte) (log bool)
}

// Process is a running, or ended, program.
type Process struct {
	spec  Spec
	cmd   *exec.Cmd
	stdin io.WriteCloser

	write sync.Mutex // held while writing to stdin

	done chan struct{} // closed when it has ended and all its output is read
	err  error         // of Wait, valid after done
}

// Start runs the program.
func Start(spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Dir = spec.Dir
	cmd.Stderr = log
	cmd.SysProcAttr = diesWithParent()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	p := &Process{spec: spec, cmd: cmd, stdin: stdin, done: make(chan struct{})}
	go p.read(stdout, log)
	return p, nil
}

// read copies the output until its end, then reaps the process.
func (p *Process) read(stdout io.Reader, log *os.File) {
	r := bufio.NewReaderSize(stdout, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if p.spec.OnLine == nil || p.spec.OnLine(bytes.TrimRight(line, "\r\n")) {
				_, _ = log.Write(line)
			}
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
	log.Close()
	close(p.done)
}

// Pid is the process number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its last line was handed on.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Write sends bytes to standard input. It may be called by several goroutines; calls do not mix.
func (p *Process) Write(b []byte) error {
	p.write.Lock()
	defer p.write.Unlock()
	_, err := p.stdin.Write(b)
	return err
}

// CloseInput ends standard input.
func (p *Process) CloseInput() error { return p.stdin.Close() }

// Stop asks the process to end (SIGTERM) and waits for it. An exit code other than 0 is an error, except those with which
// Java ends on a signal, 143 and 130; so is the end of ctx, after which the process is killed.
func (p *Process) Stop(ctx context.Context) error {
	if p.Running() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	return p.Wait(ctx)
}

// Wait waits for the process to end by itself, with the same errors as Stop.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: %w, so it was killed; its log ends:\n%s", p.spec.Path, ctx.Err(), p.Tail())
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && (exit.ExitCode() == 143 || exit.ExitCode() == 130) {
		return nil
	}
	if p.err != nil {
		return fmt.Errorf("stop %s: %w; its log ends:\n%s", p.spec.Path, p.err, p.Tail())
	}
	return nil
}

// Kill ends the process at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Tail returns the last 4 KiB of the log, for error texts.
func (p *Process) Tail() string { return Tail(p.spec.Log) }

// Tail returns the last 4 KiB of a file, or why it cannot.
func Tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 4 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
