package wasm

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// WASI as far as the runtimes of languages ask for it while they start and die. There are no files, arguments or
// environment; what is written to the standard output and error goes to the log. Time stands still, except for sleeping,
// which returns at once and has taken as long as it should. Entropy is a sequence that is the same for each instance.
//
// The functions are our own and not wazero's because each must take fuel for what it does.

// Error numbers of WASI.
const (
	wasiOK    = 0
	wasiBadF  = 8
	wasiInval = 28
)

func wasiFunctions() []hostFunction {
	w := func(name string, sig signature, f func(g guest, s []uint64) uint32) hostFunction {
		return hostFunction{wasiModule, name, sig, func(ctx context.Context, mod api.Module, s []uint64) {
			s[0] = uint64(f(enter(ctx, mod, costHost), s))
		}}
	}
	return []hostFunction{
		w("args_get", "ii:i", wasiNothing), w("environ_get", "ii:i", wasiNothing),
		w("args_sizes_get", "ii:i", wasiEmpty), w("environ_sizes_get", "ii:i", wasiEmpty),
		w("clock_time_get", "iIi:i", wasiClock), w("clock_res_get", "ii:i", wasiResolution),
		w("random_get", "ii:i", wasiRandom),
		w("fd_write", "iiii:i", wasiWrite), w("fd_read", "iiii:i", wasiRead),
		w("fd_close", "i:i", wasiBad), w("fd_seek", "iIii:i", wasiBad),
		w("fd_fdstat_get", "ii:i", wasiStat), w("fd_fdstat_set_flags", "ii:i", wasiNothing),
		w("fd_prestat_get", "ii:i", wasiBad), w("fd_prestat_dir_name", "iii:i", wasiBad),
		w("poll_oneoff", "iiii:i", wasiPoll), w("sched_yield", ":i", wasiYield),
		{wasiModule, "proc_exit", "i:", func(ctx context.Context, mod api.Module, s []uint64) {
			g := enter(ctx, mod, costHost)
			g.abort(fault(ErrTrap, "it exited with code %d%s", int32(s[0]), g.lastWords()))
		}},
	}
}

func (g guest) put32(at, n uint32) { binary.LittleEndian.PutUint32(g.bytes(at, 4), n) }
func (g guest) put64(at uint32, n uint64) {
	binary.LittleEndian.PutUint64(g.bytes(at, 8), n)
}

func wasiNothing(guest, []uint64) uint32 { return wasiOK }
func wasiBad(guest, []uint64) uint32     { return wasiBadF }

// wasiYield has no parameters, so its frame has but the place of the result.
func wasiYield(guest, []uint64) uint32 { return wasiOK }

func wasiEmpty(g guest, s []uint64) uint32 {
	g.put32(uint32(s[0]), 0)
	g.put32(uint32(s[1]), 0)
	return wasiOK
}

// wasiEpoch is the time at which all guests live: 2020-01-01T00:00:00Z in nanoseconds.
const wasiEpoch = 1_577_836_800_000_000_000

func wasiClock(g guest, s []uint64) uint32 {
	g.put64(uint32(s[2]), wasiEpoch+g.slept)
	return wasiOK
}

func wasiResolution(g guest, s []uint64) uint32 {
	g.put64(uint32(s[1]), 1000)
	return wasiOK
}

// wasiRandom fills with xorshift64*, seeded alike in each instance.
func wasiRandom(g guest, s []uint64) uint32 {
	n := uint32(s[1])
	g.charge(int64(n))
	b := g.bytes(uint32(s[0]), n)
	for i := range b {
		g.entropy ^= g.entropy >> 12
		g.entropy ^= g.entropy << 25
		g.entropy ^= g.entropy >> 27
		b[i] = byte(g.entropy * 0x2545F4914F6CDD1D >> 56)
	}
	return wasiOK
}

const entropySeed = 0x9E3779B97F4A7C15

func wasiWrite(g guest, s []uint64) uint32 {
	fd, at, n := uint32(s[0]), uint32(s[1]), uint32(s[2])
	if fd != 1 && fd != 2 {
		return wasiBadF
	}
	g.charge(int64(n) * 8)
	total := uint32(0)
	for i := range n {
		vec := g.bytes(at+8*i, 8)
		b := g.bytes(binary.LittleEndian.Uint32(vec), binary.LittleEndian.Uint32(vec[4:]))
		g.chargeBytes(len(b))
		g.said(b)
		total += uint32(len(b))
	}
	g.put32(uint32(s[3]), total)
	return wasiOK
}

func wasiRead(g guest, s []uint64) uint32 {
	if uint32(s[0]) != 0 {
		return wasiBadF
	}
	g.put32(uint32(s[3]), 0)
	return wasiOK
}

// wasiStat says that descriptors 0 to 2 are character devices.
func wasiStat(g guest, s []uint64) uint32 {
	if uint32(s[0]) > 2 {
		return wasiBadF
	}
	b := g.bytes(uint32(s[1]), 24)
	clear(b)
	b[0] = 2
	return wasiOK
}

// Layout of a subscription, 48 bytes: userdata u64, tag u8 at 8, and for a clock its timeout u64 at 24 and flags u16 at
// 40. Of an event, 32 bytes: userdata u64, error u16 at 8, type u8 at 10.
const (
	subscriptionSize = 48
	eventSize        = 32
)

// wasiPoll answers every subscription at once. Clocks advance by what was to be slept.
func wasiPoll(g guest, s []uint64) uint32 {
	in, out, n := uint32(s[0]), uint32(s[1]), uint32(s[2])
	if n == 0 {
		return wasiInval
	}
	g.charge(int64(n) * 16)
	slept := uint64(0)
	for i := range n {
		var sub [subscriptionSize]byte
		copy(sub[:], g.bytes(in+subscriptionSize*i, subscriptionSize))
		event := g.bytes(out+eventSize*i, eventSize)
		clear(event)
		copy(event[:8], sub[:8])
		event[10] = sub[8]
		if sub[8] != 0 {
			binary.LittleEndian.PutUint16(event[8:], wasiBadF)
			continue
		}
		timeout := binary.LittleEndian.Uint64(sub[24:])
		if sub[40]&1 != 0 { // until then
			timeout -= min(timeout, wasiEpoch+g.slept)
		}
		if slept == 0 || timeout < slept {
			slept = timeout
		}
	}
	g.slept += min(slept, 1<<50)
	g.put32(uint32(s[3]), n)
	return wasiOK
}
