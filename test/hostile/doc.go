// Package hostile offers a running broker modules that do what they can against it, and looks at what everybody else notices:
// a topic without filters must keep its latency and all of its messages, collecting garbage must not stall, memory must come
// back, and whoever filters by such a module gets the verdict that it has, or is told why there is none.
package hostile
