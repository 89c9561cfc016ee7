//go:build linux

package main

import (
	"slices"
	"strconv"
	"strings"
)

// scenario is one way of using a broker.
type scenario struct {
	Name string // as in --only
	What string // for people
	Sync bool   // with sync flush
	// Args are the arguments of `weir bench`. Those of a consumer read what fill has sent.
	Args []string
	// Entries says that scanned entries are counted in place of messages: nearly all are filtered out.
	Entries bool
	// Before are the arguments of a load without which there is nothing to measure. It isn't counted.
	Before []string
	// Own says that the scenario asks for what no other one warms up in Java's broker.
	Own bool
	// Later says that the broker has work for a while after its answers. The next measurement waits for its end.
	Later bool
	// Raw says that the rate of fdatasync is measured with it.
	Raw bool
	// Aim is how often Java's rate is hoped for, 0 for nothing in particular.
	Aim float64
}

func (s *scenario) consumes() bool { return s.Args[0] == "consume" }

// The names of topics.
const (
	sendTopic  = "bench"
	readTopic  = "bench_read"
	retryTopic = "bench_retry"
	queryTopic = "bench_query"
)

// What fill sends: small messages, one in a thousand with the tag that the scan looks for.
const (
	fillCount = 1_000_000
	fillSize  = 256
)

func fillArgs() []string {
	return strings.Fields("produce --topic " + readTopic + " --in-flight 32 --batch 32 --tag hot --tag-share 0.1% --size " +
		strconv.Itoa(fillSize) + "B --count " + strconv.Itoa(fillCount))
}

// scenarios lists them in the order of a run.
func scenarios() []scenario {
	send := func(name, what, args string, aim float64) scenario {
		return scenario{Name: name, What: what, Args: strings.Fields("produce --topic " + sendTopic + " " + args), Aim: aim}
	}
	read := func(name, what, args string, aim float64) scenario {
		return scenario{Name: name, What: what, Args: strings.Fields("consume --topic " + readTopic + " " + args), Aim: aim}
	}
	list := []scenario{
		read("drain", "drain 256 B", "--connections 2 --rounds 2", 4),
		read("tag-scan", "drain by a tag, 1 in 1,000", "--filter hot --entries --rounds 20", 10),
		send("async-64", "send 1 KiB, 64 in flight", "--in-flight 64", 3),
		send("async-1024", "send 1 KiB, 1,024 in flight", "--in-flight 1024", 3),
		send("one", "send 1 KiB, one at a time", "--sync", 3),
		send("batch-16", "send batches of 16 × 1 KiB", "--batch 16 --in-flight 64", 3),
		send("flush-1", "sync flush, one at a time", "--sync", 0),
		send("flush-64", "sync flush, 64 in flight", "--in-flight 64", 3),
		send("tx-32", "transactions of 2 KiB, 32 in flight", "--transactions --size 2KiB --in-flight 32", 5),
		send("flush-tx-32", "sync flush, transactions of 2 KiB", "--transactions --size 2KiB --in-flight 32", 5),
		send("delay-64", "send 1 KiB delayed by 1 s", "--delay-level 1 --in-flight 64", 3),
		{Name: "retry-64", What: "give back 1 KiB for 1 s, 64 in flight", Aim: 3, Later: true,
			Args:   strings.Fields("send-back --topic " + retryTopic + " --delay-level 1 --in-flight 64"),
			Before: strings.Fields("produce --topic " + retryTopic + " --count 1000")},
		{Name: "query-16", What: "look 1 KiB up by unique key, 16 in flight", Aim: 3, Own: true,
			Args:   strings.Fields("query --topic " + queryTopic + " --in-flight 16"),
			Before: strings.Fields("produce --topic " + queryTopic + " --count 1000")},
	}
	for i := range list {
		s := &list[i]
		s.Sync = strings.HasPrefix(s.Name, "flush")
		s.Raw = s.Name == "flush-1"
		s.Later = s.Later || s.Name == "delay-64"
		s.Own = s.Own || s.Later || slices.Contains(s.Args, "--transactions")
		s.Entries = s.Name == "tag-scan"
	}
	return list
}
