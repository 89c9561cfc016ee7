package wasm

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/weirmq/weir/core/clock"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
)

// Trial is a module that its author tries without a broker: the same checks, engine, fuel and limits that a broker has by
// default. One goroutine at a time uses it.
type Trial struct {
	maker
	module *module
	report *reporter
}

// NewTrial checks, meters and compiles a module. It doesn't run the tests of the manifest. What the module says goes to log.
// The caller closes the trial.
func NewTrial(ctx context.Context, bin []byte, log *slog.Logger) (*Trial, error) {
	cfg := defaultConfig()
	if len(bin) > int(cfg.Limits.Size) {
		return nil, fault(ErrTooLarge, "it has %d bytes; limits.size allows %s", len(bin), cfg.Limits.Size)
	}
	set := plugin.Settings{ID: plugin.ID{Type: Type, Name: "trial"}, Logger: log, MeterProvider: metricnoop.NewMeterProvider(), Clock: clock.Real()}
	m, err := loadBinary(ctx, "", bin, cfg, set)
	if err != nil {
		return nil, err
	}
	r, err := newReporter(set, m.name)
	if err != nil {
		m.engine.close(ctx)
		return nil, err
	}
	return &Trial{maker{set, cfg, newPermits()}, m, r}, nil
}

// Close ends the trial.
func (t *Trial) Close(ctx context.Context) { t.module.engine.close(ctx) }

// Manifest returns the module's manifest. It must not be changed.
func (t *Trial) Manifest() *Manifest { return t.module.manifest }

// Hash returns the SHA-256 of the module's file in hexadecimal.
func (t *Trial) Hash() string { return hex.EncodeToString(t.module.hash[:]) }

// Judged is what a module has said of a batch.
type Judged struct {
	// Outcomes has true, false, unknown, raise or undecided for each message; of functions of numbers, the number.
	Outcomes []string
	// Again are the outcomes of the same batch, given once more to the same instance, and Fresh those that a new instance gives
	// to the batch backwards, in the order of Outcomes.
	Again, Fresh []string
	// Fault is why outcomes were undecided last; nil if none was.
	Fault error
}

// with returns a maker for calls with n messages. Above what a broker gives by default the fuel of a call grows with them.
func (t *Trial) with(n int, settings map[string]string) *maker {
	cfg := *t.cfg
	cfg.Config = settings
	if most := cfg.Limits.Records; n > most {
		cfg.Limits.FuelPerCall = (cfg.Limits.FuelPerCall*int64(n) + int64(most) - 1) / int64(most)
		cfg.Limits.Records = n
	}
	return &maker{t.set, &cfg, t.permits}
}

// Judge has a filter judge n messages, those of tests again and again, in one call if they fit into 256 KiB. n is at most
// filter.BatchMax, and there is at least one test. What the tests want, and their settings, don't matter.
func (t *Trial) Judge(ctx context.Context, settings map[string]string, tests []Test, n int) (*Judged, error) {
	c := t.with(n, settings)
	b, err := batchOf(tests, n)
	if err != nil {
		return nil, err
	}
	backwards := &filter.Batch{Topic: b.Topic, Records: slices.Clone(b.Records), TagsCodes: slices.Clone(b.TagsCodes)}
	slices.Reverse(backwards.Records)
	slices.Reverse(backwards.TagsCodes)
	out := &Judged{}
	p, err := c.program(ctx, t.module, t.report, settings)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if out.Outcomes, err = out.judge(ctx, p, b); err != nil {
		return nil, err
	}
	if out.Again, err = out.judge(ctx, p, b); err != nil {
		return nil, err
	}
	other, err := c.program(ctx, t.module, t.report, settings)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	out.Fresh, err = out.judge(ctx, other, backwards)
	slices.Reverse(out.Fresh)
	return out, err
}

func (j *Judged) judge(ctx context.Context, p *program, b *filter.Batch) ([]string, error) {
	var v filter.Verdicts
	v.Reset(b.Len())
	if err := p.Match(ctx, b, &v); err != nil {
		return nil, err
	}
	if err := p.Fault(); err != nil {
		j.Fault = err
	}
	list := make([]string, b.Len())
	for i := range list {
		list[i] = outcomeOf(&v, i)
	}
	return list, nil
}

// Call has a function compute n values, at most filter.ColumnsMax. rows are the arguments as text, nil for a missing one, and
// are used again and again.
func (t *Trial) Call(ctx context.Context, settings map[string]string, function string, rows [][]*string, n int) (*Judged, error) {
	c := t.with(n, settings)
	out := &Judged{}
	f, err := c.functionOf(ctx, t.module, t.report, function)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	order := again(n, len(rows))
	if out.Outcomes, err = out.call(ctx, f, rows, order); err != nil {
		return nil, err
	}
	if out.Again, err = out.call(ctx, f, rows, order); err != nil {
		return nil, err
	}
	other, err := c.functionOf(ctx, t.module, t.report, function)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	slices.Reverse(order)
	out.Fresh, err = out.call(ctx, other, rows, order)
	slices.Reverse(out.Fresh)
	return out, err
}

