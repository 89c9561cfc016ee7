// Package plugin is the contract that all kinds of plugins share: how one is named, made, started and stopped, and what
// it is handed by the broker. The kinds themselves are in core/filter, core/auth and core/transport.
//
// There is no registration by import. Which factories exist is a value, a Set, that main passes to the broker; which of
// them run, and in which order, is the `service` list of broker.yaml.
//
// # Life cycle
//
// A factory makes a component from a decoded configuration; making it starts nothing and touches nothing outside.
// Start(ctx, host) is called once and returns when the component serves. Stop(ctx) ends it: it works without Start,
// works twice, and returns within ctx. Components stop in the reverse of the order in which they started, and a failed
// start is undone by stopping what had started.
package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirmq/weir/core/clock"
)

// Kind says which contract a plugin fulfils.
type Kind string

// The kinds of plugins. Each is a section of broker.yaml with the same name in the plural where English has one.
const (
	KindFilter    Kind = "filter"
	KindAuth      Kind = "auth"
	KindTransport Kind = "transport"
)

// Type names what a plugin is, in lower_snake_case, for example "tag" or "remoting". It is unique within a kind.
type Type string

// ID names one instance of a plugin: its type and, when there are several, a name: "wasm/geo".
type ID struct {
	Type Type
	Name string
}

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*(/[a-z0-9][a-z0-9_.-]*)?$`)

// ParseID reads "type" or "type/name".
func ParseID(s string) (ID, error) {
	if !idPattern.MatchString(s) {
		return ID{}, fmt.Errorf("plugin id %q: want type or type/name in lower case", s)
	}
	t, n, _ := strings.Cut(s, "/")
	return ID{Type: Type(t), Name: n}, nil
}

// String formats i as type or type/name.
func (i ID) String() string {
	if i.Name == "" {
		return string(i.Type)
	}
	return string(i.Type) + "/" + i.Name
}

// Stability says how much a plugin's behaviour and configuration may still change.
type Stability string

// The levels of stability. Anything below Stable is logged once at start.
const (
	Development Stability = "development"
	Beta        Stability = "beta"
	Stable      Stability = "stable"
)

// Factory makes components of one type. Kinds add the constructor: see filter.Factory, auth.Factory, transport.Factory.
type Factory interface {
	// Type names what the factory makes.
	Type() Type
	// DefaultConfig returns a new pointer to the plugin's configuration struct, filled with defaults. broker.yaml is
	// decoded on top of it with the rules of core/config; a Validate() error method, if the struct has one, is called
	// after that.
	DefaultConfig() any
	// Stability says how settled the plugin is.
	Stability() Stability
}

// Component is a thing with a life cycle. See the package comment for its rules.
type Component interface {
	// Start makes the component serve. ctx bounds the start only, not the life of the component.
	Start(ctx context.Context, host Host) error
	// Stop ends the component and waits for its goroutines, at most until ctx is done.
	Stop(ctx context.Context) error
}

// Host is what a running component may ask of the broker that runs it.
type Host interface {
	// Fatal reports a fault after which the component can't go on. The broker stops and exits non-zero.
	Fatal(id ID, err error)
}

// Settings is what the broker hands to a factory beside the plugin's own configuration. It is for code, not for
// operators. All fields are set.
type Settings struct {
	ID             ID
	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	Clock          clock.Clock
	// DataDir is a directory of this instance's own below data_dir/weir; the plugin makes it when it needs it.
	DataDir string
}

// Set is a list of factories of one kind in a fixed order, found by type.
type Set[F Factory] struct {
	list []F
}

// NewSet returns a set of the given factories. It fails when two have one type.
func NewSet[F Factory](factories ...F) (Set[F], error) {
	seen := map[Type]bool{}
	for _, f := range factories {
		if seen[f.Type()] {
			return Set[F]{}, fmt.Errorf("two plugins have the type %q", f.Type())
		}
		seen[f.Type()] = true
	}
	return Set[F]{list: factories}, nil
}

// All returns the factories in order. The slice is the set's own.
func (s Set[F]) All() []F { return s.list }

// Find returns the factory of type t.
func (s Set[F]) Find(t Type) (F, bool) {
	for _, f := range s.list {
		if f.Type() == t {
			return f, true
		}
	}
	var none F
	return none, false
}

// Types returns the types in order, as the valid choices of an error message.
func (s Set[F]) Types() []string {
	names := make([]string, len(s.list))
	for i, f := range s.list {
		names[i] = string(f.Type())
	}
	return names
}
