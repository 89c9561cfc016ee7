package wasm

import (
	"math/rand/v2"
	"slices"

	"github.com/weirmq/weir/core/filter"
)

// isolateCalls bounds the calls that one failed batch may cause. Halving 256 messages down to one bad one takes 16.
const isolateCalls = 40

// isolation is the search for the messages of a failed call that can't be judged.
type isolation struct {
	// call has a fresh instance judge the messages of part, or so many of the first as fit into one call.
	call func(part []int) (n int, err error)
	// failed takes messages that stay without a verdict.
	failed func(cause error, part []int)
	calls  int // left
	judged bool
	alone  []int // messages that failed by themselves
}

// isolate finds, by halving on fresh instances, which of the messages of a failed call can't be judged. Those fail; the
// others get their verdicts. When the calls are used up, what is left fails as a whole. A message is poison only if the
// module judged another, now or since it last judged none: else it is the module that is broken, and no message is to
// blame.
func (p *program) isolate(order []int, cause error, call func([]int) (int, error), failed func(error, []int)) (poison []int) {
	x := &isolation{call: call, failed: failed, calls: isolateCalls}
	if len(order) == 1 { // once more: the fault may have been the instance's
		x.retry(order, cause)
	} else {
		x.halve(order, cause)
	}
	if !x.judged && !p.sound.Load() {
		return nil
	}
	p.sound.Store(x.judged)
	p.module.figures.poison.Add(int64(len(x.alone)))
	return x.alone
}

func (x *isolation) halve(order []int, cause error) {
	if len(order) == 1 {
		x.alone = append(x.alone, order[0])
		x.failed(cause, order)
		return
	}
	half := len(order) / 2
	x.retry(order[:half], cause)
	x.retry(order[half:], cause)
}

// retry judges a part again.
func (x *isolation) retry(order []int, cause error) {
	for len(order) > 0 {
		if x.calls == 0 {
			x.failed(cause, order)
			return
		}
		x.calls--
		n, err := x.call(order)
		if err != nil {
			x.halve(order, err)
			return
		}
		x.judged = true
		order = order[n:]
	}
}

// probeEvery is how many calls pass between two probes.
const probeEvery = 1000

// probe judges what has just been judged again, backwards and by a fresh instance, now and then and only if verdicts are
// kept. A difference shows that the module isn't what it claims to be.
func (p *program) probe(b *filter.Batch, s *scratch, order []int, v *filter.Verdicts) {
	if !p.Pure() || p.calls.Add(1)%probeEvery != 0 {
		return
	}
	if !p.agrees(b, s, order, v) {
		p.demote()
	}
}

// agrees says whether a fresh instance gives the same verdicts in another order. An instance that fails has none.
func (p *program) agrees(b *filter.Batch, s *scratch, order []int, v *filter.Verdicts) bool {
	other := slices.Clone(order)
	slices.Reverse(other)
	if k := len(other) / 3; k > 0 {
		r := rand.New(rand.NewPCG(uint64(len(order)), uint64(p.calls.Load())))
		r.Shuffle(k, func(i, j int) { other[i], other[j] = other[j], other[i] })
	}
	var w filter.Verdicts
	w.Reset(b.Len())
	for rest := other; len(rest) > 0; {
		n, err := p.judge(b, s, rest, &w, true)
		if err != nil {
			return true
		}
		rest = rest[n:]
	}
	for _, i := range order {
		for _, pair := range [][2][]uint64{{v.True, w.True}, {v.Unknown, w.Unknown}, {v.Raise, w.Raise}} {
			if filter.HasBit(pair[0], i) != filter.HasBit(pair[1], i) {
				return false
			}
		}
	}
	return true
}
