package config

// kind is what a node is.
type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

// String returns the kind in an operator's words.
func (k kind) String() string {
	switch k {
	case scalar:
		return "a value"
	case list:
		return "a list"
	case mapping:
		return "a section"
	}
	return "nothing"
}

// scalarType is what YAML takes a plain scalar for.
type scalarType uint8

const (
	text   scalarType = iota // quoted, or nothing else
	number                   // integer or float
	truth                    // true or false
	loose                    // from the environment, a flag or ${}: any type that it can be read as
)

// place is where a node was written.
type place struct {
	source       string // file name, or "environment WEIR_X", or "flag --x"
	line, column int    // 0 outside files
}

// node is one value of the configuration before it has a type. All layers are merged as nodes, so that the decoder runs
// once and every value knows where it came from.
type node struct {
	kind kind
	at   place

	text string // scalar: the value, references resolved
	raw  string // scalar: as written, when text came from references
	typ  scalarType
	bad  bool // reported already: a reference that can't be resolved

	items   []*node
	entries []entry
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    place // of the key
	value *node
}

// find returns the entry of key, or nil.
func (n *node) find(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// set puts value at path, making sections on the way. What was there is replaced, whatever it was.
func (n *node) set(path []string, value *node) {
	e := n.find(path[0])
	if e == nil {
		n.entries = append(n.entries, entry{key: path[0], at: value.at, value: &node{kind: null, at: value.at}})
		e = &n.entries[len(n.entries)-1]
	}
	if len(path) == 1 {
		e.value, e.at = value, value.at
		return
	}
	if e.value.kind != mapping {
		e.value = &node{kind: mapping, at: value.at}
	}
	e.value.set(path[1:], value)
}
