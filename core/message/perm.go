package message

// Perm is what a topic or a broker allows; the bits are stored in topics.json and sent in routes.
type Perm int32

// The bits of a Perm.
const (
	PermInherit  Perm = 1 // other topics may be made after this one
	PermWrite    Perm = 2
	PermRead     Perm = 4
	PermPriority Perm = 8 // never used
	PermRW            = PermRead | PermWrite
)

// CanRead says whether consumers may pull.
func (p Perm) CanRead() bool { return p&PermRead != 0 }

// CanWrite says whether producers may send.
func (p Perm) CanWrite() bool { return p&PermWrite != 0 }

// CanInherit says whether topics may be made after this one.
func (p Perm) CanInherit() bool { return p&PermInherit != 0 }

// String formats p as RocketMQ's tools do: R, W and X (inherit) or dashes.
func (p Perm) String() string {
	b := []byte("---")
	if p.CanRead() {
		b[0] = 'R'
	}
	if p.CanWrite() {
		b[1] = 'W'
	}
	if p.CanInherit() {
		b[2] = 'X'
	}
	return string(b)
}
