//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weirmq/weir/test/internal/repo"
)

// guests are the languages whose kit has its threshold example built in the repository.
var guests = []struct{ name, module string }{
	{"C", "sdk/guest/c/examples/threshold/threshold.wasm"},
	{"Rust", "sdk/guest/rust/examples/threshold/threshold.wasm"},
	{"AssemblyScript", "sdk/guest/assemblyscript/examples/threshold/threshold.wasm"},
}

// guestCases are filters by WebAssembly modules. RocketMQ has none: they stand beside its SQL92.
func guestCases() (list []filterCase) {
	for _, g := range guests {
		for _, part := range []struct {
			percent string
			limit   int
		}{{"0 %", 999}, {"1 %", 989}} {
			list = append(list, filterCase{name: g.name + " guest, " + part.percent, kind: "WASM", text: fmt.Sprintf("%s?property=amount&limit=%d", strings.ToLower(g.name), part.limit),
				aim: 3, beside: "two predicates, " + part.percent})
		}
	}
	return list
}

// guestConfig writes a broker.yaml that declares the guests, and returns its path.
func guestConfig(dir string) (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	names := []string{"tag", "sql92"}
	b.WriteString("filters:\n  tag: {}\n  sql92: {}\n")
	for _, g := range guests {
		name := "wasm/" + strings.ToLower(g.name)
		names = append(names, name)
		fmt.Fprintf(&b, "  %s: {path: %q, config: {limit: \"0\"}}\n", name, filepath.Join(root, g.module))
	}
	fmt.Fprintf(&b, "service:\n  filters: [%s]\n", strings.Join(names, ", "))
	path := filepath.Join(dir, "broker.yaml")
	return path, os.WriteFile(path, []byte(b.String()), 0o644)
}

// figures reads weir's metrics, summed up over their labels.
func (br *broker) figures(ctx context.Context) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, br.metrics, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	defer resp.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "{")
		at := strings.LastIndexByte(lines.Text(), ' ')
		if strings.HasPrefix(name, "#") || at < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
			sums[strings.TrimSpace(name)] += v
		}
	}
	return sums, lines.Err()
}
