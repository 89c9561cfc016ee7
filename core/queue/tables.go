package queue

import (
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/transport"
)

// TopicTable knows the topics. core/topic has it.
type TopicTable interface {
	// Topic returns a topic's configuration; ok is false when there is no such topic. It never creates one.
	Topic(name string) (c transport.TopicConfig, ok bool)
}

// GroupTable knows the subscription groups. core/topic has it.
type GroupTable interface {
	// Group returns a group's configuration, and creates the group when the broker creates groups on demand; ok is false
	// when there is none.
	Group(name string) (c transport.GroupConfig, ok bool)
}

// Compilers finds the compiler of an expression type. core/broker builds it from the filter plugins that run.
type Compilers interface {
	// Compiler returns the compiler that serves an expression type.
	Compiler(expressionType string) (c filter.Compiler, ok bool)
}

// CompilerMap is a Compilers made of a map from expression type to compiler.
type CompilerMap map[string]filter.Compiler

// Compiler implements Compilers.
func (m CompilerMap) Compiler(expressionType string) (filter.Compiler, bool) {
	c, ok := m[expressionType]
	return c, ok
}
