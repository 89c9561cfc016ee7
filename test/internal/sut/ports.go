package sut

import (
	"errors"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range out of which the kernel serves outgoing connections, so that no client's own
// port can sit on one while its broker is down.
const (
	lowestPort  = 15000
	highestPort = 30000
)

// freePorts picks a name server port and a broker port whose neighbours are free as well.
func freePorts() (ports, error) {
	for range 200 {
		p := lowestPort + rand.IntN((highestPort-lowestPort)/5)*5
		if allFree(p, p+1, p+3, p+4) {
			return ports{nameServer: p, broker: p + 3}, nil
		}
	}
	return ports{}, errors.New("pick ports: none free between 15000 and 30000")
}

func allFree(numbers ...int) bool {
	for _, n := range numbers {
		l, err := net.Listen("tcp", addr(n))
		if err != nil {
			return false
		}
		defer l.Close()
	}
	return true
}
