package expr

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr/vm"

	"github.com/weirmq/weir/core/message"
)

// outcome is what an expression, or a part of it, comes to for a message.
type outcome uint8

const (
	isFalse outcome = iota
	isTrue
	isUnknown // nil
	isRaise   // an error, which is in eval.err
)

func outcomeOf(b bool) outcome {
	if b {
		return isTrue
	}
	return isFalse
}

// part is a piece of a program in Go: it costs a call and no memory, where expr's machine would need several steps.
type part func(*eval) outcome

// code is what an expression is compiled to. It is immutable.
type code struct {
	cfg    Config
	layout *layout
	paths  []jsonPath
	chains int // of and, or and not, that may meet nil
	ops    []op

	stages []stage // one or two; a message is asked about by the second only if the first says true
}

// op is a function that a program calls: given an eval, what the program finds in that eval's environment.
type op func(*eval) func(...any) any

var (
	errWork   = errors.New("judging the message takes more work than filters.expr.work_max allows")
	errMemory = errors.New("judging the message takes more memory than filters.expr.memory_max allows")
	errNum    = errors.New("the property isn't a number")
	errInt    = errors.New("the property isn't a whole number")
	errResult = errors.New("the expression gave something else than true or false")
)

// eval runs a code on one message after the other. It is used by one goroutine at a time and reuses all its memory.
type eval struct {
	code *code
	vm   vm.VM
	env  map[string]any

	rec     message.Record // borrowed, as are the slots' and the body's bytes
	loaded  bool
	slots   []slot
	body    body
	bodyBox any
	jsons   []jsonValue
	unknown []bool // of each chain: it has met nil
	err     error

	work    int // what is left
	memory  int // what is left
	longest int // text that was seen, in bytes
}

// jsonValue is what stands at one of the paths: the bytes, and the value of the language once that was asked for.
type jsonValue struct {
	found   bool
	decoded bool
	raw     []byte // borrowed
	value   any
	err     error
}

func newEval(c *code) *eval {
	e := &eval{code: c, slots: make([]slot, len(c.layout.names)), jsons: make([]jsonValue, len(c.paths)), unknown: make([]bool, c.chains)}
	e.body.max = int(c.cfg.BodyMax)
	if slices.ContainsFunc(c.stages, func(s stage) bool { return s.program != nil }) {
		e.env = make(map[string]any, len(c.ops))
		for i, o := range c.ops {
			e.env[opName(i)] = o(e)
		}
		e.vm.MemoryBudget = uint(c.cfg.MemoryMax / valueSize)
	}
	return e
}

// judge returns the verdict for a record.
func (e *eval) judge(rec message.Record) (o outcome) {
	e.begin(rec)
	for i := range e.code.stages {
		if o = e.run(&e.code.stages[i]); o != isTrue {
			return o
		}
	}
	return o
}

// begin makes e ready for a record.
func (e *eval) begin(rec message.Record) {
	e.rec, e.loaded, e.body.read, e.bodyBox = rec, false, false, nil
	for i := range e.jsons {
		e.jsons[i] = jsonValue{}
	}
	clear(e.unknown)
	e.refill()
}

// refill gives e all work and memory that a message may take.
func (e *eval) refill() {
	e.err = nil
	e.work, e.memory, e.longest = e.code.cfg.WorkMax, int(e.code.cfg.MemoryMax), 0
}

// judgeLoaded returns the verdict for a message of which there are only the properties, which have been set, for a code
// that is a part and needs no more.
func (e *eval) judgeLoaded() outcome {
	e.loaded = true
	e.refill()
	return e.code.stages[0].part(e)
}

// release lets go of what is borrowed.
func (e *eval) release() {
	e.rec, e.body.bytes, e.bodyBox = nil, nil, nil
	e.body.source.Reset(nil)
	for i := range e.slots {
		e.slots[i].raw = nil
	}
	clear(e.jsons)
	clear(e.vm.Stack[:cap(e.vm.Stack)])
	clear(e.vm.Variables)
}

func (e *eval) fail(err error) outcome {
	e.err = err
	return isRaise
}

// slot returns a property of the message.
func (e *eval) slot(i int) *slot {
	if !e.loaded {
		e.loaded = true
		e.code.layout.load(e.rec.Properties(), e.slots)
	}
	return &e.slots[i]
}

// spend pays for work.
func (e *eval) spend(units int) error {
	if e.work -= units; e.work < 0 {
		return errWork
	}
	return nil
}

// take pays for memory.
func (e *eval) take(bytes int) error {
	if e.memory -= bytes; e.memory < 0 {
		return errMemory
	}
	return nil
}

// bodyBytes returns the body, as far as the expression sees it.
func (e *eval) bodyBytes() ([]byte, error) {
	if !e.body.read {
		e.body.load(e.rec)
	}
	return e.body.bytes, e.body.err
}

// bodyText returns the body as a value of the language.
func (e *eval) bodyText() (any, error) {
	if e.bodyBox != nil {
		return e.bodyBox, nil
	}
	b, err := e.bodyBytes()
	if err != nil {
		return nil, err
	}
	e.bodyBox = string(b)
	return e.bodyBox, nil
}

// jsonRaw returns the bytes of the value at the i-th path, nil if there is none.
func (e *eval) jsonRaw(i int) ([]byte, error) {
	j := &e.jsons[i]
	if !j.found {
		j.found = true
		j.raw, j.err = e.findJSON(e.code.paths[i])
	}
	return j.raw, j.err
}

func (e *eval) findJSON(p jsonPath) ([]byte, error) {
	b, err := e.bodyBytes()
	if err != nil {
		return nil, err
	}
	s := jsonScanner{b: b, cut: e.body.cut}
	raw, err := s.find(p)
	if spent := e.spend(s.at / 8); spent != nil {
		return nil, spent
	}
	return raw, err
}

// json returns the value at the i-th path as one of the language.
func (e *eval) json(i int) (any, error) {
	raw, err := e.jsonRaw(i)
	if raw == nil || err != nil {
		return nil, err
	}
	j := &e.jsons[i]
	if !j.decoded {
		j.decoded = true
		j.value, j.err = decodeJSON(raw, e.decoded)
	}
	return j.value, j.err
}

// decoded pays for a JSON value that takes so many bytes, of which so many are text.
func (e *eval) decoded(bytes, text int) error {
	e.longest = max(e.longest, text)
	if err := e.spend(bytes / 8); err != nil {
		return err
	}
	return e.take(bytes)
}

// seen notes the length of a text that a program may go on to work with.
func (e *eval) seen(v any) any {
	if s, ok := v.(string); ok {
		e.longest = max(e.longest, len(s))
	}
	return v
}
