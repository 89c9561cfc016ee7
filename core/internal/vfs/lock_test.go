//go:build unix

package vfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirmq/weir/core/internal/vfs"
)

// helperEnv makes the test binary lock a file, as another process, instead of running tests.
const helperEnv = "WEIR_TEST_LOCK_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(helperEnv); path != "" {
		holdLock(path)
		return
	}
	os.Exit(m.Run())
}

// holdLock is the other process: it prints how locking went and holds the lock until its input ends.
func holdLock(path string) {
	l, err := vfs.OS{}.Lock(path)
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("held by", os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = l.Close()
}

// other is another process that tries to take a lock.
type other struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	said  string // its first line
}

func start(t *testing.T, cmd *exec.Cmd) *other {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said %q: %v, %v", cmd.Path, line, err, cmd.Wait())
	}
	o := &other{t: t, cmd: cmd, stdin: stdin, said: strings.TrimSpace(line)}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	return o
}

func (o *other) stop() {
	o.t.Helper()
	must(o.t, o.stdin.Close())
	must(o.t, o.cmd.Wait())
}

func startGo(t *testing.T, path string) *other {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+path)
	return start(t, cmd)
}

func startJava(t *testing.T, path string) *other {
	java, err := exec.LookPath("java")
	if err != nil {
		if os.Getenv("WEIR_REQUIRE_ALL") == "1" {
			t.Fatal("java is not on the PATH")
		}
		t.Skip("java is not on the PATH: whether a Java broker sees our lock cannot be shown")
	}
	return start(t, exec.Command(java, "testdata/Lock.java", path))
}

func TestLockWithinOneProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	l, err := vfs.OS{}.Lock(path)
	must(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "lock"))
	must(t, err)
	if string(content) != "lock" {
		t.Fatalf("the file holds %q", content)
	}
	must(t, os.Symlink(dir, filepath.Join(dir, "elsewhere")))
	for _, p := range []string{path, filepath.Join(dir, "elsewhere", "lock")} {
		_, err := vfs.OS{}.Lock(p)
		var locked *vfs.LockedError
		if !errors.Is(err, vfs.ErrLocked) || !errors.As(err, &locked) || !locked.Self || locked.PID != os.Getpid() {
			t.Fatalf("second lock of %s: %v", p, err)
		}
		want := "lock " + p + ": this process holds it already; close the store that uses this directory first"
		if err.Error() != want {
			t.Fatalf("error %q, want %q", err, want)
		}
	}
	must(t, l.Close())
	must(t, l.Close())
	again, err := vfs.OS{}.Lock(path)
	must(t, err)
	must(t, again.Close())
	if _, err := (vfs.OS{}).Lock(filepath.Join(dir, "missing", "lock")); !errors.Is(err, vfs.ErrNotExist) {
		t.Fatalf("lock in a missing directory: %v", err)
	}
}

func TestLockBetweenProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	o := startGo(t, path)
	if want := fmt.Sprintf("held by %d", o.cmd.Process.Pid); o.said != want {
		t.Fatalf("the other process said %q", o.said)
	}
	_, err := vfs.OS{}.Lock(path)
	want := fmt.Sprintf("lock %s: process %d holds it; stop that broker or choose another data directory", path, o.cmd.Process.Pid)
	if !errors.Is(err, vfs.ErrLocked) || err.Error() != want {
		t.Fatalf("error %v, want %q", err, want)
	}
	o.stop()
	l, err := vfs.OS{}.Lock(path)
	must(t, err)
	defer l.Close()
	if o := startGo(t, path); !strings.Contains(o.said, fmt.Sprintf("process %d holds it", os.Getpid())) {
		t.Fatalf("the other process said %q", o.said)
	}
}

// TestLockAfterKill shows that a killed process leaves no lock behind.
func TestLockAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	o := startGo(t, path)
	must(t, o.cmd.Process.Kill())
	_ = o.cmd.Wait()
	l, err := vfs.OS{}.Lock(path)
	must(t, err)
	must(t, l.Close())
}

func TestLockExcludesJavaAndIsExcludedByIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	o := startJava(t, path)
	if want := fmt.Sprintf("held by %d", o.cmd.Process.Pid); o.said != want {
		t.Fatalf("Java said %q, want %q", o.said, want)
	}
	_, err := vfs.OS{}.Lock(path)
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d holds it", o.cmd.Process.Pid)) {
		t.Fatalf("lock while Java holds it: %v", err)
	}
	o.stop()
	l, err := vfs.OS{}.Lock(path)
	must(t, err)
	defer l.Close()
	if o := startJava(t, path); o.said != "refused" {
		t.Fatalf("while we hold the lock Java said %q", o.said)
	}
}

func TestMemLock(t *testing.T) {
	m := vfs.NewMem(nil)
	l, err := m.Lock("/lock")
	must(t, err)
	if got := get(t, m, "/lock"); got != "lock" {
		t.Fatalf("the file holds %q", got)
	}
	if _, err := m.Lock("/lock"); !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("second lock: %v", err)
	}
	after, err := m.KillClone().Lock("/lock")
	must(t, err)
	must(t, after.Close())
	must(t, l.Close())
	l, err = m.Lock("/lock")
	must(t, err)
	must(t, l.Close())
	if _, err := m.Lock("/missing/lock"); !errors.Is(err, vfs.ErrNotExist) {
		t.Fatalf("lock in a missing directory: %v", err)
	}
}
