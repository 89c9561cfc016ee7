package wasm

import (
	"context"
	"fmt"
	"math/bits"
	"sync"

	"github.com/weirmq/weir/core/filter"
)

// whole is a filter module as a boolean function without arguments: wasm.filter('name') in SQL92.
type whole struct {
	*program
	scratch sync.Pool // of *wholeScratch
}

type wholeScratch struct {
	batch    filter.Batch
	verdicts filter.Verdicts
	places   []int
}

var _ filter.Function = (*whole)(nil)

// ServesFilter says whether the reference names the module.
func (c *compiler) ServesFilter(reference string) bool {
	return c.Serves(filter.Expression{Type: TypeWASM, Text: reference})
}

// Filter makes a function of the module with settings.
func (c *compiler) Filter(ctx context.Context, reference string, settings map[string]string) (filter.Function, error) {
	ref, settings, err := parseWhole(reference, settings)
	if err != nil {
		return nil, err
	}
	m, r := c.take()
	if m == nil {
		return nil, ErrStopped
	}
	defer m.life.release()
	if err := m.checkVersion(ref.version); err != nil {
		return nil, err
	}
	p, err := c.program(ctx, m, r, c.cfg.Config, settings)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", m.name, err)
	}
	p.renewed = c.replaced(m)
	return &whole{program: p}, nil
}

// parseWhole takes the reference to a whole module apart. Its settings stand in one of two places.
func parseWhole(text string, settings map[string]string) (reference, map[string]string, error) {
	ref, err := parseReference(text)
	if err != nil {
		return ref, nil, err
	}
	if len(ref.settings) > 0 && len(settings) > 0 {
		return ref, nil, fault(ErrConfig, "settings stand behind the name and in the second argument; put all in one place")
	}
	if settings == nil {
		settings = ref.settings
	}
	return ref, settings, nil
}

func (w *whole) Name() string                  { return "filter('" + w.module.name + "')" }
func (w *whole) Arguments() []filter.ValueKind { return nil }
func (w *whole) Strict() bool                  { return true }
func (w *whole) Result() filter.ValueKind      { return filter.BooleanValue }

// Call lets the module judge the messages.
func (w *whole) Call(ctx context.Context, c *filter.Call, r *filter.Values) error {
	s, _ := w.scratch.Get().(*wholeScratch)
	if s == nil {
		s = &wholeScratch{}
	}
	defer func() {
		clear(s.batch.Records)
		w.scratch.Put(s)
	}()
	b := &s.batch
	b.Topic, b.Queue = c.Batch.Topic, c.Batch.Queue
	b.Records, b.TagsCodes, s.places = b.Records[:0], b.TagsCodes[:0], s.places[:0]
	for left := c.Want; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		b.Records, b.TagsCodes = append(b.Records, c.Batch.Records[c.First+i]), append(b.TagsCodes, c.Batch.TagsCodes[c.First+i])
		s.places = append(s.places, i)
	}
	s.verdicts.Reset(b.Len())
	if err := w.Match(ctx, b, &s.verdicts); err != nil {
		return err
	}
	for k, i := range s.places {
		for _, set := range []struct {
			from []uint64
			to   *uint64
		}{{s.verdicts.True, &r.True}, {s.verdicts.Unknown, &r.Unknown}, {s.verdicts.Raise, &r.Raise}, {s.verdicts.Undecided, &r.Failed}, {s.verdicts.Poison, &r.Poison}} {
			if filter.HasBit(set.from, k) {
				*set.to |= 1 << i
			}
		}
	}
	return nil
}
