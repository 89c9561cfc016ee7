// Package filter is the contract of filter plugins: an expression is compiled once into a Program, and a program judges
// batches of messages.
//
// A program never sees one message alone on a hot path. It gets a Batch of up to BatchMax entries and writes a verdict
// for each into bit sets, so that its cost of being called is shared and its result can be stored as a bitmap.
//
// # Four outcomes
//
// True and false need no explanation. Unknown is SQL's NULL: no match, and distinguishable for those who combine
// programs. Raise means that evaluating the expression failed for this message (RocketMQ: no match). Undecided means
// that no verdict could be formed now (a module trapped, a budget ran out); the queue does what the program's FailurePolicy
// says and never stores it.
package filter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/weirmq/weir/core/message"
	"github.com/weirmq/weir/core/plugin"
)

// BatchMax is the largest number of messages in one Batch. It is a multiple of 64.
const BatchMax = 1024

// Expression is a filter as a client or an operator wrote it.
type Expression struct {
	// Type is the language: TAG, SQL92, EXPR or WASM.
	Type string
	// Text is the expression itself. An empty text or "*" of type TAG matches everything.
	Text string
}

// The expression types of RocketMQ's protocol.
const (
	TypeTag   = "TAG"
	TypeSQL92 = "SQL92"
)

// Factory makes filter compilers.
type Factory interface {
	plugin.Factory
	// NewCompiler makes a compiler from cfg, a value of DefaultConfig's type.
	NewCompiler(set plugin.Settings, cfg any) (Compiler, error)
}

// Compiler turns expressions of the types that it knows into programs.
type Compiler interface {
	plugin.Component
	// ExpressionTypes lists the expression types that this compiler serves. Two running compilers may not share one.
	ExpressionTypes() []string
	// Compile checks and compiles e. An error is for the person who wrote the expression: it says what is wrong and
	// where. A bad expression never panics.
	Compile(ctx context.Context, e Expression) (Program, error)
}

// Key identifies what a program computes: two programs with equal keys give equal verdicts for every message.
type Key [sha256.Size]byte

// String returns the first 16 hexadecimal digits of k.
func (k Key) String() string { return hex.EncodeToString(k[:8]) }

// Needs says what a program reads, so that whoever fills batches fetches no more.
type Needs struct {
	// Record is true when the commit log record is needed at all; false when the index entry is enough.
	Record bool
	// Body is true when the body is needed; BodyMax bounds the bytes of it that are looked at, 0 for no bound.
	Body    bool
	BodyMax int
	// Properties lists the property names that are read; nil with Record set means that any may be.
	Properties []string
}

// Program is a compiled expression. It is safe for concurrent use.
type Program interface {
	// Key identifies what the program computes.
	Key() Key
	// Needs says which parts of a message are read.
	Needs() Needs
	// Pure says that the program gives the same verdict for the same stored message for ever, so that it may be kept.
	Pure() bool
	// Match judges all entries of b and sets their bits in v, which has been reset to len b. It keeps neither. An error
	// is a fault of the program as a whole: entries without a bit in v are then undecided.
	Match(ctx context.Context, b *Batch, v *Verdicts) error
	// Warnings are for the person who wrote the expression: parts that are ignored or can never match.
	Warnings() []string
	// Close frees what the program holds. No Match is running or follows.
	Close() error
}

// IndexMatcher is an optional ability of a Program: to rule entries out by the ConsumeQueue entry alone.
type IndexMatcher interface {
	// MatchIndex clears in keep the bit of every entry that can't match judging by its tags code. Bits of entries that
	// may match stay. keep has at least len(codes) bits. It reports whether the bits that are left are final, that is,
	// whether Match need not be asked about them.
	MatchIndex(codes []int64, keep []uint64) (final bool)
}

// Variant is an optional ability of a Program: to say in which dialect of its language it was written.
type Variant interface {
	Dialect() string
	// RocketMQ says whether RocketMQ's own brokers compile the same text to the same verdicts, so that the subscription may
	// be handed over to one.
	RocketMQ() bool
}

// ColumnMatcher is an optional ability of a Program: to judge messages by columns that were filled once for several
// programs.
type ColumnMatcher interface {
	// Columns lists what the program reads. Where its other methods count columns, they are these.
	Columns() []Column
	// MatchColumns judges the messages whose bits are set in want. Column i of the program is column at[i] of c; see
	// Layout.Bind. Messages that aren't sound are undecided.
	MatchColumns(c *Columns, at []int, want uint64) Word
}

// Word holds the outcomes of up to 64 messages. A judged message without a bit is false.
type Word struct{ True, Unknown, Raise, Undecided uint64 }

// Batch is a run of messages to be judged. Its bytes are borrowed: valid until Match returns.
type Batch struct {
	// Topic is that of all messages in the batch.
	Topic string
	// Queue is that of all messages in the batch.
	Queue message.QueueID
	// TagsCodes holds the tags code of each entry.
	TagsCodes []int64
	// Records holds the bytes of each commit log record, in message.Record's layout, or nil where it was not fetched. It
	// is empty when Needs().Record is false, and as long as TagsCodes otherwise.
	Records [][]byte
}

// Len returns the number of entries.
func (b *Batch) Len() int { return len(b.TagsCodes) }

// Verdicts holds the outcomes of one batch as bit sets: bit i of word i/64. An entry with a bit in none of them is false.
// True, Unknown, Raise and Undecided exclude each other. Poison is a part of Undecided: messages at which the program fails
// again and again although it judges others.
type Verdicts struct {
	True      []uint64
	Unknown   []uint64
	Raise     []uint64
	Undecided []uint64
	Poison    []uint64
}

// Reset makes v ready for n entries, all false, and reuses its memory.
func (v *Verdicts) Reset(n int) {
	words := (n + 63) / 64
	for _, s := range []*[]uint64{&v.True, &v.Unknown, &v.Raise, &v.Undecided, &v.Poison} {
		if cap(*s) < words {
			*s = make([]uint64, words)
			continue
		}
		*s = (*s)[:words]
		clear(*s)
	}
}

// SetBit sets bit i of s.
func SetBit(s []uint64, i int) { s[i>>6] |= 1 << (i & 63) }

// ClearBit clears bit i of s.
func ClearBit(s []uint64, i int) { s[i>>6] &^= 1 << (i & 63) }

// HasBit reports bit i of s.
func HasBit(s []uint64, i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
