package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// confirm asks a person to type a name before something is destroyed. Without a terminal to ask on, --yes is needed.
func (a *app) confirm(yes bool, what, name string) error {
	if yes {
		return nil
	}
	if !a.interactive() {
		return usage(fmt.Errorf("%s Give --yes to do it without being asked", what))
	}
	fmt.Fprintf(a.stderr, "%s\nType %s to go on: ", what, name)
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != name {
		return errors.New("nothing was changed")
	}
	return nil
}

// interactive says whether a person can be asked.
func (a *app) interactive() bool {
	f, ok := a.stdin.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && terminal(a.stderr)
}
