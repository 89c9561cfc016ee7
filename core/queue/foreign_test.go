package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

// gatedProgram is foreign. Each of its calls says that it has begun and waits to be let through.
type gatedProgram struct {
	bodyProgram
	began, leave chan struct{}
}

func (p *gatedProgram) ModuleRefs() []filter.ModuleRef {
	return []filter.ModuleRef{{Name: "m", Number: 1}}
}

func (p *gatedProgram) Match(ctx context.Context, b *filter.Batch, v *filter.Verdicts) error {
	p.began <- struct{}{}
	<-p.leave
	return p.bodyProgram.Match(ctx, b, v)
}

type gatedCompiler struct {
	plugin.Component
	p *gatedProgram
}

func (gatedCompiler) ExpressionTypes() []string { return []string{"WASM"} }
func (c gatedCompiler) Compile(context.Context, filter.Expression) (filter.Program, error) {
	return c.p, nil
}

// TestNobodyWaitsForAForeignProgram has a module judge without end while a pull is held for it. Messages arrive all the same,
// and everybody else gets them. A message that doesn't match leaves the pull held, behind it; the next one that does answers it.
func TestNobodyWaitsForAForeignProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := &gatedProgram{began: make(chan struct{}), leave: make(chan struct{})}
		p.want = []byte("yes")
		w.programs.compilers.(CompilerMap)["WASM"] = gatedCompiler{p: p}
		w.topic("T", 1)
		w.groups.set(plainGroup("g"))
		s := session(1)
		w.heartbeat(t, s, "c", consumer("g", sub("T", "*")))
		w.pulls.Start()
		defer func() {
			if err := w.pulls.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		pull := func(kind string, offset message.Offset) (*transport.Pull, *counted) {
			t.Helper()
			done := &counted{done: make(chan struct{})}
			r := &transport.Pull{Caller: transport.Caller{Session: s}, Reply: done, Group: "g", Topic: "T", Offset: offset, MaxNum: 8,
				Suspend: true, SuspendTimeout: time.Hour, HasSubscription: true, Expression: filter.Expression{Type: kind, Text: "*"}}
			w.pulls.Pull(context.Background(), r)
			return r, done
		}
		held := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := w.pulls.Held(); got != want {
				t.Fatalf("%d pulls are held, want %d", got, want)
			}
		}
		foreign, answered := pull("WASM", 0)
		_, other := pull("TAG", 0)
		held(2)
		w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "", "no")})
		<-other.done
		<-p.began
		_, other = pull("TAG", 1)
		w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "", "no")}) // the module is still busy with the first
		<-other.done
		p.leave <- struct{}{}
		synctest.Wait()
		select { // both, or the first and then the second
		case <-p.began:
			p.leave <- struct{}{}
		default:
		}
		held(1)
		w.pulls.Arrived([]message.Arrival{w.log.send("T", 0, "", "yes")})
		<-p.began
		p.leave <- struct{}{}
		<-answered.done
		if foreign.Code != message.Success || foreign.Offset != 2 || foreign.NextBeginOffset != 3 {
			t.Errorf("%v: from %d to %d", foreign.Code, foreign.Offset, foreign.NextBeginOffset)
		}
	})
}
