package proc

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Await collects the lines of a process until one holds a text. Use its Line as OnLine.
type Await struct {
	text  string
	once  sync.Once
	found chan string
}

// NewAwait waits for the first line that holds text.
func NewAwait(text string) *Await { return &Await{text: text, found: make(chan string, 1)} }

// Line looks at one line.
func (a *Await) Line(line []byte) (log bool) {
	if strings.Contains(string(line), a.text) {
		a.once.Do(func() { a.found <- string(line) })
	}
	return true
}

// Wait returns the line. It fails with the end of the log when the process ends first, or ctx.
func (a *Await) Wait(ctx context.Context, p *Process) (string, error) {
	select {
	case line := <-a.found:
		return line, nil
	case <-p.Done():
		return "", fmt.Errorf("await %q: %s ended; its log ends:\n%s", a.text, p.spec.Path, p.Tail())
	case <-ctx.Done():
		return "", fmt.Errorf("await %q of %s: %w; its log ends:\n%s", a.text, p.spec.Path, ctx.Err(), p.Tail())
	}
}
