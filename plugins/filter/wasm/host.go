package wasm

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/weirmq/weir/core/message"
)

// hostFunction is an import that guests get.
type hostFunction struct {
	module, name string
	sig          signature
	call         api.GoModuleFunc
}

// hostFunctions lists all imports. Each of them takes fuel for what it does: otherwise a loop around an import that copies
// megabytes would be cheap for the guest and endless for the host.
func hostFunctions() []hostFunction {
	return append([]hostFunction{
		{hostModule, "log", "iii:", mqfLog},
		{hostModule, "metric", "ii:i", mqfMetric},
		{hostModule, "metric_add", "iI:", mqfMetricAdd},
		{hostModule, "need_prop", "iii:i", mqfNeedProp},
		{hostModule, "prop", "iiiii:i", mqfProp},
		{hostModule, "body", "iiii:i", mqfBody},
		{hostModule, "now_ms", ":I", mqfNow},
		{envModule, "abort", "iiii:", envAbort},
	}, wasiFunctions()...)
}

// instanceKey finds the instance that a host function serves in its context.
type instanceKey struct{}

// guest is what a host function has of the instance that calls it.
type guest struct {
	*instance
	mod api.Module
}

// enter finds the instance and takes the fuel of a call.
func enter(ctx context.Context, mod api.Module, cost int64) guest {
	in := ctx.Value(instanceKey{}).(*instance)
	in.attach(mod)
	g := guest{in, mod}
	g.charge(cost)
	return g
}

// costHost is what any call of the host costs in fuel: about 80 ns.
const costHost = 200

// charge takes fuel and ends the call if there is not enough.
func (g guest) charge(n int64) {
	left := int64(g.fuel.Get()) - n
	g.fuel.Set(uint64(left))
	if left < 0 {
		g.abort(fault(ErrFuel, "in an import"))
	}
}

// chargeBytes takes fuel for copying or looking through n bytes.
func (g guest) chargeBytes(n int) { g.charge(int64(n) / 8) }

// abort ends the guest's call. wazero turns the panic into the error of the call; the instance remembers the cause.
func (g guest) abort(err error) {
	g.cause = err
	panic(err)
}

// bytes returns n bytes of the guest's memory, a view, or ends the call.
func (g guest) bytes(at, n uint32) []byte {
	b, ok := g.mod.Memory().Read(at, n)
	if !ok {
		g.abort(fault(ErrImportUse, "%d bytes at %d are outside of the memory", n, at))
	}
	return b
}

// text returns text of at most most bytes; what is longer is cut.
func (g guest) text(at, n, most uint32) string {
	n = min(n, most)
	g.chargeBytes(int(n))
	return string(g.bytes(at, n))
}

const logMax = 1 << 10

func mqfLog(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	g.owner.guestLog(int32(s[0]), g.text(uint32(s[1]), uint32(s[2]), logMax))
}

func mqfMetric(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	if g.phase != phaseStart {
		g.abort(fault(ErrImportUse, "metric is for mqf_init"))
	}
	name := g.text(uint32(s[0]), uint32(s[1]), 64)
	id, ok := g.owner.metric(name)
	if !ok {
		g.abort(fault(ErrImportUse, "metric %q: want a name of lower case letters, digits and _, and at most %d of them", printable([]byte(name), 64), metricsMax))
	}
	s[0] = uint64(id)
}

func mqfMetricAdd(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost/4)
	id := uint32(s[0])
	if id >= metricsMax {
		g.abort(fault(ErrImportUse, "metric_add: there is no metric %d", id))
	}
	g.metrics[id] += int64(s[1])
}

func mqfNeedProp(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	if g.phase != phaseStart {
		g.abort(fault(ErrImportUse, "need_prop is for mqf_init"))
	}
	n := uint32(s[1])
	if n > 255 || uint32(s[2]) >= uint32(slotTypes) {
		s[0] = api.EncodeI32(-1)
		return
	}
	name := g.text(uint32(s[0]), n, 255)
	s[0] = api.EncodeI32(int32(g.layout.need(name, SlotType(s[2]))))
}

// record returns a record of the batch that is being judged.
func (g guest) record(i uint32) message.Record {
	if g.phase != phaseJudge {
		g.abort(fault(ErrImportUse, "prop and body are for mqf_filter"))
	}
	if int64(i) >= int64(len(g.batch.records)) {
		g.abort(fault(ErrImportUse, "there is no record %d in a batch of %d", i, len(g.batch.records)))
	}
	return g.batch.records[i]
}

func mqfProp(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	rec := g.record(uint32(s[0]))
	name := g.text(uint32(s[1]), uint32(s[2]), 256)
	props := rec.Properties()
	g.chargeBytes(len(props))
	value, ok := props.Get(name)
	if !ok {
		s[0] = api.EncodeI32(-1)
		return
	}
	if len(value) <= int(uint32(s[4])) {
		g.chargeBytes(len(value))
		copy(g.bytes(uint32(s[3]), uint32(len(value))), value)
	}
	s[0] = uint64(len(value))
}

func mqfBody(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	body := g.record(uint32(s[0])).Body()
	at := min(int(uint32(s[1])), len(body))
	n := min(int(uint32(s[3])), len(body)-at)
	g.chargeBytes(n)
	copy(g.bytes(uint32(s[2]), uint32(n)), body[at:at+n])
	s[0] = uint64(n)
}

func mqfNow(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	s[0] = uint64(g.owner.clock.Now().UnixMilli())
}

// envAbort is what AssemblyScript calls when it gives up: message and file as UTF-16 with the length before them.
func envAbort(ctx context.Context, mod api.Module, s []uint64) {
	g := enter(ctx, mod, costHost)
	g.abort(fault(ErrTrap, "abort: %s (%s:%d)", g.utf16(uint32(s[0])), g.utf16(uint32(s[1])), uint32(s[2])))
}

func (g guest) utf16(at uint32) string {
	if at < 4 {
		return ""
	}
	size, ok := g.mod.Memory().Read(at-4, 4)
	if !ok {
		return ""
	}
	b, ok := g.mod.Memory().Read(at, min(binary.LittleEndian.Uint32(size), 512))
	if !ok {
		return ""
	}
	text := make([]byte, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		if b[i+1] != 0 || b[i] >= 0x80 {
			text = append(text, '?')
			continue
		}
		text = append(text, b[i])
	}
	return printable(text, 256)
}
