package filter

import "context"

// Functions finds what expressions of one filter call in others: functions of user modules, and whole filters. core/broker
// hands one to every FunctionUser.
type Functions interface {
	// Function finds a function by the names of its module and its own. Without a module's name it must be the only one
	// of its name. The error is for the person who wrote the expression.
	Function(ctx context.Context, module, name string) (Function, error)
	// Filter makes a function of a whole filter, which has no arguments and judges the message. reference names it as an
	// expression of its own type would; settings go on top of those that the operator has given.
	Filter(ctx context.Context, reference string, settings map[string]string) (Function, error)
}

// FunctionSource is an optional ability of a Compiler: to offer functions to the expressions of others.
type FunctionSource interface {
	// Functions lists the names of the functions that there are now, and the name of the module that has them. The names
	// of sources that run at a time differ.
	Functions() (module string, names []string)
	// Function makes the function of one of those names.
	Function(ctx context.Context, name string) (Function, error)
	// ServesFilter says whether Filter knows the reference.
	ServesFilter(reference string) bool
	// Filter makes a function of the whole module.
	Filter(ctx context.Context, reference string, settings map[string]string) (Function, error)
}

// FunctionUser is an optional ability of a Compiler: to let its expressions call functions.
type FunctionUser interface {
	// UseFunctions says where functions are found. It is called before Start; what is found changes while the broker runs.
	UseFunctions(Functions)
}

// ValueKind is the kind of a function's argument or result.
type ValueKind uint8

// The kinds.
const (
	TextValue ValueKind = iota
	Int32Value
	Int64Value
	DoubleValue
	BooleanValue
)

var valueKindNames = [...]string{"text", "int32", "int64", "double", "boolean"}

// String returns the kind's name.
func (k ValueKind) String() string { return valueKindNames[k] }

// Function is a function bound to one version of one module. It is safe for concurrent use.
type Function interface {
	FailurePolicy
	Explainer
	// Name is what expressions call it; of a whole filter with the filter's name in parentheses.
	Name() string
	// Key identifies what it computes, like that of a Program.
	Key() Key
	// Pure says that it gives the same value for the same arguments for ever, so that verdicts that depend on it may be kept.
	Pure() bool
	// Needs says what of the messages is read beside the arguments.
	Needs() Needs
	// Arguments lists the kinds of the arguments, and Result is that of the value: Int64Value, DoubleValue or BooleanValue.
	Arguments() []ValueKind
	Result() ValueKind
	// Strict says that the value is unknown when an argument is missing, whatever the arguments behind it are.
	Strict() bool
	// Call computes the values for the messages whose bits are set in c.Want. An error is a fault of the caller's time or
	// context; messages without a bit in r have failed then.
	Call(ctx context.Context, c *Call, r *Values) error
	// Close frees what the function holds. No Call is running or follows.
	Close() error
}

// Call is up to 64 messages and the arguments of a function for each. Its bytes are borrowed.
type Call struct {
	Want uint64
	// Batch and First tell the messages: bit i is the entry First+i of the batch.
	Batch *Batch
	First int
	// Args are the arguments, and Kinds the kind of each.
	Args  []Argument
	Kinds []ValueKind
}

// Argument holds the values of one argument.
type Argument struct {
	// Constant says that the value of message 0 is that of all.
	Constant bool
	// Missing has the bits of messages that have no value, and Malformed of those whose text is none of the kind.
	Missing, Malformed uint64
	// Texts has the values of TextValue.
	Texts [ColumnsMax][]byte
	// Numbers has those of the other kinds: integers, the bits of doubles with one NaN, and 0 or 1.
	Numbers [ColumnsMax]int64
}

// Values are the results of a call. A message of Want is in one of the sets, or has a value: True or not for a BooleanValue,
// else Numbers, as in an Argument.
type Values struct {
	True, Unknown, Raise uint64
	// Failed messages have no value for now; Poison are those of them whose fault it is. See Verdicts.
	Failed, Poison uint64
	Numbers        [ColumnsMax]int64
}

// Reset empties v.
func (v *Values) Reset() { v.True, v.Unknown, v.Raise, v.Failed, v.Poison = 0, 0, 0, 0, 0 }

// FunctionSources is an optional ability of a Compiler: to be several sources, which come and go.
type FunctionSources interface {
	FunctionSources() []FunctionSource
}
