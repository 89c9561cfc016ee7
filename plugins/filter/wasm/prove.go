package wasm

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

// prove runs the tests of a module's manifest. Tests with equal settings are judged in one batch, so that a module that
// only judges the first message right is found out.
func (c *maker) prove(ctx context.Context, m *module, r *reporter) error {
	tests := m.manifest.Tests
	if !m.manifest.filters() {
		return nil
	}
	done := make([]bool, len(tests))
	for i := range tests {
		if done[i] {
			continue
		}
		var group []Test
		for k := i; k < len(tests); k++ {
			if maps.Equal(tests[k].Config, tests[i].Config) {
				group, done[k] = append(group, tests[k]), true
			}
		}
		if err := c.proveGroup(ctx, m, r, group); err != nil {
			return err
		}
	}
	if len(tests) > 0 {
		return nil
	}
	return c.proveStart(ctx, m, r)
}

// proveStart starts a module without tests, if what it is configured with is complete. Subscriptions may add what isn't.
func (c *maker) proveStart(ctx context.Context, m *module, r *reporter) error {
	p, err := c.program(ctx, m, r, c.cfg.Config)
	if errors.Is(err, ErrConfig) && len(c.cfg.Config) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return p.Close()
}

func (c *maker) proveGroup(ctx context.Context, m *module, r *reporter, tests []Test) error {
	p, err := c.program(ctx, m, r, tests[0].Config)
	if err != nil {
		return fault(ErrTest, "with %v: %s", tests[0].Config, err)
	}
	defer p.Close()
	for part := range slices.Chunk(tests, filter.BatchMax) {
		if err := p.proveBatch(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) proveBatch(ctx context.Context, tests []Test) error {
	b, err := batchOf(tests, len(tests))
	if err != nil {
		return err
	}
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(ctx, b, &v); err != nil {
		return err
	}
	var s scratch
	s.load(b, &v)
	for i, x := range tests {
		if got := outcomeOf(&v, i); got != x.Want {
			if got == "undecided" {
				return fault(ErrTest, "%s: %s", x.Label(), p.Fault())
			}
			return fault(ErrTest, "%s is %s, want %s", x.Label(), got, x.Want)
		}
	}
	if err := p.acquire(ctx); err != nil {
		return err
	}
	defer p.release()
	if !p.module.impure && !p.agrees(b, &s, s.order, &v) {
		return fault(ErrTest, "purity is pure, but a fresh instance judged the tests differently in another order")
	}
	return nil
}

// batchOf makes a batch of n messages, those of the tests again and again.
func batchOf(tests []Test, n int) (*filter.Batch, error) {
	b := &filter.Batch{Topic: "test"}
	for i := range n {
		x := &tests[i%len(tests)]
		if i >= len(tests) {
			b.Records, b.TagsCodes = append(b.Records, b.Records[i%len(tests)]), append(b.TagsCodes, b.TagsCodes[i%len(tests)])
			continue
		}
		rec, err := x.record()
		if err != nil {
			return nil, fault(ErrTest, "%s: %s", x.Label(), err)
		}
		b.Records = append(b.Records, rec)
		code := int64(0)
		if x.Tag != "" {
			code = message.TagsCode(x.Tag)
		}
		b.TagsCodes = append(b.TagsCodes, code)
	}
	return b, nil
}

func outcomeOf(v *filter.Verdicts, i int) string {
	switch {
	case filter.HasBit(v.Undecided, i):
		return "undecided"
	case filter.HasBit(v.Raise, i):
		return "raise"
	case filter.HasBit(v.Unknown, i):
		return "unknown"
	case filter.HasBit(v.True, i):
		return "true"
	}
	return "false"
}

// Label names a test: by its name, or else by what the message is.
func (x *Test) Label() string {
	if x.Name != "" {
		return printable([]byte(x.Name), 100)
	}
	text := "the message"
	for _, name := range slices.Sorted(maps.Keys(x.Props)) {
		text += " " + name + "=" + x.Props[name]
	}
	if len(x.Props) == 0 && x.Body != "" {
		text += " " + x.Body[:min(len(x.Body), 60)]
	}
	return printable([]byte(text), 200)
}

// record encodes the test's message as it would lie in the commit log.
func (x *Test) record() ([]byte, error) {
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	m := message.Message{Topic: "test", BornHost: host, StoreHost: host, Body: []byte(x.Body)}
	for _, name := range slices.Sorted(maps.Keys(x.Props)) {
		if !message.PropertyLegal(name, x.Props[name]) {
			return nil, errors.New("no message can have that property")
		}
		m.Properties = message.AppendProperty(m.Properties, name, x.Props[name])
	}
	if x.Tag != "" {
		m.Properties = message.AppendProperty(m.Properties, message.PropTags, x.Tag)
	}
	return message.AppendRecord(nil, &m)
}
