package wasm

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/internal/fuel"
)

// instance is a running copy of a module. One goroutine at a time uses it. After any failure it is closed: what its memory
// holds then can't be trusted.
type instance struct {
	owner  *program
	ctx    context.Context // for all calls; host functions find the instance in it
	mod    api.Module
	fuel   api.MutableGlobal
	stack  api.MutableGlobal
	buffer api.Function
	filter api.Function
	// function is mqf_call; nil in a module without functions.
	function api.Function

	phase   phase
	cause   error // why a host function ended the call
	layout  *layout
	metrics [metricsMax]int64 // not yet told
	slept   uint64            // what its clock has advanced, in nanoseconds
	entropy uint64
	words   []byte // the end of what it wrote in this call

	area, areaSize uint32
	batches        int
	given          int64  // fuel for the last call
	settled        uint32 // size of the memory after the first batches
	args           [5]uint64
	batch          rows
}

// phase says what host functions may do.
type phase uint8

const (
	phaseStart phase = iota
	phaseJudge
)

const (
	metricsMax   = 32
	areaFirst    = 16 << 10
	areaMax      = 1 << 20
	batchSizeMax = 256 << 10
	batchesMax   = 100_000

	settlingBatches = 2

	wordsMax    = 1 << 10
	errorMax    = 1 << 10
	startExport = "mqf_start" // the module's start section, see check
)

// attach remembers the module as soon as there is one.
func (in *instance) attach(mod api.Module) {
	if in.mod != nil {
		return
	}
	in.mod = mod
	in.fuel = mod.ExportedGlobal(fuel.FuelExport).(api.MutableGlobal)
	in.stack = mod.ExportedGlobal(fuel.StackExport).(api.MutableGlobal)
}

