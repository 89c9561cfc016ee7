package message

import (
	"fmt"
	"strings"
)

const legalChars = "a-z A-Z 0-9 % | - _"

// CheckTopic says whether name may be a topic: 1 to 127 characters of a-z A-Z 0-9 % | - _. These are Java's rules,
// and they keep a name from meaning anything but one folder on disk. The error is an *Error with SystemError, as Java answers.
func CheckTopic(name string) error { return checkName("topic", name, MaxTopicLength) }

// CheckGroup says whether name may be a producer or consumer group: like CheckTopic, with up to 255 characters.
func CheckGroup(name string) error { return checkName("group", name, MaxGroupLength) }

func checkName(kind, name string, longest int) error {
	if strings.TrimSpace(name) == "" {
		return refused("the %s name is empty", kind)
	}
	if len(name) > longest {
		return refused("the %s name %.24q… has %d characters, at most %d are allowed", kind, name, len(name), longest)
	}
	for i, r := range name {
		if !legalNameRune(r) {
			return refused("the %s name %q has the illegal character %q at position %d, allowed are %s", kind, name, r, i, legalChars)
		}
	}
	return nil
}

func refused(format string, args ...any) error {
	return &Error{SystemError, fmt.Sprintf(format, args...)}
}

func legalNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '%' || r == '|' || r == '-' || r == '_'
}
