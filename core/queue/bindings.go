package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// Binding is one of queues.bindings: a filter that is mandatory for what it names, whatever a client asks for.
type Binding struct {
	// Topic is the topic whose messages are filtered, or a pattern in which * stands for any text. Default *: every topic, those of retries and dead letters
	// not included.
	Topic string `yaml:"topic"`
	// Group is the group whose pulls are filtered, or a pattern. Default *: every group.
	Group string `yaml:"group"`
	// Type is the language of the expression: TAG, SQL92, EXPR or WASM. Default SQL92.
	Type string `yaml:"type"`
	// Expression is the filter. Only what it accepts is delivered.
	Expression string `yaml:"expression"`
}

// bindingsMax bounds queues.bindings: each pull looks at all.
const bindingsMax = 256

func validateBindings(list []Binding) error {
	var errs []error
	if len(list) > bindingsMax {
		errs = append(errs, fmt.Errorf("bindings: there are %d, at most %d are allowed", len(list), bindingsMax))
	}
	for i, b := range list {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("bindings[%d]: "+format, append([]any{i}, args...)...))
		}
		if b.Expression == "" {
			bad("expression is missing: what may be delivered?")
		}
		if all(b.Topic) && all(b.Group) {
			bad("names neither a topic nor a group")
		}
		for _, p := range []string{b.Topic, b.Group} {
			if strings.ContainsAny(p, `?[\`) {
				bad("%q: only * is special in a pattern", p)
			}
		}
	}
	return errors.Join(errs...)
}

func all(pattern string) bool { return pattern == "" || pattern == "*" }

// applies says whether b filters what group pulls from topic.
func (b *Binding) applies(topic, group string) bool {
	if all(b.Topic) && (message.IsRetryTopic(topic) || message.IsDLQTopic(topic)) {
		return false // what is there was delivered to the group once, or is looked at by people
	}
	return matches(b.Topic, topic) && matches(b.Group, group)
}

func matches(pattern, name string) bool {
	if all(pattern) || pattern == name {
		return true
	}
	if !strings.Contains(pattern, "*") {
		return false
	}
	// path.Match stops * at a slash, which no name has.
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Bindings are the mandatory filters. It is safe for concurrent use. A nil *Bindings has none.
type Bindings struct {
	list     []Binding
	programs *Programs
	log      *slog.Logger

	mu     sync.Mutex // guards all below
	bound  []*program // of each binding, counted in; nil accepts everything
	joins  map[joinKey]*program
	recent []joinKey // in the order in which they were joined

	refused atomic.Int64 // pulls
}

// joinKey is a program of a client, and the programs that are joined with it, as numbers of bindings.
type joinKey struct {
	client *program
	bound  string
}

// joinsMax is how many joined programs are kept.
const joinsMax = 1024

// NewBindings compiles the mandatory filters. All have to compile: without one of them the broker would deliver what it must not.
func NewBindings(ctx context.Context, cfg Config, programs *Programs, log *slog.Logger) (*Bindings, error) {
	if len(cfg.Bindings) == 0 {
		return nil, nil //nolint:nilnil // none is a valid number of them
	}
	x := &Bindings{list: cfg.Bindings, programs: programs, log: log, joins: map[joinKey]*program{}}
	var errs []error
	for i := range x.list {
		p, err := programs.get(ctx, x.list[i].expression())
		if err != nil {
			errs = append(errs, fmt.Errorf("queues.bindings[%d]: %w", i, err))
			continue
		}
		if p != nil {
			for _, w := range p.Warnings() {
				log.Warn("a mandatory filter may not mean what it seems to", "binding", i, "expression", x.list[i].Expression, "warning", w)
			}
		}
		x.bound = append(x.bound, p)
	}
	if err := errors.Join(errs...); err != nil {
		x.Close()
		return nil, fmt.Errorf("mandatory filters: %w", err)
	}
	return x, nil
}

func (b *Binding) expression() filter.Expression {
	e := filter.Expression{Type: b.Type, Text: b.Expression}
	if e.Type == "" {
		e.Type = filter.TypeSQL92
	}
	return e
}

// RefusedPulls counts pulls that were refused because a mandatory filter couldn't be had.
func (x *Bindings) RefusedPulls() int64 {
	if x == nil {
		return 0
	}
	return x.refused.Load()
}

// Of lists the bindings that apply to what a group pulls from a topic.
func (x *Bindings) Of(topic, group string) (list []Binding) {
	if x == nil {
		return nil
	}
	for i := range x.list {
		if x.list[i].applies(topic, group) {
			list = append(list, x.list[i])
		}
	}
	return list
}

// join returns a chooser that accepts what c and all mandatory filters of the pull accept. It takes over c's program.
func (x *Bindings) join(ctx context.Context, topic, group string, c chooser) (chooser, *message.Error) {
	if x == nil {
		return c, nil
	}
	var numbers [bindingsMax]byte
	n := 0
	for i := range x.list {
		if x.list[i].applies(topic, group) {
			numbers[n] = byte(i)
			n++
		}
	}
	if n == 0 {
		return c, nil
	}
	prog, err := x.joinedWith(ctx, c.prog, numbers[:n])
	c.prog.release()
	if err != nil {
		x.refused.Add(1)
		return chooser{}, refusal(message.SystemError, "a mandatory filter of this broker (queues.bindings) can't be asked now, so nothing is delivered: %v", err)
	}
	return chooser{prog: prog, pre: c.pre}, nil
}

func (x *Bindings) joinedWith(ctx context.Context, client *program, numbers []byte) (*program, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.joins[joinKey{client, string(numbers)}]; p != nil && !p.stale() { // the key isn't kept, so no text is made
		p.refs.Add(1) // the map's own count keeps it above 0
		return p, nil
	}
	var members []*program
	if client != nil {
		members = append(members, client)
	}
	for _, i := range numbers {
		p, err := x.boundLocked(ctx, int(i))
		if err != nil {
			return nil, err
		}
		if p != nil {
			members = append(members, p)
		}
	}
	if len(members) == 0 {
		return nil, nil //nolint:nilnil // nil accepts everything
	}
	for i, m := range members {
		if !m.retain() {
			for _, counted := range members[:i] {
				counted.release()
			}
			return nil, errors.New("the filter has just been replaced; pull again")
		}
	}
	p := x.programs.wrap(filter.Expression{Type: "bound"}, newJoined(members))
	x.keepLocked(joinKey{client, string(numbers)}, p)
	return p, nil
}

// boundLocked returns the program of a binding. One that is stale is compiled anew; if that fails, nothing is delivered.
func (x *Bindings) boundLocked(ctx context.Context, i int) (*program, error) {
	p := x.bound[i]
	if !p.stale() {
		return p, nil
	}
	fresh, err := x.programs.get(ctx, x.list[i].expression())
	if err != nil {
		return nil, err
	}
	p.release()
	x.bound[i] = fresh
	return fresh, nil
}

// keepLocked puts a joined program into the map, which counts it in, and lets go of the oldest.
func (x *Bindings) keepLocked(k joinKey, p *program) {
	if old := x.joins[k]; old != nil {
		old.release()
	} else {
		x.recent = append(x.recent, k)
	}
	p.refs.Add(1)
	x.joins[k] = p
	if len(x.recent) > joinsMax {
		oldest := x.recent[0]
		x.recent = x.recent[1:]
		x.joins[oldest].release()
		delete(x.joins, oldest)
	}
}

// renew lets go of joined programs that are stale.
func (x *Bindings) renew() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	kept := x.recent[:0]
	for _, k := range x.recent {
		if p := x.joins[k]; p.stale() {
			p.release()
			delete(x.joins, k)
			continue
		}
		kept = append(kept, k)
	}
	x.recent = kept
}

// Close lets go of all programs.
func (x *Bindings) Close() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.joins {
		p.release()
	}
	for _, p := range x.bound {
		p.release()
	}
	x.joins, x.recent, x.bound = nil, nil, nil
}
