package wasm

import (
	"syscall"
	"testing"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/plugins/internal/wasmbin"
)

// cpuTime is what the process has used. Unlike the time that passes, it is the same on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// worst lists code that takes long for its fuel.
func worst() map[string]func(c *wasmbin.Code) {
	bulk := func(op wasmbin.Op, from, size int32, index ...uint32) func(c *wasmbin.Code) {
		return func(c *wasmbin.Code) {
			wasmtest.Args(c, 0, from, size)
			c.Op(op)
			c.Index(index...)
		}
	}
	return map[string]func(c *wasmbin.Code){
		"loop": func(*wasmbin.Code) {},
		"divide": func(c *wasmbin.Code) {
			for range 8 {
				c.GlobalGet(0)
				wasmtest.Args(c, 3)
				c.Op(wasmbin.I32DivS)
				c.GlobalSet(0)
			}
		},
		"fill-much":   bulk(wasmbin.MemoryFill, 1, 4*pageSize, 0),
		"fill-little": bulk(wasmbin.MemoryFill, 1, 16, 0),
		"fill-none":   bulk(wasmbin.MemoryFill, 1, 0, 0),
		"copy-much":   bulk(wasmbin.MemoryCopy, 2*pageSize, 2*pageSize, 0, 0),
		"copy-none":   bulk(wasmbin.MemoryCopy, 2*pageSize, 0, 0, 0),
		"grow": func(c *wasmbin.Code) {
			wasmtest.Args(c, 1)
			c.Op(wasmbin.MemoryGrow)
			c.Index(0)
			c.Op(wasmbin.Drop)
		},
		"miss": func(c *wasmbin.Code) { // loads that depend on each other, all over the memory
			c.LocalGet(3)
			wasmtest.Args(c, 1_000_003)
			c.Op(wasmbin.I32Mul)
			wasmtest.Args(c, 4*pageSize-4)
			c.Op(wasmbin.I32And)
			c.Memory(wasmbin.I32Load, 2, 0)
			c.LocalGet(3)
			wasmtest.Args(c, 12_345)
			c.Op(wasmbin.I32Add, wasmbin.I32Add)
			c.LocalSet(3)
		},
	}
}

// BenchmarkWorstCall reports the processor time of a call that burns all the fuel there is by default. Garbage collection
// waits so long for it at most. Aim: below 10 ms.
func BenchmarkWorstCall(b *testing.B) {
	for name, code := range worst() {
		b.Run(name, func(b *testing.B) {
			g := newGuest().Filtering(wasmtest.Forever(code))
			g.Globals = 1
			p := compiled(b, g.Build(), nil)
			batch := messages(b, 256)
			var s scratch
			var v filter.Verdicts
			v.Reset(256)
			s.load(batch, &v)
			before, calls := cpuTime(b), 0
			for b.Loop() {
				if _, err := p.judge(batch, &s, s.order, &v, false); err == nil {
					b.Fatal("the call ended")
				}
				calls++
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(calls), "cpu-ms/call")
		})
	}
}
