package sut

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/proc"
	"github.com/weirmq/weir/test/internal/repo"
)

// The one binary for all tests of this test binary.
var binary = sync.OnceValues(buildWeir)

// buildDir is where it was built, to be removed by Main.
var buildDir string

// Main runs the tests and removes what they built. A package whose tests start brokers calls it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// WeirBinary returns the path of the weir binary under test: $WEIR_BIN, or one built now.
func WeirBinary() (string, error) { return binary() }

func buildWeir() (string, error) {
	if path := os.Getenv("WEIR_BIN"); path != "" {
		return filepath.Abs(path)
	}
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	buildDir, err = os.MkdirTemp("", "weir-bin-")
	if err != nil {
		return "", fmt.Errorf("build weir: %w", err)
	}
	if err := repo.DependOn("cmd", "core", "plugins", "sdk"); err != nil {
		return "", fmt.Errorf("build weir: %w", err)
	}
	path := filepath.Join(buildDir, "weir")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/weir")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build weir: %w\n%s", err, out)
	}
	return path, nil
}

// weir runs our broker.
type weir struct {
	broker *Broker
	binary string
	p      *proc.Process
}

func newWeir(b *Broker) (*weir, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	return &weir{broker: b, binary: path}, nil
}

func (w *weir) process() *proc.Process { return w.p }

func (w *weir) close() {}

func (w *weir) start(ctx context.Context) error {
	if c := w.broker.options.WeirConfig; c != "" {
		if err := os.WriteFile(filepath.Join(w.broker.Home(), "broker.yaml"), []byte(c), 0o600); err != nil {
			return fmt.Errorf("configure weir: %w", err)
		}
	}
	ready := proc.NewAwait("ready in ") // what serve prints once all its listeners are open
	p, err := proc.Start(proc.Spec{
		Path:   w.binary,
		Args:   []string{"serve", "--data-dir", w.broker.DataDir()},
		Env:    w.environment(),
		Dir:    w.broker.Home(), // whose broker.yaml, if any, is ours
		Log:    w.broker.Log(),
		OnLine: ready.Line,
	})
	if err != nil {
		return err
	}
	w.p = p
	if _, err := ready.Wait(ctx, p); err != nil {
		p.Kill()
		return err
	}
	return nil
}

func (w *weir) environment() []string {
	o := w.broker.options
	env := map[string]string{
		"BROKER__NAME":                 o.Name,
		"BROKER__CLUSTER":              o.Cluster,
		"STORE__FLUSH":                 o.Flush,
		"SCHEDULE__LEVELS":             delayLevels,
		"TRANSPORTS__REMOTING__LISTEN": w.broker.Addr(),
		"NAMESERVER__LISTEN":           ports.Addr(w.broker.port - 3),
	}
	if o.SegmentSize > 0 {
		env["STORE__SEGMENT_SIZE"] = fmt.Sprintf("%dKiB", o.SegmentSize/1024)
	}
	if o.QueueEntries > 0 {
		env["STORE__CONSUME_QUEUE_ENTRIES"] = fmt.Sprint(o.QueueEntries)
	}
	if o.NoAutoCreate {
		env["TOPICS__AUTO_CREATE"] = "false"
	}
	if o.NameServer != "" {
		env["NAMESERVER__ENABLED"] = "false"
		env["CLUSTER__NAMESERVERS"] = strings.ReplaceAll(o.NameServer, ";", ",")
	}
	maps.Copy(env, o.WeirSettings)
	list := make([]string, 0, len(env))
	for key, value := range env {
		list = append(list, "WEIR_"+key+"="+value)
	}
	return list
}
