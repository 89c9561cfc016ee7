package remoting

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// explainListen turns a failed listen into a sentence that says what to do: who has the port, and which key changes it.
func explainListen(key, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		who := "another process has it"
		if _, port, serr := net.SplitHostPort(addr); serr == nil {
			if n, serr := strconv.Atoi(port); serr == nil {
				if h := portHolder(n); h != "" {
					who = h + " has it"
				}
			}
		}
		return fmt.Errorf("listen on %s: the port is in use, %s; stop that, or set %s to another address: %w", addr, who, key, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("listen on %s: not permitted (ports below 1024 belong to root); set %s to another address: %w", addr, key, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen on %s: no interface of this machine has that address; set %s to one that is: %w", addr, key, err)
	}
	return fmt.Errorf("listen on %s (%s): %w", addr, key, err)
}
