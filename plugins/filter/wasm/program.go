package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// program is a module with a configuration.
type program struct {
	module   *module
	values   []value
	cfg      *Config
	clock    clock.Clock
	permits  *permits
	layout   *layout // what the first instance asked for; all must ask for the same
	pool     pool
	breaker  breaker
	report   *reporter
	warnings []string
	scratch  sync.Pool // of *scratch
	calls    atomic.Int64
	closed   atomic.Bool
	sound    atomic.Bool // it has judged a message since it last judged none of a batch
	// demoted counts the purity epochs: how often the probe has found the module to be impure.
	demoted atomic.Int32
	fault   atomic.Pointer[error]
	// renewed says whether the expression means another program by now; nil when it never will.
	renewed func() bool
	beside  *shadow // nil without
}

var (
	_ filter.Program       = (*program)(nil)
	_ filter.Explainer     = (*program)(nil)
	_ filter.FailurePolicy = (*program)(nil)
	_ filter.Renewable     = (*program)(nil)
	_ filter.Modular       = (*program)(nil)
)

// scratch is what one Match needs.
type scratch struct {
	records []message.Record // of the whole batch; nil where there is none
	order   []int            // the messages that can be judged
	touched byte             // see filter.Touch
}

// version is part of every key. Raise it when the same module starts to give other verdicts.
const version = "mqf/1"

// Key hashes what decides on verdicts: the module, its settings and its limits, and the purity epoch.
func (p *program) Key() filter.Key {
	b := append([]byte(version), p.module.hash[:]...)
	l := &p.cfg.Limits
	for _, n := range []int64{int64(p.module.pages), l.FuelPerRecord, l.FuelPerCall, l.FuelAtStart, int64(l.Records), stackUnits, int64(p.demoted.Load())} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return sha256.Sum256(appendCanonical(b, p.values))
}

// Needs lists the properties of all slots, and what imports may reach.
func (p *program) Needs() filter.Needs {
	n := filter.Needs{Record: true, Properties: append([]string{}, p.layout.names...)}
	if p.module.anyProp {
		n.Properties = nil
	}
	if p.module.manifest.has("body") {
		n.Body = true
		if !p.module.wholeBody {
			n.BodyMax = p.module.manifest.bodyCap()
		}
	}
	return n
}

// Pure says that the module's manifest and imports promise it, that the operator relies on it, and that the probe hasn't
// found otherwise.
func (p *program) Pure() bool {
	return !p.module.impure && p.cfg.Dispatch && p.demoted.Load() == 0
}

// OnPoison says what becomes of messages that the module fails at.
func (p *program) OnPoison() filter.FailureAction { return failureActions[p.cfg.OnPoison] }

// OnFault says what becomes of messages while the module isn't called.
func (p *program) OnFault() filter.FailureAction { return failureActions[p.cfg.OnOpen] }

// Warnings are for the person who wrote the subscription.
func (p *program) Warnings() []string { return p.warnings }

// Fault returns why messages were undecided last, nil if none ever was.
func (p *program) Fault() error {
	if e := p.fault.Load(); e != nil {
		return *e
	}
	return nil
}

// Close ends all instances, and the module if nobody else uses it.
func (p *program) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return nil
	}
	p.pool.close()
	p.module.life.leave(p)
	p.module.life.release()
	if p.beside != nil {
		return p.beside.Close()
	}
	return nil
}

// Stale says whether the expression means another program by now.
func (p *program) Stale() bool { return p.renewed != nil && p.renewed() }

// ModuleRefs names the module, and the one that judges beside it.
func (p *program) ModuleRefs() []filter.ModuleRef {
	refs := []filter.ModuleRef{p.module.ref()}
	if p.beside != nil {
		refs = append(refs, p.beside.module.ref())
	}
	return refs
}

// fuelFor returns the fuel of a call with n messages.
func (p *program) fuelFor(n int) int64 {
	per := p.cfg.Limits.FuelPerRecord
	if asked := p.module.manifest.FuelPerRecord; asked > 0 {
		per = min(per, asked)
	}
	return min(p.cfg.Limits.FuelPerCall, fuelBase+per*int64(n))
}

// tryAcquire takes the right to work with an instance if it is free, and nobody is being called.
func (p *program) tryAcquire() bool { return p.permits.tryAcquire() }

// acquire waits for the right to work with an instance.
func (p *program) acquire(ctx context.Context) error {
	if err := p.permits.acquire(ctx); err != nil {
		return fmt.Errorf("wait to call the WASM module %s: %w", p.module.name, err)
	}
	return nil
}

func (p *program) release() { p.permits.release() }

// closedFor says why the module may not be called now: it is turned off, or the breaker is open. If it may be, trial says
// whether that is to find out whether it works again.
func (p *program) closedFor() (trial bool, err error) {
	if off := p.module.life.off.Load(); off != nil {
		return false, *off
	}
	ok, trial := p.breaker.allow(p.clock.Now())
	if !ok {
		return false, ErrOpen
	}
	return trial, nil
}

