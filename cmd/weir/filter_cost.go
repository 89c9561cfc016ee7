package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
)

type costOf struct {
	Engine string  `json:"engine"`
	Nanos  float64 `json:"ns_per_message"`
}

// costs measures the expression on messages of the tool's own: for SQL92 on each engine, the others as they are.
func (a *app) costs(ctx context.Context, f *filterFlags, text string, e *explained, p *compiled, b *filter.Batch) error {
	if f.kind != filter.TypeSQL92 {
		ns, err := costPer(ctx, p.Program, b)
		e.Costs = append(e.Costs, costOf{cmp.Or(e.Engine, strings.ToLower(f.kind)), ns})
		return err
	}
	for _, engine := range []string{"vector", "wasm", "expr", "closure"} {
		q, err := a.compile(ctx, f, engine, text)
		if err != nil {
			return err
		}
		d, _ := q.Program.(filter.Describer)
		if d.Describe().Engine == engine { // another takes over what an engine can't
			var ns float64
			ns, err = costPer(ctx, q.Program, b)
			e.Costs = append(e.Costs, costOf{engine, ns})
		}
		q.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// sampleMessages is how many messages the cost is measured on.
const sampleMessages = filter.BatchMax

// sampleBatch makes messages with a body of 256 bytes, the properties that the program reads, and six more.
func sampleBatch(p filter.Program) *filter.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	b := &filter.Batch{Topic: "sample"}
	for i := range sampleMessages {
		var props message.Properties
		add := func(name, value string) { props = message.AppendProperty(props, name, value) }
		add(message.PropUniqKey, fmt.Sprintf("7F0000010EA818B4AAC20B1A2C3D%04X", i))
		add(message.PropTags, "TagA")
		for k := range 6 {
			add("property"+strconv.Itoa(k), strconv.Itoa(r.IntN(100_000)))
		}
		for _, name := range p.Needs().Properties {
			if message.PropertyLegal(name, "1") && name != message.PropTags {
				add(name, strconv.Itoa(r.IntN(1000)))
			}
		}
		rec, err := message.AppendRecord(nil, &message.Message{Topic: "sample", BornHost: host, StoreHost: host, Body: make([]byte, 256), Properties: props})
		if err != nil {
			continue
		}
		b.Records, b.TagsCodes = append(b.Records, rec), append(b.TagsCodes, message.TagsCode("TagA"))
	}
	return b
}

// costTime is how long each measurement takes at least.
const costTime = 20 * time.Millisecond

// costPer returns the least ns a message that several runs took.
func costPer(ctx context.Context, p filter.Program, b *filter.Batch) (float64, error) {
	var v filter.Verdicts
	var keep [sampleMessages / 64]uint64
	index, _ := p.(filter.IndexMatcher)
	indexOnly := indexDecides(p, b)
	best := 0.0
	for began := time.Now(); time.Since(began) < costTime; {
		for i := range keep {
			keep[i] = ^uint64(0)
		}
		from := time.Now()
		if indexOnly {
			index.MatchIndex(b.TagsCodes, keep[:])
		} else {
			v.Reset(b.Len())
			if err := p.Match(ctx, b, &v); err != nil {
				return 0, fmt.Errorf("measure the cost: %w", err)
			}
		}
		if ns := float64(time.Since(from).Nanoseconds()) / float64(b.Len()); best == 0 || ns < best {
			best = ns
		}
	}
	if e, ok := p.(filter.Explainer); ok && e.Fault() != nil && slices.Max(v.Undecided) != 0 {
		return best, errors.Join(errors.New("the module fails at the sample messages"), e.Fault())
	}
	return best, nil
}

// reachedBy returns the share of messages that the first part of judging lets through.
func reachedBy(p filter.Prefilter, b *filter.Batch) float64 {
	var keep [sampleMessages / 64]uint64
	for i := range keep {
		keep[i] = ^uint64(0)
	}
	p.MatchCheap(b, keep[:])
	n := 0
	for _, word := range keep {
		n += bits.OnesCount64(word)
	}
	return float64(n) / sampleMessages
}
