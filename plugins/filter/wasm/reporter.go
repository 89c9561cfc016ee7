package wasm

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// reporter tells the log and the metrics what a module does. All programs of a module share one.
type reporter struct {
	log   *slog.Logger
	clock clock.Clock
	name  string

	// attrs are the labels of all metrics. They are slices because a call with a list of options would allocate one.
	attrs    []metric.AddOption
	calls    metric.Int64Counter
	records  metric.Int64Counter
	fuel     metric.Int64Counter
	failures metric.Int64Counter
	made     metric.Int64Counter
	opens    metric.Int64Counter
	guest    metric.Int64Counter

	differences metric.Int64Counter
	journal     journal

	mu      sync.Mutex // guards all below
	names   []string   // metrics that guests have registered
	options [][]metric.AddOption
	lines   budget // of guests' log lines
	faults  budget // of log lines about failures
	unlike  budget // of lines about what a shadow judges differently
}

// budget bounds log lines: so many in each second.
type budget struct {
	most   int
	since  time.Time
	used   int
	unsaid int
}

// take says whether one more line may be written, and how many were left out before it.
func (b *budget) take(now time.Time) (ok bool, unsaid int) {
	if now.Sub(b.since) >= time.Second {
		b.since, b.used = now, 0
	}
	if b.used >= b.most {
		b.unsaid++
		return false, 0
	}
	b.used++
	unsaid, b.unsaid = b.unsaid, 0
	return true, unsaid
}

const (
	guestLines = 20
	faultLines = 1
)

func newReporter(set plugin.Settings, name string) (*reporter, error) {
	r := &reporter{log: set.Logger.With("module", name), clock: set.Clock, name: name,
		lines: budget{most: guestLines}, faults: budget{most: faultLines}, unlike: budget{most: faultLines}}
	r.attrs = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("module", name)))}
	m := set.MeterProvider.Meter("github.com/weirmq/weir/plugins/filter/wasm")
	var err error
	counter := func(name, about string) metric.Int64Counter {
		c, e := m.Int64Counter("weir.filter.wasm."+name, metric.WithDescription(about))
		if err == nil {
			err = e
		}
		return c
	}
	r.calls = counter("calls", "calls of modules")
	r.records = counter("records", "messages that modules have judged")
	r.fuel = counter("fuel", "fuel that modules have used")
	r.failures = counter("failures", "calls of modules that failed")
	r.made = counter("instances", "instances that were started")
	r.opens = counter("breaker_opens", "how often the circuit breaker has opened")
	r.guest = counter("guest", "what modules count themselves")
	r.differences = counter("shadow_differences", "messages that a version in shadow mode judges differently")
	return r, err
}

// called counts a call, and what the guest counted in it.
func (r *reporter) called(in *instance, n int) {
	ctx := context.Background()
	r.calls.Add(ctx, 1, r.attrs...)
	r.records.Add(ctx, int64(n), r.attrs...)
	r.fuel.Add(ctx, in.used(), r.attrs...)
	for i, n := range in.metrics {
		if n == 0 {
			continue
		}
		in.metrics[i] = 0
		r.mu.Lock()
		known := i < len(r.options)
		var option []metric.AddOption
		if known {
			option = r.options[i]
		}
		r.mu.Unlock()
		if known && n > 0 { // counters don't go back
			r.guest.Add(ctx, n, option...)
		}
	}
}

func (r *reporter) started() { r.made.Add(context.Background(), 1, r.attrs...) }

// used returns the fuel that the last call has used.
func (in *instance) used() int64 { return in.given - max(0, int64(in.fuel.Get())) }

// failed counts a failed call. What failed is logged once a second.
func (r *reporter) failed(number int, err error) {
	r.failures.Add(context.Background(), 1, r.attrs...)
	r.mu.Lock()
	ok, unsaid := r.faults.take(r.clock.Now())
	r.mu.Unlock()
	if ok {
		r.log.Warn("a WASM module failed to judge a batch", "error", err, "unsaid", unsaid)
		r.journal.add(r.clock.Now(), "warn", number, "failed to judge a batch: "+err.Error())
	}
}

func (r *reporter) opened(number int, err error) {
	r.opens.Add(context.Background(), 1, r.attrs...)
	r.log.Error("a WASM module fails all the time and isn't called for a while", "error", err, "retry_after", breakerOpen)
	r.journal.add(r.clock.Now(), "error", number, "fails all the time and isn't called for a while: "+err.Error())
}

// poison tells of a message that can't be judged.
func (r *reporter) poison(number int, b *filter.Batch, s *scratch, i int, err error) {
	r.mu.Lock()
	ok, unsaid := r.faults.take(r.clock.Now())
	r.mu.Unlock()
	if ok {
		r.log.Warn("a WASM module can't judge a message", "topic", b.Topic, "queue", b.Queue,
			"offset", s.records[i].QueueOffset(), "id", offsetID(s.records[i]), "error", err, "unsaid", unsaid)
		r.journal.add(r.clock.Now(), "warn", number, "can't judge "+where(b, i)+": "+err.Error())
	}
}

// where says which message of a batch is meant.
func where(b *filter.Batch, i int) string {
	rec, _, err := message.ViewRecord(b.Records[i])
	if err != nil {
		return fmt.Sprintf("a message of %s, queue %d", b.Topic, b.Queue)
	}
	return fmt.Sprintf("message %s of %s, queue %d, offset %d", offsetID(rec), b.Topic, b.Queue, rec.QueueOffset())
}

func (r *reporter) demoted(number int) {
	r.journal.add(r.clock.Now(), "error", number, "judged the same messages differently although it says that it is pure; its verdicts aren't kept any more")
	r.log.Error("a WASM module says that it is pure, but judged the same messages differently; its verdicts aren't kept any more")
}

// guestLog writes a line for a guest.
func (p *program) guestLog(level int32, text string) {
	r := p.report
	r.mu.Lock()
	ok, unsaid := r.lines.take(r.clock.Now())
	r.mu.Unlock()
	if !ok {
		return
	}
	l, word := slog.LevelInfo, "info"
	switch {
	case level < 0:
		l, word = slog.LevelDebug, "debug"
	case level == 1:
		l, word = slog.LevelWarn, "warn"
	case level > 1:
		l, word = slog.LevelError, "error"
	}
	r.journal.add(r.clock.Now(), word, p.module.number, text)
	r.log.Log(context.Background(), l, "a WASM module says", "text", printable([]byte(text), logMax), "unsaid", unsaid)
}

var metricPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// metric returns the number of a guest's counter, which it registers when it is new.
func (p *program) metric(name string) (id int, ok bool) {
	if !metricPattern.MatchString(name) {
		return 0, false
	}
	r := p.report
	r.mu.Lock()
	defer r.mu.Unlock()
	if id = slices.Index(r.names, name); id >= 0 {
		return id, true
	}
	if len(r.names) == metricsMax {
		return 0, false
	}
	r.names = append(r.names, name)
	r.options = append(r.options, []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(
		attribute.String("module", r.name), attribute.String("counter", name)))})
	return len(r.names) - 1, true
}

// offsetID is the id by which the message can be looked up.
func offsetID(r message.Record) string {
	return string(message.AppendOffsetID(nil, r.StoreHost(), r.Position()))
}
