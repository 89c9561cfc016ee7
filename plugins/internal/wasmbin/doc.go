// Package wasmbin reads and writes WebAssembly modules in their binary form: sections, and the instructions of function
// bodies. It has no dependencies and runs nothing.
//
// # What it is for
//
// The fuel pass (plugins/internal/fuel) parses what a user uploaded, checks and changes it, and encodes the result.
// Code generators build a Module and assemble bodies with Code. Tests make hostile modules the same way.
//
// # What it promises
//
// Parse accepts WebAssembly 2.0 with one thing less: at most one memory. It never panics and never takes memory out of
// proportion to its input, and its errors say at which byte of the module what is wrong. It checks structure: order and
// size of sections, counts, encodings, and that every index is in range. It doesn't check types: that is the business
// of the runtime that compiles the module. Instructions beyond WebAssembly 2.0 are refused by name.
//
// A parsed module borrows the bytes that it was parsed from, and so does everything cut out of it.
//
//	magic "\0asm" | version 1 | section*          section: id u8 | size u32 | bytes
//	type 1, import 2, function 3, table 4, memory 5, global 6, export 7, start 8, element 9, data count 12, code 10, data 11
//	custom sections, id 0, stand anywhere: name | bytes
package wasmbin
