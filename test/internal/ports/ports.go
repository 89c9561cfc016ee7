// Package ports finds ports for brokers under test.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports are taken from below the range out of which the kernel serves outgoing connections, so that no client's own
// port can sit on one while its broker is down.
const (
	lowest  = 15000
	highest = 30000
)

// Free returns a port that is free together with three below and two above: a broker of Java's takes the second below for its fast port and the
// next above for replication, and the others are for what stands beside it.
func Free() (int, error) {
	for range 200 {
		p := lowest + 5 + rand.IntN((highest-lowest)/10)*10
		if allFree(p-3, p-2, p-1, p, p+1, p+2) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("find free ports: none between %d and %d", lowest, highest)
}

// Must is Free for tests.
func Must(t testing.TB) int {
	t.Helper()
	p, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Addr is the port on loopback.
func Addr(port int) string { return fmt.Sprint("127.0.0.1:", port) }

func allFree(numbers ...int) bool {
	var errs []error
	for _, n := range numbers {
		l, err := net.Listen("tcp", Addr(n))
		if err == nil {
			defer l.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...) == nil
}
