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

// CheckKnownTopic says whether a name that is in use already may stay in use as a topic. RocketMQ's broker doesn't look at
// the names of groups, and neither do old clients: its stores may hold "%RETRY%my.group", which CheckTopic wouldn't let in.
// Such a name has to be that of one folder, and fit into a record.
func CheckKnownTopic(name string) error {
	switch {
	case name == "":
		return refused("the topic name is empty")
	case len(name) > MaxTopicLength:
		return refused("the topic name %.24q… has %d characters, at most %d are allowed", name, len(name), MaxTopicLength)
	case name == ".", name == "..", strings.ContainsAny(name, "/\\\x00"):
		return refused("the topic name %q can't be the name of a folder", name)
	}
	return nil
}

// CheckKnownGroup is the same for a group, whose name is written into a file together with its topics'.
func CheckKnownGroup(name string) error {
	switch {
	case name == "":
		return refused("the group name is empty")
	case len(name) > MaxGroupLength:
		return refused("the group name %.24q… has %d characters, at most %d are allowed", name, len(name), MaxGroupLength)
	case strings.ContainsAny(name, "@/\\\x00"):
		return refused("the group name %q has an illegal character: none of @, /, \\ and zero is allowed", name)
	}
	return nil
}

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
	return &Error{Code: SystemError, Remark: fmt.Sprintf(format, args...)}
}

func legalNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '%' || r == '|' || r == '-' || r == '_'
}
