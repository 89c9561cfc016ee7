package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/plugins/filter/wasm"
)

// built is what `plugin build` has made.
type built struct {
	Module string      `json:"module"`
	Steps  []stepTaken `json:"steps"`
	*wasm.Inspection
}

// stepTaken is a step of a build.
type stepTaken struct {
	Run     []string `json:"run"`
	Skipped bool     `json:"skipped,omitempty"`
	Seconds float64  `json:"seconds"`
}

func (a *app) pluginBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build [DIR]",
		Short: "build the module of a project, put its manifest in, and look at it as a broker would",
		Long: "Build the module of a project: run the steps of its plugin.yaml, put manifest.json into what they make, and look at it as a broker\n" +
			"would, its manifest's tests included. What the toolchain says is shown as it is. Without DIR the project is the working directory.",
		Example:           "  weir plugin build geo\n  cd geo && weir plugin build -o json",
		Args:              optionalArg,
		ValidArgsFunction: completeDirs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			p, err := openProject(filepath.Clean(strings.Join(args, "")))
			if err != nil {
				return err
			}
			return a.build(ctx, p)
		},
	}
}

func (a *app) build(ctx context.Context, p *project) error {
	manifest, err := readBounded(filepath.Join(p.dir, manifestFile), 1<<20)
	if err != nil {
		return usage(err)
	}
	if _, err := wasm.ParseManifest(manifest); err != nil {
		return usage(fmt.Errorf("%s: %w", filepath.Join(p.dir, manifestFile), err))
	}
	out := &built{Module: filepath.Join(p.dir, p.Module), Steps: []stepTaken{}}
	if err := a.runSteps(ctx, p, out); err != nil {
		return err
	}
	bin, err := readBounded(filepath.Join(p.dir, p.Output), wasm.SizeMax)
	if err != nil {
		return fmt.Errorf("the steps went well, but made no output: %w", err)
	}
	if bin, err = wasm.Pack(bin, manifest); err != nil {
		return fmt.Errorf("put %s into %s: %w", manifestFile, p.Output, err)
	}
	if err := replaceFile(out.Module, bin); err != nil {
		return fmt.Errorf("write the module: %w", err)
	}
	out.Inspection = wasm.Inspect(ctx, bin)
	err = a.print(out, func() {
		fmt.Fprintf(a.stdout, "built %s\n\n", out.Module)
		a.showInspection(out.Inspection)
	})
	if err == nil && len(out.Problems) > 0 {
		err = &silent{exitFailure}
	}
	return err
}

// runSteps runs the steps of a project, and shows which. All that they write goes to standard error.
func (a *app) runSteps(ctx context.Context, p *project, out *built) error {
	env := slices.Clone(a.env)
	var shown []string
	for _, name := range sortedKeys(p.Env) {
		env = append(env, name+"="+p.Env[name])
		shown = append(shown, name+"="+p.Env[name])
	}
	if err := p.checkToolchain(ctx, env); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.dir, filepath.Dir(p.Output)), 0o755); err != nil {
		return err
	}
	for _, s := range p.Steps {
		if s.Unless != "" {
			if _, err := os.Stat(filepath.Join(p.dir, s.Unless)); err == nil {
				out.Steps = append(out.Steps, stepTaken{Run: s.Run, Skipped: true})
				continue
			}
		}
		fmt.Fprintf(a.stderr, "$ %s\n", commandLine(append(slices.Clone(shown), s.Run...)))
		began := time.Now()
		if err := a.runStep(ctx, p, env, s); err != nil {
			return err
		}
		out.Steps = append(out.Steps, stepTaken{Run: s.Run, Seconds: time.Since(began).Seconds()})
	}
	return nil
}

// runStep runs one step until it ends, or until somebody interrupts the build.
func (a *app) runStep(ctx context.Context, p *project, env []string, s buildStep) error {
	program := s.Run[0]
	if !strings.ContainsRune(program, os.PathSeparator) {
		found, err := lookPath(program, env)
		if err != nil {
			return missing(program)
		}
		program = found
	}
	cmd := exec.CommandContext(ctx, program, s.Run[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, env, a.stderr, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	done := a.tick(program)
	err := cmd.Run()
	done()
	if ctx.Err() != nil {
		return errors.New("the build was interrupted")
	}
	if err != nil {
		return fmt.Errorf("%s failed: %w; what it said stands above", filepath.Base(s.Run[0]), err)
	}
	return nil
}

// tickEvery is how long a step may be silent before a terminal is told that it still runs.
const tickEvery = 10 * time.Second

// tick tells a person at a terminal now and then that a program is at work, until the result is called.
func (a *app) tick(program string) (stop func()) {
	if !terminal(a.stderr) {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began := time.Now()
		t := time.NewTicker(tickEvery)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				fmt.Fprintf(a.stderr, "… %s has been at work for %d s\n", filepath.Base(program), int(time.Since(began).Seconds()))
			}
		}
	}()
	return func() { close(done); <-ended }
}

// commandLine writes arguments as a person would type them.
func commandLine(args []string) string {
	for i, s := range args {
		if strings.ContainsAny(s, " \t\n\"'\\$`&|;<>()*?[]#~!{}") || s == "" {
			args[i] = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return strings.Join(args, " ")
}

// replaceFile writes a file whole or not at all. One with the same bytes is left alone but for its time.
func replaceFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		now := time.Now()
		return os.Chtimes(path, now, now)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".weir-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone when all went well
	_, err = io.Copy(f, bytes.NewReader(data))
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
