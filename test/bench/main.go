//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weirmq/weir/test/internal/javamq"
	"github.com/weirmq/weir/test/internal/repo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "filters" {
		return runFilters(args[1:])
	}
	all := scenarios()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := f.String("only", "", "scenarios to run, by commas, of: "+strings.Join(names, " "))
	noJava := f.Bool("no-java", false, "leave Java's broker out")
	rounds := f.Int("rounds", 3, "measurements of each broker in a scenario; medians are reported")
	round := f.Duration("round", 3*time.Second, "length of one measurement of sending")
	warmup := f.Duration("java-warmup", 24*time.Second, "how long Java's broker is put under load before the first measurement")
	jvm := f.String("jvm", defaultJVM, "flags of Java's broker")
	binary := f.String("weir", "", "weir binary; the default is bin/weir of the repository")
	dir := f.String("dir", "", "directory, on a disk, for a temporary directory with stores of some ten GiB; the default is that of the system")
	output := f.String("o", "table", "table or json")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *rounds < 1 || *round < 100*time.Millisecond || *output != "table" && *output != "json" {
		return errors.New("--rounds is at least 1, --round at least 100ms, -o table or json")
	}
	p := &plan{kinds: []string{"weir", "java"}, rounds: *rounds, round: *round, warmup: *warmup}
	if *noJava {
		p.kinds = p.kinds[:1]
	}
	var err error
	if p.list, err = chosen(all, *only); err != nil {
		return err
	}
	if *binary == "" {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		*binary = filepath.Join(root, "bin", "weir")
	}
	if _, err := os.Stat(*binary); err != nil {
		return fmt.Errorf("find weir, built by 'make build': %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return compareIn(ctx, p, *binary, *dir, strings.Fields(*jvm), *output)
}

// defaultJVM is what RocketMQ's runbroker.sh sets, with a heap for a small machine.
const defaultJVM = "-Xms2g -Xmx2g -Xmn1g -XX:MaxDirectMemorySize=2g -XX:-UseSerialGC -XX:+UseG1GC -XX:G1HeapRegionSize=16m " +
	"-XX:G1ReservePercent=25 -XX:InitiatingHeapOccupancyPercent=30 -XX:SoftRefLRUPolicyMSPerMB=0"

// chosen returns the scenarios that are named, in their order, or all.
func chosen(all []scenario, names string) ([]scenario, error) {
	if names == "" {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.Name == name }) {
			return nil, fmt.Errorf("--only: there is no scenario %q", name)
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(all, func(s scenario) bool { return !wanted[s.Name] }), nil
}

// compareIn runs p in a temporary directory and prints the report.
func compareIn(ctx context.Context, p *plan, binary, parent string, jvm []string, output string) error {
	dir, err := os.MkdirTemp(parent, "weir-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	b := &bench{binary: binary, dir: dir, jvm: jvm, log: func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%4.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	if slices.Contains(p.kinds, "java") {
		if b.jars, err = javamq.Install(ctx, javamq.Server4); err != nil {
			return fmt.Errorf("%w\n(--no-java measures weir alone)", err)
		}
	}
	m := describe(dir)
	list, err := b.compare(ctx, p)
	m.LoadAfter = loadAverage()
	if len(list) > 0 { // what was measured before an error or an interrupt is worth showing
		report := func() error { return writeTable(os.Stdout, m, p.rounds, list) }
		if output == "json" {
			report = func() error { return writeJSON(os.Stdout, m, list) }
		}
		err = errors.Join(err, report())
	}
	return err
}
