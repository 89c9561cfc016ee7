package queue

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// program is a compiled expression in use. Everybody who holds a *program has counted in with retain or got it from
// Programs.get, and counts out with release; the last one out closes it. A nil *program accepts every message.
type program struct {
	filter.Program
	index filter.IndexMatcher // nil when the program can't judge by index entries
	renew filter.Renewable    // nil when its expression always means this program
	needs filter.Needs
	key   filter.Key
	kept  bool // its verdicts are worth keeping, while it is pure
	// foreign says that it runs modules: whatever it is asked may take long.
	foreign bool
	refs    atomic.Int64
	log     *slog.Logger
}

// keepable says whether p's verdicts are worth keeping, and may be: it reads messages for them, and a message's verdict
// never changes. Tags aren't: the index has them. A program may stop being pure, when it is caught breaking that promise.
func (p *program) keepable() bool { return p != nil && p.kept && p.Pure() }

// retain counts one more user in. It fails when the program is closed already.
func (p *program) retain() bool {
	if p == nil {
		return true
	}
	for {
		n := p.refs.Load()
		if n == 0 {
			return false
		}
		if p.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release counts a user out.
func (p *program) release() {
	if p == nil || p.refs.Add(-1) > 0 {
		return
	}
	if err := p.Close(); err != nil {
		p.log.Warn("close filter program", "key", p.Key().String(), "error", err)
	}
}

// Programs compiles expressions and keeps the results: as long as anybody uses them, and up to a number of those that
// were used last. Equal expressions share one program. It is safe for concurrent use.
type Programs struct {
	compilers Compilers
	idleMax   int
	sizeMax   int
	log       *slog.Logger

	mu     sync.Mutex // guards all below
	byText map[filter.Expression]*list.Element
	recent *list.List // of cachedProgram, last used first
}

type cachedProgram struct {
	expr filter.Expression
	prog *program // counted in once by the list
}

// NewPrograms returns an empty table of programs.
func NewPrograms(c Compilers, cfg Config, log *slog.Logger) *Programs {
	return &Programs{
		compilers: c, idleMax: cfg.ProgramsMax, sizeMax: int(cfg.ExpressionSizeMax), log: log,
		byText: map[filter.Expression]*list.Element{}, recent: list.New(),
	}
}

// errNoCompiler says that no running filter plugin knows the type of an expression.
var errNoCompiler = errors.New("no filter plugin for this expression type")

// isTag says whether an expression type means tags; clients that send none mean those.
func isTag(expressionType string) bool {
	return expressionType == "" || expressionType == filter.TypeTag
}

// get returns e's program, counted in for the caller. A nil program accepts everything. An error is a *message.Error
// with SubscriptionParseFailed when the expression is at fault, and one with SystemError around errNoCompiler when its
// type isn't served.
func (ps *Programs) get(ctx context.Context, e filter.Expression) (*program, error) {
	if isTag(e.Type) {
		e.Type = filter.TypeTag
		if e.Text == "" || e.Text == message.SubscribeAll {
			return nil, nil
		}
	}
	if p := ps.cached(e); p != nil {
		return p, nil
	}
	if len(e.Text) > ps.sizeMax {
		return nil, &message.Error{Code: message.SubscriptionParseFailed,
			Remark: fmt.Sprintf("parse the consumer's subscription failed: the expression has %d bytes, at most %d are allowed", len(e.Text), ps.sizeMax)}
	}
	c, ok := ps.compilers.Compiler(e.Type)
	if !ok {
		return nil, &unservedError{expressionType: e.Type}
	}
	if !isTag(e.Type) && e.Text == "" {
		return nil, &message.Error{Code: message.SubscriptionParseFailed,
			Remark: "parse the consumer's subscription failed: the " + e.Type + " expression is empty"}
	}
	compiled, err := c.Compile(ctx, e)
	if err != nil {
		return nil, &message.Error{Code: message.SubscriptionParseFailed,
			Remark: "parse the consumer's subscription failed: " + err.Error()}
	}
	for _, w := range compiled.Warnings() {
		ps.log.Debug("filter expression", "type", e.Type, "warning", w)
	}
	return ps.keep(e, ps.wrap(e, compiled)), nil
}

func (ps *Programs) wrap(e filter.Expression, c filter.Program) *program {
	p := &program{Program: c, needs: c.Needs(), key: c.Key(), log: ps.log}
	p.kept = !isTag(e.Type) && p.needs.Record && p.key != filter.Key{}
	p.index, _ = c.(filter.IndexMatcher)
	p.renew, _ = c.(filter.Renewable)
	p.foreign = len(p.modules()) > 0
	p.refs.Store(1)
	return p
}

// cached returns the program of e if it is in the list.
func (ps *Programs) cached(e filter.Expression) *program {
	ps.mu.Lock()
	el, ok := ps.byText[e]
	if !ok {
		ps.mu.Unlock()
		return nil
	}
	p := el.Value.(*cachedProgram).prog
	if p.stale() {
		ps.recent.Remove(el)
		delete(ps.byText, e)
		ps.mu.Unlock()
		p.release()
		return nil
	}
	defer ps.mu.Unlock()
	ps.recent.MoveToFront(el)
	p.refs.Add(1) // the list's own count keeps it above 0
	return p
}

// keep puts p into the list, unless another compile of the same expression was faster, and returns the one to use.
func (ps *Programs) keep(e filter.Expression, p *program) *program {
	if other := ps.cached(e); other != nil {
		p.release()
		return other
	}
	var evicted []*program
	ps.mu.Lock()
	if _, ok := ps.byText[e]; !ok && ps.idleMax > 0 {
		p.refs.Add(1)
		ps.byText[e] = ps.recent.PushFront(&cachedProgram{expr: e, prog: p})
	}
	for ps.recent.Len() > ps.idleMax {
		last := ps.recent.Back()
		c := ps.recent.Remove(last).(*cachedProgram)
		delete(ps.byText, c.expr)
		evicted = append(evicted, c.prog)
	}
	ps.mu.Unlock()
	for _, old := range evicted {
		old.release()
	}
	return p
}

// Close lets go of the programs that nobody uses. Those in use close when their last user is done.
func (ps *Programs) Close() {
	ps.mu.Lock()
	all := ps.recent
	ps.recent, ps.byText, ps.idleMax = list.New(), map[filter.Expression]*list.Element{}, 0
	ps.mu.Unlock()
	for el := all.Front(); el != nil; el = el.Next() {
		el.Value.(*cachedProgram).prog.release()
	}
}

// Len returns how many programs are in the list, for tests and metrics.
func (ps *Programs) Len() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.recent.Len()
}

// unservedError refuses an expression type that no running plugin compiles. Its first sentence is RocketMQ's.
type unservedError struct{ expressionType string }

func (e *unservedError) Error() string {
	return "The broker does not support consumer to filter message by " + e.expressionType +
		": none of its running filter plugins compiles that; enable one under filters and service in broker.yaml"
}

func (e *unservedError) Is(target error) bool { return target == errNoCompiler }
