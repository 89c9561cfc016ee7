package client

import (
	"slices"
)

// allocate gives member me its part of the queues, as Java's AllocateMessageQueueAveragely does: members and queues in
// order, each member a run of neighbours, the first ones one more when it doesn't come out even. All members compute it
// for themselves and agree because they see the same lists.
func allocate(queues []Queue, members []string, me string) []Queue {
	members = slices.Sorted(slices.Values(members))
	at := slices.Index(members, me)
	if at < 0 || len(queues) == 0 {
		return nil
	}
	rest := len(queues) % len(members)
	size := len(queues) / len(members)
	var start int
	switch {
	case len(queues) <= len(members):
		size, start = 1, at
	case at < rest:
		size++
		start = at * size
	default:
		start = at*size + rest
	}
	if start >= len(queues) {
		return nil
	}
	return queues[start:min(start+size, len(queues))]
}
