// Package interop judges weir with the real RocketMQ: its Java clients of 4.3.0, 4.9.7 and 5.x, mqadmin, name server and broker.
package interop

import (
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/scenario"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestMain(m *testing.M) { sut.Main(m) }

func TestJava4Client(t *testing.T) {
	t.Parallel()
	scenario.Run(t, agent.Java4)
}

func TestJava5Client(t *testing.T) {
	t.Parallel()
	scenario.Run(t, agent.Java5)
}

func TestJava430Client(t *testing.T) {
	t.Parallel()
	scenario.RunOld(t, agent.JavaOld)
}
