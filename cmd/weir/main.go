// Command weir is the broker, the name server, and the tools to work with them, in one binary.
//
// Each command is in a file of its own. What a command prints for people goes through output.go, how it ends through
// exit.go; docs/cli.md is the reference.
package main

import "os"

// version is set by the build.
var version = "dev"

func main() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Environ(), version: version}
	os.Exit(a.run(os.Args[1:]))
}