// Match judges b in calls of at most Limits.Records messages. A failure of the module is no error: the messages that it
// concerns are undecided, and Fault tells why.
func (p *program) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	err := p.matchAlone(ctx, b, v)
	if p.beside != nil && err == nil {
		p.beside.compare(ctx, b, v)
	}
	return err
}

func (p *program) matchAlone(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	s, _ := p.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer p.scratch.Put(s)
	defer s.reset()
	s.load(b, v)
	if len(s.order) == 0 {
		return nil
	}
	trial, err := p.closedFor()
	if err != nil {
		p.undecided(err, s.order, v)
		return nil
	}
	hasty := filter.InHaste(ctx)
	if hasty && !p.tryAcquire() {
		p.breaker.abandoned(trial)
		leave(s.order, v)
		return nil
	}
	if !hasty {
		if err := p.acquire(ctx); err != nil {
			p.breaker.abandoned(trial)
			return err
		}
	}
	defer p.release()
	p.matchAll(b, s, v, hasty)
	return nil
}

// leave marks messages that nobody has tried to judge.
func leave(order []int, v *filter.Verdicts) {
	for _, i := range order {
		filter.SetBit(v.Undecided, i)
	}
}

// load finds the records. Messages without a sound one are undecided.
func (s *scratch) load(b *filter.Batch, v *filter.Verdicts) {
	s.touched += filter.Touch(b.Records)
	for i := range b.Len() {
		var rec message.Record
		if i < len(b.Records) && b.Records[i] != nil {
			rec, _, _ = message.ViewRecord(b.Records[i])
		}
		s.records = append(s.records, rec)
		if rec == nil {
			filter.SetBit(v.Undecided, i)
			continue
		}
		s.order = append(s.order, i)
	}
}

// reset lets go of what was borrowed.
func (s *scratch) reset() {
	clear(s.records)
	s.records, s.order = s.records[:0], s.order[:0]
}

// matchAll judges call by call. What fails is judged again in parts, unless somebody waits who is in haste.
func (p *program) matchAll(b *filter.Batch, s *scratch, v *filter.Verdicts, hasty bool) {
	order := s.order
	for len(order) > 0 {
		part := order[:min(len(order), p.cfg.Limits.Records)]
		n, err := p.judge(b, s, part, v, false)
		if err == nil {
			p.sound.Store(true)
			p.breaker.succeeded()
			p.probe(b, s, part[:n], v)
			order = order[n:]
			continue
		}
		p.countFailed(err)
		if !hasty {
			p.isolateBatch(b, s, part, v, err) // of a trial too: what stands in front of the queue may be poison
			order = order[len(part):]
		}
		if p.breaker.failed(p.clock.Now()) {
			p.countOpened(err)
			p.undecided(err, order, v)
			return
		}
		if hasty {
			p.undecided(err, order, v)
			return
		}
	}
}

// judge has one call made by an instance, a new one if fresh is set.
func (p *program) judge(b *filter.Batch, s *scratch, order []int, v *filter.Verdicts, fresh bool) (int, error) {
	in, err := p.take(fresh)
	if err != nil {
		return 0, err
	}
	began := p.clock.Now()
	n, err := in.judge(b, s, order, v)
	p.countCall(in, n, began)
	p.give(in, err == nil)
	return n, err
}

// take returns an idle instance or a new one.
func (p *program) take(fresh bool) (*instance, error) {
	if !fresh {
		if in := p.pool.get(); in != nil {
			return in, nil
		}
	}
	in, err := p.start()
	if err != nil {
		return nil, err
	}
	p.report.started()
	if !in.layout.equal(p.layout) {
		in.close()
		return nil, fault(ErrSlots, "it must not depend on anything but its configuration")
	}
	return in, nil
}

// give puts an instance back if it may be used again.
func (p *program) give(in *instance, sound bool) {
	if !sound || p.cfg.Isolation == isolationFresh || in.worn() || !p.pool.put(in) {
		in.close()
	}
}

// undecided marks messages that have no verdict, and remembers why.
func (p *program) undecided(err error, order []int, v *filter.Verdicts) {
	err = fmt.Errorf("WASM module %s: %w", p.module.name, err)
	p.fault.Store(&err)
	for _, i := range order {
		filter.SetBit(v.Undecided, i)
	}
}

// isolateBatch judges what it can of a batch that failed, and marks and reports what is poison.
func (p *program) isolateBatch(b *filter.Batch, s *scratch, order []int, v *filter.Verdicts, cause error) {
	poison := p.isolate(order, cause,
		func(part []int) (int, error) { return p.judge(b, s, part, v, true) },
		func(err error, part []int) { p.undecided(err, part, v) })
	for _, i := range poison {
		filter.SetBit(v.Poison, i)
		p.report.poison(p.module.number, b, s, i, cause)
	}
}

// spread sets the bits of dst for the messages of a word's set bits.
func spread(dst []uint64, word uint64, order []int) {
	for ; word != 0; word &= word - 1 {
		filter.SetBit(dst, order[bits.TrailingZeros64(word)])
	}
}
