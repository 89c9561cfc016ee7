package hostile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/weirmq/weir/plugins/filter/wasm/wasmtest"
	"github.com/weirmq/weir/sdk/client"
)

// generatedMessages is how many messages a generated module judges: fewer than failures open its breaker.
const generatedMessages = 4

// generated pushes generated modules, has each judge some messages, compares with what the module says when it is called
// without the broker, and removes it. Every second one is damaged: that may be refused, or judge anything.
func (w *world) generated() int {
	first, n, most := w.count()
	deadline := time.Now().Add(most)
	var next atomic.Int64
	next.Store(int64(first))
	var refused, failed, tried atomic.Int64
	var workers sync.WaitGroup
	for k := range 2 {
		queue, c := w.send(fmt.Sprint("Generated", k), generatedMessages), newClient(w.t, w.broker.NameServer())
		workers.Go(func() {
			for time.Now().Before(deadline) {
				seed := next.Add(1) - 1
				if seed >= int64(first+n) {
					return
				}
				if !w.try(c, queue, fmt.Sprint("gen", k), uint64(seed), &refused, &failed) {
					return
				}
				if tried.Add(1)%100 == 0 {
					w.look()
				}
			}
		})
	}
	workers.Wait()
	w.t.Logf("generated modules: %d, of which %d were refused; %d messages couldn't be judged", tried.Load(), refused.Load(), failed.Load())
	return int(tried.Load())
}

func (w *world) try(c *client.Client, queue client.Queue, name string, seed uint64, refused, failed *atomic.Int64) bool {
	ctx, damaged := w.t.Context(), seed%2 == 1
	bin := wasmtest.Generated(seed)
	if damaged {
		bin = wasmtest.Mutated(seed)
	}
	_, err := c.PushModule(ctx, w.broker.Addr(), name, bin, false, nil)
	if err != nil {
		if !damaged || !strings.Contains(err.Error(), "the module") {
			w.t.Errorf("module %d: push: %v", seed, err)
			return w.alive(c)
		}
		refused.Add(1)
		return true
	}
	o, err := walk(ctx, c, queue, generatedMessages, name)
	if err != nil {
		w.t.Errorf("module %d: %v", seed, err)
	}
	failed.Add(int64(len(o.failed)))
	if !damaged {
		w.compare(seed, bin, o)
	}
	if err := c.RemoveModule(ctx, w.broker.Addr(), name, 0, true); err != nil {
		w.t.Errorf("module %d: remove it: %v", seed, err)
		return false
	}
	return true
}

// alive says whether the broker still answers.
func (w *world) alive(c *client.Client) bool {
	_, err := c.Modules(w.t.Context(), w.broker.Addr(), "")
	return err == nil
}

// compare calls the module itself, as it was before the broker got it: in the interpreter and, where the broker says
// something else, as compiled code. About one module in ten thousand finds a fault of wazero's compiler, which isn't the broker's:
// module 18430 is one, at a = 1, and other runtimes agree with the interpreter.
func (w *world) compare(seed uint64, bin []byte, o outcome) {
	first := w.differs(seed, bin, o, wazero.NewRuntimeConfigInterpreter())
	if first == "" {
		return
	}
	if w.differs(seed, bin, o, wazero.NewRuntimeConfig()) != "" {
		w.t.Error(first)
		return
	}
	w.t.Logf("%s; so it is as compiled code, without the broker", first)
}

// differs returns the first difference between what the broker said and what the module says in a runtime.
func (w *world) differs(seed uint64, bin []byte, o outcome, engine wazero.RuntimeConfig) string {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engine)
	defer r.Close(ctx)
	m, err := r.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return fmt.Sprintf("module %d: the runtime says: %v", seed, err)
	}
	for a := range int64(generatedMessages) {
		res, err := m.ExportedFunction("judge").Call(ctx, uint64(a))
		switch said := o.failed[a]; {
		case said != nil:
			if err == nil && !strings.Contains(said.Error(), "ran out of fuel") {
				return fmt.Sprintf("module %d: a = %d is %t, but: %v", seed, a, res[0]&1 == 1, said)
			}
		case err != nil:
			return fmt.Sprintf("module %d: a = %d was judged, but: %v", seed, a, err)
		case o.came[a] != (res[0]&1 == 1):
			return fmt.Sprintf("module %d: a = %d came: %t, want %t", seed, a, o.came[a], res[0]&1 == 1)
		}
	}
	return ""
}
