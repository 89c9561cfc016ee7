package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/proc"
	"github.com/weirmq/weir/test/internal/repo"
)

// Kind is a client library in one version.
type Kind string

// The clients that judge weir.
const (
	Go      Kind = "go"
	Java4   Kind = "java-4.9.7"
	Java5   Kind = "java-5.5.0"
	JavaOld Kind = "java-4.3.0" // can't do what is in test/interop/java/src/newer
)

// IsJava tells whether the client is one of the Java clients, which can do more than the Go client.
func (k Kind) IsJava() bool { return k != Go }

// Need skips the test if the machine cannot run such a client.
func (k Kind) Need(t testing.TB) {
	t.Helper()
	if k.IsJava() {
		repo.NeedJava(t)
	}
}

// BinaryHeaders makes a Java client write its headers in RocketMQ's binary encoding in place of JSON.
const BinaryHeaders = "-Drocketmq.serialize.type=ROCKETMQ"

// TLS makes a client connect with TLS, to name servers and brokers alike. It is a flag of Java's; the Go client is told by one of its own.
const TLS = "-Dtls.enable=true"

func (k Kind) launch(t testing.TB, home string, lines func([]byte) bool, jvm ...string) (*proc.Process, error) {
	switch k {
	case Go:
		binary, err := goClient()
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(home, 0o755); err != nil {
			return nil, err
		}
		var args []string
		if slices.Contains(jvm, TLS) {
			args = append(args, "-tls")
		}
		return proc.Start(proc.Spec{
			Path: binary, Args: args, Dir: home, Log: filepath.Join(home, "agent.out"), OnLine: lines,
			Env: []string{"HOME=" + home, "ROCKETMQ_GO_LOG_LEVEL=warn"}, // broadcast offsets are kept under HOME
		})
	case Java4:
		return launchJava(t, javamq.Server4, "NewerAgent", home, lines, jvm...)
	case Java5:
		return launchJava(t, javamq.Client5, "NewerAgent", home, lines, jvm...)
	case JavaOld:
		// It comes with a logger of its own and without the one for which we configure the others.
		return launchJava(t, javamq.ClientOld, "Agent", home, lines, append(jvm, "-Drocketmq.client.logUseSlf4j=false")...)
	default:
		return nil, fmt.Errorf("no client %q", k)
	}
}

func launchJava(t testing.TB, set, main, home string, lines func([]byte) bool, jvm ...string) (*proc.Process, error) {
	repo.NeedJava(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	jars, err := javamq.Install(ctx, set)
	if err != nil {
		return nil, err
	}
	// Groups are balanced when the broker tells that they changed; this is for when it came too early to be of use.
	flags := append([]string{"-Drocketmq.client.rebalance.waitInterval=5000"}, javamq.QuickStart...)
	flags = append(flags, jvm...)
	return javamq.Program{Jars: jars, Home: home, Name: "agent", JVM: flags, Main: main, Lines: lines}.Start()
}

// goClient builds test/e2e/goclient, once. The binary stays in the user's cache, where Go's own cache makes the next
// build short; processes that build at the same time do not disturb each other, as the file appears by a rename.
var goClient = sync.OnceValues(func() (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	if err := repo.DependOn("test/e2e/goclient"); err != nil {
		return "", fmt.Errorf("build the Go client: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build the Go client: %w", err)
	}
	dir := filepath.Join(cache, "weir-test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build the Go client: %w", err)
	}
	fresh := filepath.Join(dir, fmt.Sprintf("goclient-%d", os.Getpid()))
	cmd := exec.Command("go", "build", "-o", fresh, ".")
	cmd.Dir = filepath.Join(root, "test", "e2e", "goclient")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the Go client: %w\n%s", err, out)
	}
	path := filepath.Join(dir, "goclient")
	return path, os.Rename(fresh, path)
})
