package queue

import (
	"context"
	"slices"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// An expression may come to mean another program: the module that it names has a new version. Then the program that there
// is says that it is stale, and everybody who keeps it takes the new one in its place. A pull that is under way goes on
// with the old one, which closes when the last such pull has ended. What the old one has said of messages is kept under
// its own key, and the new one begins with an empty cover.

// stale says whether p's expression means another program by now.
func (p *program) stale() bool { return p != nil && p.renew != nil && p.renew.Stale() }

// modules lists the modules that p runs.
func (p *program) modules() []filter.ModuleRef {
	if p == nil {
		return nil
	}
	if m, ok := p.Program.(filter.Modular); ok {
		return m.ModuleRefs()
	}
	return nil
}

// Renew lets go of stale programs, and has what is registered and held judged by those that have taken their place. When it
// returns no pull begins with a program that was stale when it was called.
func (p *Pulls) Renew(ctx context.Context) {
	p.set.Programs.renew()
	p.set.Bindings.renew()
	p.set.Filters.Renew(ctx)
	if p.set.Verdicts != nil {
		for _, key := range p.live.sweep(time.Unix(0, 0)) {
			p.set.Verdicts.Discard(key)
		}
	}
	p.wakeStale()
}

// wakeStale answers the held pulls that wait with a stale program; their clients pull again at once.
func (p *Pulls) wakeStale() {
	var taken []*holder
	for i := range p.wait.shards {
		s := &p.wait.shards[i]
		s.mu.Lock()
		for q, list := range s.queues {
			taken = p.wait.takeLocked(s, q, list, taken, func(h *holder) bool { return h.prog.stale() })
		}
		s.mu.Unlock()
		for _, h := range taken {
			p.answerHeld(h)
		}
		clear(taken)
		taken = taken[:0]
	}
}

// renew lets go of stale programs that nobody but the list may need.
func (ps *Programs) renew() {
	var gone []*program
	ps.mu.Lock()
	for el := ps.recent.Front(); el != nil; {
		next := el.Next()
		if c := el.Value.(*cachedProgram); c.prog.stale() {
			ps.recent.Remove(el)
			delete(ps.byText, c.expr)
			gone = append(gone, c.prog)
		}
		el = next
	}
	ps.mu.Unlock()
	for _, p := range gone {
		p.release()
	}
}

// Renew compiles the filters anew whose programs are stale, and those that didn't compile before.
func (fs *Filters) Renew(ctx context.Context) {
	fs.renewAll(ctx, func(f *registered) bool { return f.fault != nil || f.stale() })
}

func (f *registered) stale() bool { return f.prog.stale() }

// renewGroup catches programs that became stale between being compiled and being registered.
func (fs *Filters) renewGroup(ctx context.Context, group string) {
	var list []*registered
	fs.mu.Lock()
	for _, f := range fs.groups[group] {
		if f.stale() {
			list = append(list, f)
		}
	}
	fs.mu.Unlock()
	for _, f := range list {
		fs.renew(ctx, f)
	}
}

func (fs *Filters) renewAll(ctx context.Context, which func(*registered) bool) {
	var list []*registered
	fs.find.Range(func(_, v any) bool {
		if f := v.(*registered); which(f) {
			list = append(list, f)
		}
		return true
	})
	for _, f := range list {
		fs.renew(ctx, f)
	}
}

// renew compiles one filter anew. If that fails the old program stays: it is better than none.
func (fs *Filters) renew(ctx context.Context, f *registered) {
	prog, err := fs.set.Programs.get(ctx, f.expr)
	if err != nil {
		if f.fault == nil {
			fs.set.Logger.Warn("a filter's expression doesn't compile any more; its last program goes on",
				"group", f.group, "topic", f.topic, "expression", f.expr.Text, "error", err)
		}
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	now := fs.groups[f.group][f.topic]
	if prog == nil || now == nil || now.prog != f.prog || now.expr != f.expr || prog == now.prog {
		prog.release() // somebody was faster
		return
	}
	next := *now
	next.prog, next.fault, next.dialect = prog, nil, dialectOf(prog)
	fs.begin(&next, now)
	fs.putLocked(&next)
	now.prog.release()
	fs.set.Logger.Info("a filter runs another version of its module", "group", f.group, "topic", f.topic,
		"generation", next.life.Number, "from", next.life.From)
}

// generation is the life of a filter with one set of modules. It is for people: verdicts know by their key which
// program they are of.
type generation struct {
	Number  int                `json:"number"`
	From    message.Position   `json:"from"` // the end of the commit log when it began
	Modules []filter.ModuleRef `json:"modules"`
}

// begin sets f's generation: the one of the filter in whose place it comes, which may be nil, if it runs the same modules,
// else the next. Filters without modules have none.
func (fs *Filters) begin(f, before *registered) {
	var last generation
	if before != nil {
		last = before.life
	}
	modules := f.prog.modules()
	if len(modules) == 0 {
		f.life = generation{}
		return
	}
	if f.life = last; slices.Equal(modules, last.Modules) {
		return
	}
	f.life = generation{Number: last.Number + 1, Modules: modules}
	if fs.set.End != nil {
		f.life.From = fs.set.End()
	}
}

// ModuleUse says that a registered filter runs a module.
type ModuleUse struct {
	Module       filter.ModuleRef
	Group, Topic string
	Expression   string
	// Live says that the group has members.
	Live bool
	// Generation counts the sets of modules that the filter has run, and From is where the commit log ended when it came to
	// this one.
	Generation int
	From       message.Position
}

// ModuleUses lists which registered filters run which modules, by group and topic.
func (fs *Filters) ModuleUses() (list []ModuleUse) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.listLocked() {
		for _, m := range f.prog.modules() {
			list = append(list, ModuleUse{Module: m, Group: f.group, Topic: f.topic, Expression: f.expr.Text, Live: !f.dead(),
				Generation: f.life.Number, From: f.life.From})
		}
	}
	return list
}
