package wasm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirmq/weir/core/filter"
)

// figures count what a module has done since it was loaded, for operators who ask; the reporter's counters go to the metrics.
type figures struct {
	calls, records, fuel, failures, poison, opens atomic.Int64
	nanos                                         atomic.Int64
	instances                                     atomic.Int64 // that there are now

	compared, onlyCurrent, onlyShadow, shadowFailed atomic.Int64 // of a shadow
}

func (f *figures) info() filter.ModuleFigures {
	return filter.ModuleFigures{Calls: f.calls.Load(), Records: f.records.Load(), Fuel: f.fuel.Load(), Failures: f.failures.Load(),
		Poison: f.poison.Load(), Opens: f.opens.Load(), Time: time.Duration(f.nanos.Load())}
}

func (f *figures) shadow() filter.ShadowFigures {
	return filter.ShadowFigures{Compared: f.compared.Load(), OnlyCurrent: f.onlyCurrent.Load(), OnlyShadow: f.onlyShadow.Load(),
		Failed: f.shadowFailed.Load()}
}

// countCall counts a call that an instance has made, and that began at a time.
func (p *program) countCall(in *instance, n int, began time.Time) {
	f := &p.module.figures
	f.calls.Add(1)
	f.nanos.Add(int64(p.clock.Now().Sub(began)))
	f.records.Add(int64(n))
	f.fuel.Add(in.used())
	p.report.called(in, n)
}

func (p *program) countFailed(err error) {
	p.module.figures.failures.Add(1)
	p.report.failed(p.module.number, err)
}

func (p *program) countOpened(err error) {
	p.module.figures.opens.Add(1)
	p.report.opened(p.module.number, err)
}

// demote begins a new purity epoch: the module was caught.
func (p *program) demote() {
	p.demoted.Add(1)
	p.report.demoted(p.module.number)
}

// journalMax is how many lines are kept for a module. A line has at most logMax bytes of text.
const journalMax = 200

// journal is the last lines about a module.
type journal struct {
	mu    sync.Mutex // guards all below
	lines []filter.ModuleLine
	next  int // where the next goes, once there are journalMax
}

func (j *journal) add(now time.Time, level string, number int, text string) {
	line := filter.ModuleLine{Time: now, Level: level, Number: number, Text: printable([]byte(text), logMax)}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) < journalMax {
		j.lines = append(j.lines, line)
		return
	}
	j.lines[j.next] = line
	j.next = (j.next + 1) % journalMax
}

// all returns the lines, oldest first.
func (j *journal) all() []filter.ModuleLine {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append(append([]filter.ModuleLine{}, j.lines[j.next:]...), j.lines[:j.next]...)
}

// life counts who uses a module: the compiler that serves it, and its programs. The last one out closes it.
type life struct {
	refs atomic.Int64
	end  func()                // closes the module
	off  atomic.Pointer[error] // why its programs judge nothing

	mu       sync.Mutex // guards all below
	programs map[*program]struct{}
	demoted  bool
}

// retain counts one more user in. It fails when the module is closed.
func (l *life) retain() bool {
	for {
		n := l.refs.Load()
		if n == 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (l *life) release() {
	if l.refs.Add(-1) == 0 {
		l.end()
	}
}

// turnOff lets the module's programs judge nothing, for a reason; nil turns it on again.
func (l *life) turnOff(why error) {
	if why == nil {
		l.off.Store(nil)
		return
	}
	l.off.Store(&why)
}

func (l *life) join(p *program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.programs == nil {
		l.programs = map[*program]struct{}{}
	}
	l.programs[p] = struct{}{}
}

func (l *life) leave(p *program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.programs, p)
	l.demoted = l.demoted || p.demoted.Load() > 0
}

// describe adds to x what is known of a loaded module.
func (m *module) describe(x *filter.ModuleInfo) {
	x.Loaded, x.Pure = true, !m.impure
	x.Kinds, x.Version = m.manifest.Kind, m.manifest.Version
	x.Instances = int(m.figures.instances.Load())
	x.Figures, x.Shadow = m.figures.info(), m.figures.shadow()
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	x.Programs, x.Demoted = len(m.life.programs), m.life.demoted
	for p := range m.life.programs {
		x.Open = x.Open || p.breaker.isOpen()
		x.Demoted = x.Demoted || p.demoted.Load() > 0
		if err := p.Fault(); err != nil {
			x.Fault = err.Error()
		}
	}
}

// ref names the module.
func (m *module) ref() filter.ModuleRef {
	return filter.ModuleRef{Name: m.name, Number: m.number, SHA256: fmt.Sprintf("%x", m.hash)}
}
