// Package wasm filters by WebAssembly modules that users bring: the expression type WASM. A module is judged by what it
// exports and imports, metered, compiled once, and called with batches of messages. The ABI is called mqf, version 1.
//
// # Nouns
//
// A module is the file that an operator declared, known by its SHA-256, checked and compiled. A program is a module with
// a configuration. An instance is a running copy of a module: its memory and globals; one goroutine at a time uses it. A
// batch lies in an area of the guest's memory, by columns; the guest answers with three bitmaps in the same memory.
//
// # What it promises
//
// Nothing that a module does stops the broker. It has fuel for each call, counted by instructions that are written into
// it when it is loaded (see plugins/internal/fuel), a bounded stack and a bounded memory; it can reach nothing but what
// its imports name, and those are on a short list. Calls of all modules together never take the last core.
//
// When a call fails the batch is halved on fresh instances until the messages that can't be judged stand alone; the others
// keep their verdicts. What becomes of those that stand alone, the poison, is on_poison: dropped with a line in the log, unless
// the configuration says otherwise. When calls keep failing a circuit breaker opens, and everything waits, or what else
// on_open says, until a trial batch succeeds.
//
// A module that is pure by its manifest, and by what it imports, gives the same verdict for the same message everywhere
// and always. Only if the operator agrees (dispatch: true) a program says so of itself, and its verdicts may be kept. The
// promise is probed: now and then a batch is judged again, backwards, by a fresh instance, and a difference ends it.
//
// # What it costs
//
// A batch of 256 messages with six properties costs about 80 ns a message, nearly all of it to find the properties and lay
// them out; a comparison in C or Rust takes 2 to 4 ns. Judging doesn't allocate. A program holds an instance for each core that calls it.
package wasm
