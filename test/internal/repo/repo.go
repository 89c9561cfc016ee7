// Package repo finds the repository's root and decides whether a test that needs something from outside may run.
//
// A developer without Java should still get a green `go test ./...`, so such tests skip and say why. Continuous
// integration sets WEIR_REQUIRE_ALL=1, which turns every such skip into a failure: what is not run there is not proved.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Module is the path of the main module.
const Module = "github.com/weirmq/weir"

// Root returns the directory of the main module's go.mod, found by walking up from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+Module+"\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the repository: no go.mod of " + Module + " above the working directory")
		}
		dir = parent
	}
}

// DependOn lets the result of a test depend on what is in folders of the repository. `go test` keeps results until
// something changes that it saw the test open; it doesn't see what a program reads that the test builds or runs.
func DependOn(folders ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		// Reading a directory is enough: the sizes and times of its files belong to what is compared.
		err := filepath.WalkDir(filepath.Join(root, folder), func(string, fs.DirEntry, error) error { return nil })
		if err != nil {
			return fmt.Errorf("read %s: %w", folder, err)
		}
	}
	return nil
}

// NeedTools skips the test unless every program is on the PATH.
func NeedTools(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			Missing(t, program+" is not on the PATH")
		}
	}
}

// NeedJava skips the test unless Java, its compiler and Maven are on the PATH.
func NeedJava(t testing.TB) {
	t.Helper()
	NeedTools(t, "java", "javac", "mvn")
}

// Missing skips the test for the reason given, or fails it with WEIR_REQUIRE_ALL=1.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
		t.Fatalf("%s, and WEIR_REQUIRE_ALL=1", reason)
	}
	t.Skip(reason)
}
