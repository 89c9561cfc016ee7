// Package fuel rewrites WebAssembly modules so that they count what they execute and stop when a budget is used up.
//
// # What it promises
//
// Inject adds two mutable i64 globals, exported as mqf_fuel and mqf_stack. Whoever calls an instance sets them before
// each call. Code that would bring one below zero traps, and leaves the negative number there, so that the caller can
// tell which budget ended. Until somebody sets them they hold what Options says: start functions run under it.
//
// Every instruction is paid for before it is executed, so the number of instructions a call executes is bounded by its
// fuel. The count is an upper bound and depends on nothing but the module and its inputs: a call that fits into its
// fuel on one machine fits on all. What a module computes is not changed in any other way.
//
//   - A charge stands at the entry of each function, at the head of each loop, and behind each block that a br_table with
//     many labels leaves to (compilers for languages with goto make one loop of a whole function and a jump table).
//     It pays for all code up to the next charge, whichever branches are taken. Small ones are added to the one before.
//   - Functions without loops whose callees are all known and alike are paid for by their callers.
//   - memory.fill, copy, init and grow, and their counterparts for tables, pay for their operand too.
//   - A function's entry pays for its locals.
//   - Functions that may be part of a recursion take the size of their frame from mqf_stack and give it back.
//
// What a module's imports cost is not counted here: the host that serves them takes it off mqf_fuel.
//
// # What it costs
//
// A fraction of a nanosecond a loop turn, about one a call, and another one for functions that may be recursive. The
// examples of the guest kits take 1.05 to 1.25 times as long in C and Rust, and 1.3 to 1.6 times in Go: BenchmarkOverhead in
// plugins/filter/wasm prints it.
//
// # What it refuses
//
// It must know every instruction to find the next one, so instructions beyond WebAssembly 2.0 are refused by name. A
// module that refers to a function, global, local or label that it doesn't have is refused too: behind its own stand
// those that Inject adds. So is a module that exports the added names.
//
// And it refuses what would take the compiler too much memory or time: see effort.
package fuel

// FuelExport and StackExport are the names of the added globals.
const (
	FuelExport  = "mqf_fuel"
	StackExport = "mqf_stack"
)

// Options are the budgets under which a module starts, and what bounds its growth.
type Options struct {
	// Fuel is the initial value of mqf_fuel, and Stack that of mqf_stack, in units of 8 bytes of frames.
	Fuel, Stack int64
	// TableMax bounds the entries that any table may grow to. 0 is no bound.
	TableMax uint32
}
