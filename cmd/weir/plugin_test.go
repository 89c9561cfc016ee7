package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/weirmq/weir/sdk/brokertest"
)

// TestPluginCommands walks a module through its life, and looks at what people are told.
func TestPluginCommands(t *testing.T) {
	b := brokertest.Start(t, brokertest.Set("service.filters", "tag,wasm,wasm/declared"), brokertest.Set("filters.wasm.push.enabled", "true"),
		brokertest.Set("filters.wasm/declared.path", "../../sdk/guest/c/examples/threshold/threshold.wasm"))
	const guests = "../../sdk/guest/"
	text := filepath.Join(t.TempDir(), "x.wasm")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := regexp.MustCompile(`[0-9a-f]{64}`)
	for _, x := range []struct {
		args string
		code int
		want string
	}{
		{"push " + text, exitUsage, "weir: " + text + ": the module isn't valid WebAssembly 2.0"},
		{"push " + guests + "c/examples/threshold/threshold.wasm --name declared", exitFailure, "broker.yaml declares a module declared; push under another name"},
		{"push " + guests + "c/examples/threshold/threshold.wasm", exitOK, "threshold@1 on broker-a: version 1.0.0, current, sha256 HASH\n"},
		{"push " + guests + "rust/examples/threshold/threshold.wasm", exitOK, "threshold@2 on broker-a: version 1.0.0, current, sha256 HASH\n"},
		{"push --shadow --name threshold " + guests + "assemblyscript/examples/threshold/threshold.wasm", exitOK, "threshold@3 on broker-a: version 1.0.0, shadow, sha256 HASH\n"},
		{"rollback threshold", exitOK, "threshold is current now: threshold@1 on broker-a, version 1.0.0\n"},
		{"rollback threshold --to 9", exitNotFound, "there is no such module: threshold@9\nSee what there is with 'weir plugin list'."},
		{"logs threshold", exitOK, "broker-a threshold@1: is the current version; before it was 2\n"},
		{"disable threshold", exitOK, "disabled threshold on broker-a\n"},
		{"list threshold", exitOK, "state       disabled\n"},
		{"enable threshold", exitOK, "enabled threshold on broker-a\n"},
		{"list", exitOK, "threshold@3  broker-a  1.0.0    shadow "},
		{"list -o json", exitOK, `"name": "declared",`},
		{"remove threshold@2", exitUsage, "Give --yes to do it without being asked"},
		{"remove threshold@1 --yes", exitFailure, "threshold@1 is the current version; make another one current first (weir plugin rollback threshold)"},
		{"remove threshold@two --yes", exitUsage, `"threshold@two": want NAME or NAME@NUMBER`},
		{"remove threshold --yes", exitOK, "removed threshold on broker-a\n"},
		{"list threshold", exitNotFound, `there is no module "threshold" on this broker`},
		{"reload", exitOK, "broker-a: nothing has changed\n"},
		{"reload nosuch", exitNotFound, `broker.yaml declares no module "nosuch"`},
		{"list a b", exitUsage, `"b" is one argument too many`},
	} {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &out}
		code := a.run(append([]string{"plugin"}, append(strings.Fields(x.args), "-n", b.NameServer())...))
		if got := hash.ReplaceAllString(out.String(), "HASH"); code != x.code || !strings.Contains(got, x.want) {
			t.Errorf("weir plugin %s: %d\n%s\nwant %d\n%s", x.args, code, got, x.code, x.want)
		}
	}
}

// reloading is a server that counts how often it was told to look for changed modules.
type reloading struct {
	server
	told, done chan struct{}
}

func (r reloading) Done() <-chan error { return nil }
func (r reloading) ReloadModules(context.Context) ([]string, error) {
	close(r.told)
	return nil, errors.New("the module isn't valid")
}

// TestHangUp sends a server a hang-up: it looks for changed modules, and serves on until it is stopped.
func TestHangUp(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	signals, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	r := reloading{told: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if err := (&app{}).await(t.Context(), r, log, signals, hangups); err != nil {
			t.Error(err)
		}
	}()
	hangups <- syscall.SIGHUP
	<-r.told
	signals <- syscall.SIGTERM
	<-r.done
	if !strings.Contains(out.String(), `error="the module isn't valid"`) || !strings.Contains(out.String(), "msg=stopping") {
		t.Error(out.String())
	}
}
