// Package javamq runs the real Apache RocketMQ, from its jars on Maven Central, as the judge of what weir does.
//
// It needs Java 17 and Maven on the PATH and nothing else: what it lacks it fetches at the first use, once for all
// tests of the machine, into $WEIR_JAVA_DIR or ~/.cache/weir-java. The jars of a set are those that
// test/interop/java/SET/pom.xml names; our own programs in test/interop/java/src are compiled against them. Nothing of
// RocketMQ is kept in this repository.
//
//	cache/SET.lock            held while installing or compiling
//	cache/SET/lib/*.jar       the jars, complete once cache/SET/installed exists
//	cache/SET/classes-HASH/   our programs, named by the content of their sources
package javamq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"syscall"

	"github.com/weirmq/weir/test/internal/repo"
)

// The sets of jars, each a folder of test/interop/java.
const (
	Server4   = "4.9.7"        // broker, name server, mqadmin and client
	Client5   = "client-5.5.0" // the newest client that speaks the remoting protocol
	ClientOld = "client-4.3.0" // the oldest that is promised to work
	Filter5   = "filter-5.3.3" // the filter classes of 5.x
	Suite4    = "4.9.7-suite"  // the integration tests of 4.9.7 and what they need
)

// programs are the folders of our sources that are compiled against each set.
var programs = map[string][]string{
	Server4:   {"agent", "newer", "tools", "filter"},
	Client5:   {"agent", "newer"},
	ClientOld: {"agent"},
	Filter5:   {"filter"},
	Suite4:    {"suite"},
}

// The plugin is named with its version, or Maven would take whichever is newest today.
const copyJars = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// Jars is an installed set together with our compiled programs.
type Jars struct {
	Set     string
	lib     string
	classes string
}

// Install makes sure that the jars of a set are there and that our programs are compiled. It is at once when both were
// done before; otherwise it takes a minute, and other processes that want the same wait for it.
func Install(ctx context.Context, set string) (*Jars, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(cache, set+".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	sources := filepath.Join(root, "test", "interop", "java")
	home := filepath.Join(cache, set)
	if err := fetch(ctx, filepath.Join(sources, set, "pom.xml"), home); err != nil {
		return nil, err
	}
	classes, err := compile(ctx, home, sources, programs[set])
	if err != nil {
		return nil, err
	}
	return &Jars{Set: set, lib: filepath.Join(home, "lib"), classes: classes}, nil
}

// ClassPath is the value of java -cp.
func (j *Jars) ClassPath() string { return j.classes + ":" + filepath.Join(j.lib, "*") }

func cacheDir() (string, error) {
	dir := os.Getenv("WEIR_JAVA_DIR")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache for jars, set WEIR_JAVA_DIR: %w", err)
		}
		dir = filepath.Join(home, ".cache", "weir-java")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache for jars: %w", err)
	}
	return dir, nil
}

// lock waits for the file's lock, which the kernel frees even if its holder is killed.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache for jars: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

func fetch(ctx context.Context, pom, home string) error {
	done := filepath.Join(home, "installed")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	lib := filepath.Join(home, "lib")
	if err := os.RemoveAll(lib); err != nil {
		return fmt.Errorf("install %s: %w", pom, err)
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", pom, copyJars, "-DincludeScope=runtime", "-DoutputDirectory="+lib)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install %s, see what Maven says: %w\n%s", pom, err, out)
	}
	return os.WriteFile(done, nil, 0o644)
}

// compile builds the folders' sources into a directory named by their content.
func compile(ctx context.Context, home, sources string, folders []string) (string, error) {
	var files []string
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(sources, "src", folder, "*.java"))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	hash := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("compile: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(text), text)
	}
	classes := filepath.Join(home, "classes-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	if _, err := os.Stat(classes); err == nil {
		return classes, nil
	}
	fresh, err := os.MkdirTemp(home, "compiling-")
	if err != nil {
		return "", fmt.Errorf("compile: %w", err)
	}
	defer os.RemoveAll(fresh)
	args := append([]string{"-nowarn", "-proc:none", "-cp", filepath.Join(home, "lib", "*"), "-d", fresh}, files...)
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile test/interop/java against %s: %w\n%s", home, err, out)
	}
	if err := os.Rename(fresh, classes); err != nil {
		return "", fmt.Errorf("compile: %w", err)
	}
	return classes, nil
}