// start makes an instance and brings it to where it can judge. All of that shares one budget of fuel.
func (p *program) start() (*instance, error) {
	in := &instance{owner: p, layout: newLayout(p.module.manifest.Props), entropy: entropySeed}
	in.ctx = context.WithValue(context.Background(), instanceKey{}, in)
	mod, err := p.module.engine.runtime.InstantiateModule(in.ctx, p.module.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, fault(ErrStart, "%s", firstLine(err))
	}
	in.attach(mod)
	p.module.figures.instances.Add(1)
	if err := in.prepare(p); err != nil {
		in.close()
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	return in, nil
}

func (in *instance) prepare(p *program) error {
	for _, name := range []string{startExport, "_initialize"} {
		if f := in.mod.ExportedFunction(name); f != nil {
			if _, err := in.call(f); err != nil {
				return err
			}
		}
	}
	in.buffer = in.mod.ExportedFunction("mqf_buffer")
	in.filter = in.mod.ExportedFunction("mqf_filter")
	in.function = in.mod.ExportedFunction("mqf_call")
	if err := in.lend(areaFirst); err != nil {
		return err
	}
	if p.module.hasInit {
		if err := in.init(writeConfig(p.module.manifest, p.values)); err != nil {
			return err
		}
	}
	in.phase = phaseJudge
	in.batch.layout, in.batch.needs = in.layout, p.module.manifest.batchNeeds()
	return nil
}

// init hands the configuration over.
func (in *instance) init(cfg []byte) error {
	if err := in.lend(len(cfg)); err != nil {
		return err
	}
	mem, ok := in.mod.Memory().Read(in.area, uint32(len(cfg)))
	if !ok {
		return ErrArea
	}
	copy(mem, cfg)
	n, err := in.call(in.mod.ExportedFunction("mqf_init"), uint64(in.area), uint64(len(cfg)))
	if err != nil {
		return err
	}
	if code := int32(n); code < 0 {
		return fault(ErrCode, "mqf_init returned %s%s", codeText(code), in.errorText())
	}
	return nil
}

// lend asks for an area of at least size bytes, if the one that there is is smaller.
func (in *instance) lend(size int) error {
	if size <= int(in.areaSize) {
		return nil
	}
	want := uint32(areaFirst)
	for want < uint32(size) {
		want *= 2
	}
	n, err := in.call(in.buffer, uint64(want))
	if err != nil {
		return err
	}
	at := uint32(n)
	if at == 0 {
		return fault(ErrArea, "mqf_buffer(%d) returned 0%s", want, in.errorText())
	}
	if at%8 != 0 || uint64(at)+uint64(want) > uint64(in.mod.Memory().Size()) {
		return fault(ErrArea, "mqf_buffer(%d) returned %d; the memory has %d bytes", want, at, in.mod.Memory().Size())
	}
	in.area, in.areaSize = at, want
	return nil
}

// call calls f with the fuel that is left, when it is its turn: fuel bounds how long the calls before it take.
func (in *instance) call(f api.Function, args ...uint64) (uint64, error) {
	turn := in.owner.permits.call
	turn <- struct{}{}
	defer func() { <-turn }()
	in.cause, in.words = nil, in.words[:0]
	in.stack.Set(stackUnits)
	copy(in.args[:], args)
	if err := f.CallWithStack(in.ctx, in.args[:]); err != nil {
		return 0, in.explain(err)
	}
	return in.args[0], nil
}

// explain says why a call failed.
func (in *instance) explain(err error) error {
	switch {
	case in.cause != nil:
		return in.cause
	case int64(in.fuel.Get()) < 0:
		return fault(ErrFuel, "an endless loop, or too much work for one call%s", in.lastWords())
	case int64(in.stack.Get()) < 0:
		return fault(ErrStack, "endless recursion, or one that is too deep%s", in.lastWords())
	}
	return fault(ErrTrap, "%s%s", firstLine(err), in.lastWords())
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return printable([]byte(strings.TrimPrefix(line, "wasm error: ")), 300)
}

// said remembers the end of what the guest wrote to its standard output or error.
func (in *instance) said(b []byte) {
	if len(b) > wordsMax {
		b = b[len(b)-wordsMax:]
	}
	if over := len(in.words) + len(b) - wordsMax; over > 0 {
		in.words = append(in.words[:0], in.words[over:]...)
	}
	in.words = append(in.words, b...)
}

func (in *instance) lastWords() string {
	if len(in.words) == 0 {
		return ""
	}
	return "; it wrote: " + printable(in.words, wordsMax)
}

// errorText asks the guest about the negative code that it has returned.
func (in *instance) errorText() string {
	if !in.owner.module.hasError {
		return ""
	}
	n, err := in.call(in.mod.ExportedFunction("mqf_error"))
	if err != nil {
		return ""
	}
	b, ok := in.mod.Memory().Read(uint32(n>>32), min(uint32(n), errorMax))
	if !ok || len(b) == 0 {
		return ""
	}
	return ": " + printable(b, errorMax)
}

// judge lays as many of the messages of b that order names out as fit into one call, and sets their verdicts. It returns how
// many that were. After an error no verdict is set, and the instance must be closed.
func (in *instance) judge(b *filter.Batch, s *scratch, order []int, v *filter.Verdicts) (n int, err error) {
	in.batch.begin(b)
	defer in.batch.reset()
	for _, i := range order {
		if !in.batch.add(s.records[i], b.TagsCodes[i], batchSizeMax) {
			break
		}
		n++
	}
	in.batches++
	results := resultSize(n)
	in.given = in.owner.fuelFor(n)
	in.fuel.Set(uint64(in.given))
	if err := in.lend(in.batch.size() + results); err != nil {
		return 0, err
	}
	mem, ok := in.mod.Memory().Read(in.area, in.areaSize)
	if !ok {
		return 0, ErrArea
	}
	length := in.batch.write(mem)
	clear(mem[length : length+results])
	out := in.area + uint32(length)
	res, err := in.call(in.filter, uint64(in.area), uint64(length), uint64(out))
	if err != nil {
		return 0, err
	}
	switch code := int32(res); {
	case code < 0:
		return 0, fault(ErrCode, "mqf_filter returned %s%s", codeText(code), in.errorText())
	case int(code) != n:
		return 0, fault(ErrResultCount, "%d results for %d messages", code, n)
	}
	bits, ok := in.mod.Memory().Read(out, uint32(results))
	if !ok {
		return 0, ErrArea
	}
	setVerdicts(bits, order[:n], v)
	return n, nil
}

// setVerdicts reads three bitmaps. Of several bits for one message raise counts, then unknown.
func setVerdicts(bits []byte, order []int, v *filter.Verdicts) {
	words := len(bits) / 24
	for w := range words {
		at := bits[8*w:]
		isTrue, unknown, raise := le.Uint64(at), le.Uint64(at[8*words:]), le.Uint64(at[16*words:])
		part := order[64*w : min(len(order), 64*w+64)]
		mask := ^uint64(0) >> (64 - len(part))
		raise &= mask
		unknown &= mask &^ raise
		isTrue &= mask &^ raise &^ unknown
		spread(v.True, isTrue, part)
		spread(v.Unknown, unknown, part)
		spread(v.Raise, raise, part)
	}
}

// worn says whether the instance should be replaced although it works: it has been used for long, or its memory has grown
// close to its limit since the first batches, in which every guest takes what it needs.
func (in *instance) worn() bool {
	size := in.mod.Memory().Size()
	if in.batches <= settlingBatches {
		in.settled = size
		return false
	}
	limit := uint64(in.owner.module.pages) * pageSize
	return in.batches >= batchesMax || size > in.settled && uint64(size)*4 > limit*3
}

func (in *instance) close() {
	if in.mod == nil {
		return
	}
	_ = in.mod.Close(in.ctx)
	in.owner.module.figures.instances.Add(-1)
}
