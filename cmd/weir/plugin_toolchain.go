package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// installLine says how a program is installed; "" for programs that no kit needs.
func installLine(program string) string {
	switch program {
	case "cargo", "rustc":
		return "install rustup (https://rustup.rs) and run 'rustup target add wasm32-unknown-unknown', or run 'apt-get install --no-install-recommends cargo rustc libstd-rust-dev-wasm32 lld'"
	case "go":
		return "install Go 1.24 or newer: https://go.dev/dl"
	case "clang":
		return "run 'apt-get install --no-install-recommends clang lld'"
	case "wasm-ld":
		return "run 'apt-get install --no-install-recommends lld'"
	case "node", "npm":
		return "run 'apt-get install --no-install-recommends nodejs npm'"
	}
	return ""
}

// missing is the error for a program that isn't there.
func missing(program string) error {
	text := fmt.Sprintf("the toolchain isn't complete: %s isn't on the PATH", program)
	if how := installLine(program); how != "" {
		text += "; " + how
	}
	return &reason{err: exec.ErrNotFound, code: exitFailure, text: text}
}

// checkToolchain looks for what the steps need, so that a person reads what to install and not what a linker says.
func (p *project) checkToolchain(ctx context.Context, env []string) error {
	for _, s := range p.Steps {
		program := s.Run[0]
		if strings.ContainsRune(program, os.PathSeparator) {
			continue // a program of the project's own
		}
		if _, err := lookPath(program, env); err != nil {
			return missing(program)
		}
	}
	switch p.Language {
	case "rust":
		return p.checkRust(ctx, env)
	case "c":
		return p.checkLinker(ctx, env)
	case "go":
		return p.checkGo(ctx, env)
	}
	return nil
}

// lookPath finds a program on the PATH of env.
func lookPath(program string, env []string) (string, error) {
	path := ""
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil && dir != "" {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// ask runs a program of the toolchain and returns the first line that it writes; "" if it fails.
func (p *project) ask(ctx context.Context, env []string, args ...string) string {
	program, err := lookPath(args[0], env)
	if err != nil {
		return ""
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Dir, cmd.Env = p.dir, env
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return strings.TrimSpace(string(line))
}

// checkRust wants the standard library of the target. If rustc can't be asked, cargo will say what is wrong.
func (p *project) checkRust(ctx context.Context, env []string) error {
	dir := p.ask(ctx, env, "rustc", "--print", "target-libdir", "--target", "wasm32-unknown-unknown")
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	how := "run 'apt-get install --no-install-recommends libstd-rust-dev-wasm32 lld'"
	if _, err := lookPath("rustup", env); err == nil {
		how = "run 'rustup target add wasm32-unknown-unknown'"
	}
	return &reason{err: os.ErrNotExist, code: exitFailure, text: "the toolchain isn't complete: Rust's library for wasm32-unknown-unknown is missing; " + how}
}

// checkLinker wants the linker that clang will call: the package clang doesn't bring it.
func (p *project) checkLinker(ctx context.Context, env []string) error {
	name := p.ask(ctx, env, "clang", "-print-prog-name=wasm-ld")
	if name == "" || filepath.IsAbs(name) {
		return nil
	}
	if _, err := lookPath(name, env); err != nil {
		return missing("wasm-ld")
	}
	return nil
}

var goVersion = regexp.MustCompile(`^go1\.(\d+)`)

// checkGo wants a version that knows go:wasmexport.
func (p *project) checkGo(ctx context.Context, env []string) error {
	version := p.ask(ctx, env, "go", "env", "GOVERSION")
	m := goVersion.FindStringSubmatch(version)
	if m == nil {
		return nil
	}
	if minor, err := strconv.Atoi(m[1]); err == nil && minor < 24 {
		return &reason{err: os.ErrInvalid, code: exitFailure, text: fmt.Sprintf("the toolchain is too old: %s; %s", version, installLine("go"))}
	}
	return nil
}
