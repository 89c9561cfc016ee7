// Package differ sends the same requests to two servers and says where the answers differ.
//
// The requests are written down in scripts, a line for each. One side is the real broker and name server of RocketMQ
// 4.9.7, the other is weir; a line has no expectation of its own, what Java answers is the expectation. Both sides start
// empty and get the same requests in the same order, so that even offsets agree. What must differ, because it is a time,
// an address or a position in the log, is put into a neutral form before the answers are compared; what may
// differ, because weir means to, is named in the script with the reason, and a reason that is not needed any more
// fails the test.
//
// A script has one statement a line. A line that begins with blanks goes on with the one before; # begins a comment.
//
//	let NAME = REQUEST         names a request, to be sent as NAME, with fields added or changed
//	REQUEST                    sends it and compares the answers
//	mutate REQUEST             sends it again and again with one field missing, empty, or nonsense
//	absent REQUEST             sends it again and again with one field missing
//	ID: REQUEST                on another connection than the one called main
//	ID& REQUEST                does not wait for the answer
//	await ID, pending ID       compares the answer of ID&; compares whether it is still missing
//	ID: inbox                  compares what else has come on that connection: requests of the server, answers to one-ways
//	ID: answer CODE REPLY      from now on answers requests CODE of the server
//	ID: close                  ends the connection
//	allow /RE/ REASON          differences of lines that match RE are known; for the rest of the script
//	may /RE/ REASON            the same, for those that hang on the time and need not occur
//	sleep DURATION             for what only time decides
//
// A request is `TARGET CODE key=value...`, its target broker or names (the name server). A value may be quoted as in
// Go. A value {a,b,,c} stands for one request with each of them, `key=~` leaves the field out. Words that begin with a
// colon change the frame: `:binary :oneway :version=0 :language=CPP :raw={...}` (the whole JSON header, in which
// OPAQUE is replaced), `:ext={...}` (extFields as they are written there), `:timeout=2s`, `:shape` (compare the members
// of bodies, not their numbers), `:nobody` (do not compare bodies). `<< TEXT` at the end is the body, `<<repeat N C`
// a long one, `<<batch FLAG|PROPERTIES|BODY;...` the records of a batch. `=> NAME=SOURCE` at the very end keeps something
// of the answer, each side for itself, for a later $NAME: `position` (of the first record), `id` (ext field msgId),
// `logof` (the position in that id), `ext.NAME`. $BROKER and $NAMES are the addresses of the servers.
package differ

import (
	"fmt"
	"strings"
)

// Side is one of the two systems.
type Side struct {
	Name   string
	Broker string // addresses
	Names  string
}

// Finding is a line whose answers differ.
type Finding struct {
	Line  int
	Label string
	Java  string
	Weir  string
}

// String shows both answers, of long ones the lines that the other has not.
func (f Finding) String() string {
	return fmt.Sprintf("%d: %s\n    java: %s\n    weir: %s", f.Line, f.Label, without(f.Java, f.Weir), without(f.Weir, f.Java))
}

func without(text, other string) string {
	text, other = strings.ReplaceAll(text, "},", "},\n"), strings.ReplaceAll(other, "},", "},\n")
	known := map[string]int{}
	for _, line := range strings.Split(other, "\n") {
		known[line]++
	}
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if known[line]--; known[line] >= 0 {
			continue
		}
		if len(line) > clipped {
			line = line[:clipped] + fmt.Sprintf("... (%d bytes)", len(line))
		}
		lines = append(lines, line)
	}
	if len(lines) > mostLines {
		lines = append(lines[:mostLines], fmt.Sprintf("... (%d lines)", len(lines)))
	}
	return strings.Join(lines, "\n          ")
}

// How much of an answer is shown.
const (
	clipped   = 1200
	mostLines = 8
)

// text is what the pattern of an allowance is matched against.
func (f Finding) text() string { return f.Label + "\njava: " + f.Java + "\nweir: " + f.Weir }
