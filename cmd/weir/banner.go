package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirmq/weir/core/broker"
	"github.com/weirmq/weir/core/config"
)

// firstStart says whether no broker of ours has run on this directory before.
func firstStart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "weir"))
	return os.IsNotExist(err)
}

// banner says where everything is and, on the first start, what to do next. The word "ready" isn't in it: scripts wait
// for the line that follows.
func (a *app) banner(cfg *config.Config, at broker.Addresses, first bool) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.stdout, "  %-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(a.stdout, "weir %s\n", a.version)
	if cfg.File != "" {
		line("config", "%s", cfg.File)
	}
	if at.Listen != "" {
		dir, err := filepath.Abs(cfg.DataDir)
		if err != nil {
			dir = cfg.DataDir
		}
		line("data", "%s", dir)
		line("listens on", "%s", at.Listen)
		line("clients", "are told %s: %s", at.Advertised.Addr, at.Advertised.Why)
		line("", "change it with broker.advertise or WEIR_BROKER__ADVERTISE=HOST[:PORT]")
	}
	if at.NameServer != "" {
		line("name server", "%s   give this to clients", at.NameServer)
	}
	if at.Metrics != "" {
		line("metrics", "http://%s/metrics", at.Metrics)
	}
	if first && at.Listen != "" {
		flag := ""
		if at.NameServer != "" && at.NameServer != defaultNameServer {
			flag = " -n " + at.NameServer
		}
		fmt.Fprintf(a.stdout, "\nnext, in two other terminals:\n  weir tail demo%s\n  weir send demo hello%s\n\n", flag, flag)
	}
}