func (j *Judged) call(ctx context.Context, f *function, rows [][]*string, order []int) ([]string, error) {
	c, err := rowsCall(f, rows, order)
	if err != nil {
		return nil, err
	}
	var r filter.Values
	if err := f.Call(ctx, c, &r); err != nil {
		return nil, err
	}
	if err := f.Fault(); err != nil {
		j.Fault = err
	}
	list := make([]string, len(order))
	for i := range list {
		list[i] = valueText(&r, i, f.about.Result)
	}
	return list, nil
}

// rowsCall makes a call for the rows of order.
func rowsCall(f *function, rows [][]*string, order []int) (*filter.Call, error) {
	c := &filter.Call{Want: ^uint64(0) >> (64 - len(order)), Batch: &filter.Batch{Topic: "test"}, Args: make([]filter.Argument, len(f.args)), Kinds: f.args}
	for i, row := range order {
		if len(rows[row]) != len(f.args) {
			return nil, fault(ErrTest, "%s has %d arguments, not %d", f.about.Name, len(f.args), len(rows[row]))
		}
		for k, text := range rows[row] {
			setArgument(&c.Args[k], i, text, f.about.Args[k])
		}
	}
	return c, nil
}

func setArgument(a *filter.Argument, i int, text *string, t SlotType) {
	if text == nil {
		a.Missing |= 1 << i
		return
	}
	n, ok := parse([]byte(*text), t)
	if !ok {
		a.Malformed |= 1 << i
	}
	a.Texts[i], a.Numbers[i] = []byte(*text), int64(n)
}

func valueText(r *filter.Values, i int, t SlotType) string {
	switch bit := uint64(1) << i; {
	case r.Failed&bit != 0:
		return "undecided"
	case r.Raise&bit != 0:
		return "raise"
	case r.Unknown&bit != 0:
		return "unknown"
	case t == SlotBoolean:
		return strconv.FormatBool(r.True&bit != 0)
	case t == SlotDouble:
		return strconv.FormatFloat(math.Float64frombits(uint64(r.Numbers[i])), 'g', -1, 64)
	default:
		return strconv.FormatInt(r.Numbers[i], 10)
	}
}

// Cost is what judging costs.
type Cost struct {
	Records int `json:"messages_in_a_call"`
	// Nanos and Fuel are for one message. Nanos are those of the quickest of many batches, and hold what the broker does: finding
	// the properties and laying them out.
	Nanos float64 `json:"ns_per_message"`
	Fuel  float64 `json:"fuel_per_message"`
	// FuelShare is the part that a call used of the fuel it may use by default.
	FuelShare float64 `json:"fuel_share"`
	// Memory is what an instance has afterwards, in bytes.
	Memory uint32 `json:"memory"`
}

// Measure measures a filter for about the time that is given, in calls with n messages, those of tests again and again. It fails
// if the filter can't judge one of them.
func (t *Trial) Measure(ctx context.Context, settings map[string]string, tests []Test, n int, during time.Duration) (*Cost, error) {
	p, err := t.with(n, settings).program(ctx, t.module, t.report, settings)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	b, err := batchOf(tests, n)
	if err != nil {
		return nil, err
	}
	var v filter.Verdicts
	return t.measure(p, n, during, func() error {
		v.Reset(n)
		return p.Match(ctx, b, &v)
	})
}

// again counts n places of a list that is used again and again.
func again(n, length int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i % length
	}
	return order
}

// MeasureCall measures a function likewise, in calls for n messages, at most filter.ColumnsMax.
func (t *Trial) MeasureCall(ctx context.Context, settings map[string]string, function string, rows [][]*string, n int, during time.Duration) (*Cost, error) {
	f, err := t.with(n, settings).functionOf(ctx, t.module, t.report, function)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	order := again(n, len(rows))
	c, err := rowsCall(f, rows, order)
	if err != nil {
		return nil, err
	}
	var r filter.Values
	return t.measure(f.program, n, during, func() error {
		r.Reset()
		return f.Call(ctx, c, &r)
	})
}

// measure runs once again and again. It fails when the module does.
func (t *Trial) measure(p *program, n int, during time.Duration, once func() error) (*Cost, error) {
	var best time.Duration
	before := t.module.figures.info()
	for began := time.Now(); best == 0 || time.Since(began) < during; {
		from := time.Now()
		if err := once(); err != nil {
			return nil, err
		}
		if took := max(time.Since(from), 1); best == 0 || took < best {
			best = took
		}
		if err := p.Fault(); err != nil {
			return nil, fmt.Errorf("judge %d messages: %w", n, err)
		}
	}
	after := t.module.figures.info()
	c := &Cost{Records: n, Nanos: float64(best.Nanoseconds()) / float64(n)}
	if judged := after.Records - before.Records; judged > 0 {
		c.Fuel = float64(after.Fuel-before.Fuel) / float64(judged)
		c.FuelShare = c.Fuel * float64(n) / float64(p.fuelFor(n))
	}
	if in := p.pool.get(); in != nil {
		c.Memory = in.mod.Memory().Size()
		p.give(in, true)
	}
	return c, nil
}
