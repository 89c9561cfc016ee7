package main

import (
	"errors"
	"net"
	"strconv"
)

// splitAddr splits host:port and checks the port.
func splitAddr(addr string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil {
		return "", "", err
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" {
		return "", "", errors.New("want HOST:PORT")
	}
	return host, port, nil
}
