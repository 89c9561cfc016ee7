package main

// defaultNameServer is asked when nothing else is said.
const defaultNameServer = "127.0.0.1:9876"

// connection says how a cluster is reached.
type connection struct{}
