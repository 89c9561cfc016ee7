//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/ports"
	"github.com/weirmq/weir/test/internal/proc"
)

// broker is a running broker of either kind.
type broker struct {
	kind       string // weir or java
	sync       bool
	nameServer string
	metrics    string // URL of weir's
	process    *proc.Process
	beside     *proc.Process // Java's name server
	home       string
	filled     bool
}

// bench runs brokers and the load generator.
type bench struct {
	binary string // of weir
	dir    string
	jars   *javamq.Jars // nil without Java
	jvm    []string
	log    func(format string, args ...any)

	// What brokers are started with beside the usual.
	weirEnv        []string
	weirConfig     string // path of a broker.yaml, "" for none
	javaProperties map[string]string
}

const startTime = 2 * time.Minute

// start starts a broker with an empty store.
func (b *bench) start(ctx context.Context, kind string, sync bool) (*broker, error) {
	flush := "async"
	if sync {
		flush = "sync"
	}
	home := filepath.Join(b.dir, kind+"-"+flush)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	b.log("starting %s with %s flush", kind, flush)
	if kind == "java" {
		return b.startJava(ctx, home, sync)
	}
	return b.startWeir(ctx, home, flush)
}

func (b *bench) startWeir(ctx context.Context, home, flush string) (*broker, error) {
	port, err := ports.Free()
	if err != nil {
		return nil, err
	}
	names := ports.Addr(port + 1)
	ready := proc.NewAwait("ready")
	p, err := proc.Start(proc.Spec{
		Path: b.binary, Args: b.serveArgs(home), Dir: home,
		Env: append([]string{"WEIR_STORE__FLUSH=" + flush, "WEIR_NAMESERVER__LISTEN=" + names,
			"WEIR_TRANSPORTS__REMOTING__LISTEN=" + ports.Addr(port), "WEIR_TELEMETRY__PROMETHEUS__LISTEN=" + ports.Addr(port+2)}, b.weirEnv...),
		Log: filepath.Join(home, "broker.out"), OnLine: ready.Line,
	})
	if err != nil {
		return nil, err
	}
	if _, err := ready.Wait(ctx, p); err != nil {
		p.Kill()
		return nil, err
	}
	return &broker{kind: "weir", sync: flush == "sync", nameServer: names, metrics: "http://" + ports.Addr(port+2) + "/metrics", process: p, home: home}, nil
}

func (b *bench) serveArgs(home string) []string {
	args := []string{"serve", "--data-dir", filepath.Join(home, "store")}
	if b.weirConfig != "" {
		args = append(args, "--config", b.weirConfig)
	}
	return args
}

func (b *bench) startJava(ctx context.Context, home string, sync bool) (*broker, error) {
	port, err := ports.Free()
	if err != nil {
		return nil, err
	}
	names := ports.Addr(port + 2)
	beside, err := javamq.NameServer{Jars: b.jars, Home: filepath.Join(home, "namesrv"), Port: port + 2,
		JVM: javamq.QuickStart}.Start(ctx)
	if err != nil {
		return nil, err
	}
	flush := "ASYNC_FLUSH"
	if sync {
		flush = "SYNC_FLUSH"
	}
	properties := map[string]string{"flushDiskType": flush}
	maps.Copy(properties, b.javaProperties)
	p, err := javamq.Broker{Jars: b.jars, Home: home, Store: filepath.Join(home, "store"), Name: "broker-a",
		Cluster: "DefaultCluster", Port: port, NameServer: names, JVM: b.jvm,
		Properties: properties}.Start(ctx)
	if err != nil {
		beside.Kill()
		return nil, err
	}
	return &broker{kind: "java", sync: sync, nameServer: names, process: p, beside: beside, home: home}, nil
}

// stop ends the broker. What it stored is about to be deleted, so it needn't end cleanly.
func (br *broker) stop() {
	br.process.Kill()
	if br.beside != nil {
		br.beside.Kill()
	}
}

// storeMax is the size at which weir's broker gets an empty store again.
//
// It writes a GiB in a second or two. In a virtual machine a page that the host has to find first, or again after it was
// free for a while, costs several times as much as one that was just given back, so a store that grows for the whole run
// would measure the host. Java's broker writes a fraction of that, and another start would need another warm-up.
const storeMax = 2 << 30

// renew gives weir's broker an empty store if it has grown large.
func (b *bench) renew(ctx context.Context, br *broker) error {
	if br.kind != "weir" || diskUse(br.home) < storeMax {
		return nil
	}
	br.stop()
	if err := os.RemoveAll(br.home); err != nil {
		return err
	}
	fresh, err := b.start(ctx, br.kind, br.sync)
	if err == nil {
		*br = *fresh
	}
	return err
}

// diskUse is how many bytes the files below a directory take on the disk.
func diskUse(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}

// result is the part of `weir bench -o json` that is used here.
type result struct {
	Seconds     float64 `json:"seconds"`
	Messages    int64   `json:"messages"`
	Rate        float64 `json:"messages_per_second"`
	Entries     int64   `json:"entries"`
	EntriesRate float64 `json:"entries_per_second"`
	Failed      int64   `json:"failed"`
	Latency     struct {
		P50 float64 `json:"p50_us"`
		P99 float64 `json:"p99_us"`
	} `json:"latency"`
	Broker usage `json:"broker"`
	Client usage `json:"client"`

	generator float64 // seconds of CPU time that the generator used from its start to its end
}

type usage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	PerMessage float64 `json:"cpu_us_per_message"`
	PerEntry   float64 `json:"cpu_us_per_entry"`
	Resident   int64   `json:"resident_bytes"`
}

// load runs the generator against br once.
func (b *bench) load(ctx context.Context, br *broker, args ...string) (*result, error) {
	args = append([]string{"bench"}, args...)
	args = append(args, "-n", br.nameServer, "--timeout", "20s", "--broker-pid", fmt.Sprint(br.process.Pid()), "-o", "json")
	cmd := exec.CommandContext(ctx, b.binary, args...)
	out, err := cmd.Output()
	if err != nil {
		text := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			text = string(exit.Stderr)
		}
		return nil, fmt.Errorf("weir %s against %s: %w\n%s%s", strings.Join(args, " "), br.kind, err, out, text)
	}
	r := &result{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("read the result of weir %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	r.generator = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r, nil
}
