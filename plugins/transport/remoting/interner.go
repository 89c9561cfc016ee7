package remoting

// interner keeps the names that one connection uses again and again, so that a request with a known topic and group
// makes no string. It is bounded and belongs to the reader.
type interner struct{ m map[string]string }

const (
	internMax    = 512 // names kept
	internLength = 512 // bytes of the longest name kept
)

// text returns b as a string.
func (n *interner) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internLength {
		return string(b)
	}
	if s, ok := n.m[string(b)]; ok {
		return s
	}
	if n.m == nil || len(n.m) >= internMax {
		n.m = make(map[string]string)
	}
	s := string(b)
	n.m[s] = s
	return s
}
