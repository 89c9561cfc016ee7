// Package mqf is for writing WeirMQ filters in Go.
//
// A filter is a type with two methods, handed over in an init function; main stays empty:
//
//	func init() { mqf.Run(&threshold{}) }
//	func main() {}
//
// Start is called once, with the settings as a batch of one record: slot k is the k-th setting of the manifest. Batch is
// called for every batch. Slots are numbered in the order of the manifest's props; those that NeedProp asks for in Start
// follow. One call at a time runs in an instance.
//
// Work with columns: a loop over the slices that Doubles and Ints return costs 11 ns a message. Each calls a function for
// each message, which is nicer to read and costs 41 ns: calls are dear in Go's WebAssembly.
//
// Functions for SQL92 are functions, handed over by name and number of arguments:
//
//	func init() { mqf.Functions(mqf.Func3(within), mqf.Func2(share)) }
//	func within(lat, lon float64, city string) (bool, error) { … }
//
// Build:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o filter.wasm .
//	go run github.com/weirmq/weir/sdk/guest/go/pack manifest.json filter.wasm
package mqf

// Verdict is what is said of a message.
type Verdict uint8

// The verdicts. Unknown is SQL's NULL and no match; Raise, too, which says that the message can't be judged.
const (
	False Verdict = iota
	True
	Unknown
	Raise
)

// Type is how a property is read.
type Type uint8

// The types.
const (
	Text Type = iota
	Int32
	Int64
	Double
	Boolean
)

// Status says whether there is a value of the type that was asked for.
type Status uint8

// The statuses.
const (
	Missing Status = iota
	Value
	Unparsed
)

// Filter judges batches.
type Filter interface {
	// Start gets the settings. An error's text is shown to the operator.
	Start(config *Batch) error
	// Batch says what is true, unknown or raises.
	Batch(b *Batch, v *Verdicts)
}
