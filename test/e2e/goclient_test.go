// Package e2e judges weir with RocketMQ's Go client, in processes of its own: see goclient, its module, and
// test/internal/scenario, what it has to be able to do.
package e2e

import (
	"testing"

	"github.com/weirmq/weir/test/internal/agent"
	"github.com/weirmq/weir/test/internal/scenario"
	"github.com/weirmq/weir/test/internal/sut"
)

func TestMain(m *testing.M) { sut.Main(m) }

func TestGoClient(t *testing.T) { scenario.Run(t, agent.Go) }
