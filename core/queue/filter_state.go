package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/queue/verdict"
	"github.com/weirmq/weir/core/transport"
)

// EachFigures calls f for the figures of all groups and topics, in no order, without Expression, Live, Engine and Fault.
func (p *Pulls) EachFigures(f func(*transport.Filter)) {
	reads := verdict.Reads(coverReads)
	p.figures.each(func(k filterKey, of *figures) {
		x := transport.Filter{Topic: k.topic, Group: k.group, FilterFigures: of.snapshot()}
		if prog := p.programOf(k); prog != nil {
			p.describe(&x, prog, &reads)
			prog.release()
		}
		f(&x)
	})
}

// coverReads is how many files of covers are looked at for one list of figures. What is read is remembered.
const coverReads = 256

func (f *figures) snapshot() transport.FilterFigures {
	return transport.FilterFigures{
		Scanned: f.scanned.Load(), Matched: f.matched.Load(), ByIndex: f.byIndex.Load(), ByCover: f.byCover.Load(), Errors: f.errors.Load(),
		JudgedPulling: f.judged.judged.Load(), Unknown: f.judged.unknown.Load(), Raised: f.judged.raised.Load(), Undecided: f.judged.undecided.Load(),
		Time: time.Duration(f.judged.time.Load()),
	}
}

// programOf returns the program by which a group gets messages of a topic, its mandatory filters included, counted in; nil
// if there is none.
func (p *Pulls) programOf(k filterKey) *program {
	c, refused := p.set.Bindings.join(context.Background(), k.topic, k.group, chooser{prog: p.ownProgramOf(k)})
	if refused != nil {
		return nil
	}
	return c.prog
}

// ownProgramOf is programOf without the filters that are mandatory.
func (p *Pulls) ownProgramOf(k filterKey) *program {
	if f, ok := p.set.Filters.get(k.topic, k.group); ok {
		return f.prog
	}
	g, ok := p.set.Clients.group(k.group)
	if !ok {
		return nil
	}
	s, ok := g.subscription(k.topic)
	if !ok {
		return nil
	}
	return s.prog
}

// subscribed says whether a member of the group subscribes the topic now.
func (p *Pulls) subscribed(k filterKey) bool {
	g, ok := p.set.Clients.group(k.group)
	if !ok {
		return false
	}
	_, ok = (*g.subs.Load())[k.topic]
	return ok
}

// describe adds what is known of a program that judges a topic.
func (p *Pulls) describe(x *transport.Filter, prog *program, reads *verdict.Reads) {
	x.Key, x.Kept = prog.key, prog.keepable() && p.set.Verdicts != nil
	if lp := p.live.of(x.Topic).find(prog.key); lp != nil {
		x.JudgedArriving = lp.totals.judged.Load()
		x.Unknown += lp.totals.unknown.Load()
		x.Raised += lp.totals.raised.Load()
		x.Undecided += lp.totals.undecided.Load()
		x.Time += time.Duration(lp.totals.time.Load())
	}
	if !x.Kept {
		return
	}
	t, ok := p.set.Topics.Topic(x.Topic)
	for id := range t.ReadQueues {
		if !ok {
			break
		}
		q := message.QueueKey{Topic: x.Topic, ID: message.QueueID(id)}
		if low, high, ok := p.set.Log.Bounds(q); ok {
			x.Entries += int64(high - low)
			x.Covered += p.set.Verdicts.Decided(q, prog.key, low, high, reads)
		}
	}
}

// FilterStates lists the filters of all groups, or of one, by group and topic. Subscriptions to everything are none.
func (p *Pulls) FilterStates(group string) (list []transport.Filter) {
	reads := verdict.Reads(coverReads)
	seen := map[filterKey]bool{}
	add := func(k filterKey, e filter.Expression, own *program, fault error, live bool) {
		x := transport.Filter{Topic: k.topic, Group: k.group, Expression: e, Live: live}
		for _, b := range p.set.Bindings.Of(k.topic, k.group) {
			x.Mandatory = append(x.Mandatory, b.expression())
		}
		if of := p.figures.find(k); of != nil {
			x.FilterFigures = of.snapshot()
		}
		if fault != nil {
			x.Fault = remarkOf(fault)
		}
		if own != nil {
			if d, ok := own.Program.(filter.Describer); ok {
				x.Engine = d.Describe().Engine
			}
		}
		if prog := p.programOf(k); prog != nil {
			p.describe(&x, prog, &reads)
			if e, ok := prog.Program.(filter.Explainer); ok && x.Undecided > 0 && e.Fault() != nil {
				x.Fault = e.Fault().Error()
			}
			prog.release()
		}
		seen[k] = true
		list = append(list, x)
	}
	p.set.Filters.each(func(f *registered) {
		if group == "" || f.group == group {
			add(f.filterKey, f.expr, f.prog, f.fault, !f.dead())
		}
	})
	p.set.Clients.eachSubscription(func(name string, s *subscription) {
		k := filterKey{s.Topic, name}
		if (group == "" || name == group) && !seen[k] && (s.prog != nil || s.fault != nil || len(p.set.Bindings.Of(k.topic, k.group)) > 0) {
			add(k, s.Expression, s.prog, s.fault, true)
		}
	})
	p.figures.each(func(k filterKey, _ *figures) {
		if (group == "" || k.group == group) && !seen[k] {
			add(k, filter.Expression{}, nil, nil, p.subscribed(k))
		}
	})
	slices.SortFunc(list, func(a, b transport.Filter) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic))
	})
	return list
}

// FiguresDropped counts pulls that aren't in any figures, because there are too many groups and topics.
func (p *Pulls) FiguresDropped() int64 { return p.figures.dropped.Load() }

// each calls f with all filters, with their programs counted in.
func (fs *Filters) each(f func(*registered)) {
	fs.find.Range(func(_, v any) bool {
		if r := v.(*registered); r.prog.retain() {
			f(r)
			r.prog.release()
		}
		return true
	})
}

// eachSubscription calls f with the groups' subscriptions, with their programs counted in.
func (c *Clients) eachSubscription(f func(group string, s *subscription)) {
	type item struct {
		name string
		of   *consumerGroup
	}
	var groups []item
	c.mu.Lock()
	for name, g := range c.consumers {
		groups = append(groups, item{name, g})
	}
	c.mu.Unlock()
	for _, g := range groups {
		for topic := range *g.of.subs.Load() {
			if s, ok := g.of.subscription(topic); ok {
				f(g.name, s)
				s.prog.release()
			}
		}
	}
}
