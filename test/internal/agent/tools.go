package agent

import (
	"testing"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/proc"
)

// Tools is a JVM that runs commands of mqadmin 4.9.7, one after the other.
type Tools struct {
	agent      *Agent
	nameServer string
}

// StartTools runs one that ends with the test, with more flags for its JVM.
func StartTools(t testing.TB, nameServer string, jvm ...string) *Tools {
	t.Helper()
	launch := func(t testing.TB, home string, lines func([]byte) bool) (*proc.Process, error) {
		return launchJava(t, javamq.Server4, "Tools", home, lines, jvm...)
	}
	a := start(t, "mqadmin", "mqadmin", launch)
	return &Tools{agent: a, nameServer: nameServer}
}

// Run runs one command and returns what it printed.
func (m *Tools) Run(t testing.TB, args ...string) string {
	t.Helper()
	var r struct {
		Output string `json:"output"`
	}
	m.agent.must(t, "mqadmin", map[string]any{"nameServer": m.nameServer, "args": args}, &r)
	return r.Output
}
