package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirmq/weir/core/auth"
	"github.com/weirmq/weir/core/config"
	"github.com/weirmq/weir/core/filter"
	"github.com/weirmq/weir/core/plugin"
	"github.com/weirmq/weir/core/transport"
)

var update = flag.Bool("update", false, "write the golden files")

// factory is a plugin that is only configured, never made.
type factory struct {
	typ plugin.Type
	cfg func() any
}

func (f factory) Type() plugin.Type           { return f.typ }
func (f factory) DefaultConfig() any          { return f.cfg() }
func (f factory) Stability() plugin.Stability { return plugin.Stable }

func (f factory) NewCompiler(plugin.Settings, any) (filter.Compiler, error) { return nil, nil }
func (f factory) NewAuthenticator(plugin.Settings, any) (auth.Authenticator, error) {
	return nil, nil
}
func (f factory) NewTransport(plugin.Settings, any, transport.Handlers) (transport.Transport, error) {
	return nil, nil
}

type remoting struct {
	Listen      string        `yaml:"listen" doc:"Where clients connect."`
	IdleTimeout time.Duration `yaml:"idle_timeout" doc:"Silent connections are closed after this."`
	MaxFrame    plugin.Size   `yaml:"max_frame"`
	TLS         struct {
		CertFile string `yaml:"cert_file"`
		Password string `yaml:"password" secret:"true"`
	} `yaml:"tls"`
}

func (r *remoting) Validate() error {
	var errs []error
	if r.MaxFrame < 1024 {
		errs = append(errs, plugin.Invalid("max_frame", "%s is below the 1KiB that a header may need", r.MaxFrame))
	}
	if r.TLS.CertFile == "nowhere" {
		errs = append(errs, plugin.Invalid("tls.cert_file", "no such file"))
	}
	return errors.Join(errs...)
}

type wasm struct {
	Module string            `yaml:"module"`
	Fuel   uint32            `yaml:"fuel"`
	Env    map[string]string `yaml:"env"`
}

type none struct{}

func set[F plugin.Factory](t *testing.T, fs ...F) plugin.Set[F] {
	t.Helper()
	s, err := plugin.NewSet(fs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sets(t *testing.T) config.Sets {
	return config.Sets{
		Filters: set[filter.Factory](t,
			factory{"tag", func() any { return &none{} }},
			factory{"wasm", func() any { return &wasm{Fuel: 1000} }}),
		Auth: set[auth.Factory](t, factory{"open", func() any { return &none{} }}),
		Transports: set[transport.Factory](t, factory{"remoting", func() any {
			return &remoting{Listen: "127.0.0.1:10911", IdleTimeout: 2 * time.Minute, MaxFrame: 16 * plugin.MiB}
		}}),
	}
}

// store is a section of an owner outside this package.
type store struct {
	Flush       string        `yaml:"flush" choices:"async,sync" doc:"When a send is acknowledged."`
	SegmentSize plugin.Size   `yaml:"segment_size"`
	Every       time.Duration `yaml:"flush_interval"`
	Slots       int32         `yaml:"slots"`
	Ratio       float64       `yaml:"ratio"`
	Warm        bool          `yaml:"warm"`
	Dirs        []string      `yaml:"dirs"`
}

func (s *store) Validate() error {
	if s.SegmentSize%4096 != 0 {
		return errors.New("segment_size must be a multiple of 4KiB")
	}
	return nil
}

func defaultStore() *store {
	return &store{Flush: "async", SegmentSize: plugin.GiB, Every: 500 * time.Millisecond, Slots: 5, Ratio: 0.5}
}

func options(t *testing.T, s *store, file string, env ...string) config.Options {
	return config.Options{File: file, Env: env, Plugins: sets(t),
		Sections: []config.Section{{Name: "store", Doc: "Where messages rest.", Target: s}}}
}

// TestBadFiles loads every file in testdata/bad and compares the complaints, all of them, with the .err file beside it.
// A first line "# env: A=b C=d" sets the environment.
func TestBadFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	if len(files) == 0 {
		t.Fatal("no files in testdata/bad")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			src, _ := os.ReadFile(file)
			var env []string
			if first, _, _ := strings.Cut(string(src), "\n"); strings.HasPrefix(first, "# env: ") {
				env = strings.Fields(strings.TrimPrefix(first, "# env: "))
			}
			_, err := config.Load(options(t, defaultStore(), file, env...))
			if err == nil {
				t.Fatal("loaded without an error")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update writes it anew:\n%s", file, diff)
	}
}

func TestLayers(t *testing.T) {
	st := defaultStore()
	o := options(t, st, "testdata/good/layers.yaml",
		"WEIR_STORE__FLUSH=sync", "WEIR_CLUSTER__NAMESERVERS=10.0.0.1:9876, 10.0.0.2:9876", "WEIR_DATA_DIR=/from/env",
		"WEIR_TRANSPORTS__REMOTING__LISTEN=0.0.0.0:0", "WEIR_STORE__WARM=yes", "WEIR_STORE__SLOTS=7",
		"WEIR_JAVA_DIR=/x", "WEIR_SERVICE_HOST=10.1.1.1", "WEIR_PORT_10911_TCP=tcp://x", "WEIR_COLOUR=red", "SECRET=s3cret")
	o.Flags = []config.Flag{{Name: "--data-dir", Path: "data_dir", Value: "/from/flag"}}
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DataDir != "/from/flag" || st.Flush != "sync" || st.Slots != 7 || !st.Warm || st.SegmentSize != 64*plugin.KiB || st.Every != 26*time.Hour {
		t.Errorf("layers: data_dir %q, store %+v", cfg.DataDir, *st)
	}
	if diff := cmp.Diff([]string{"10.0.0.1:9876", "10.0.0.2:9876"}, cfg.Cluster.Nameservers); diff != "" {
		t.Error(diff)
	}
	var ids []string
	for _, f := range cfg.Filters {
		ids = append(ids, f.ID.String())
	}
	if diff := cmp.Diff([]string{"wasm/geo", "tag"}, ids); diff != "" {
		t.Error(diff)
	}
	geo := cfg.Filters[0].Config.(*wasm)
	if geo.Module != "/m/geo.wasm" || geo.Fuel != 1000 || geo.Env["A"] != "b" {
		t.Errorf("wasm/geo: %+v", geo)
	}
	r := cfg.Transports[0].Config.(*remoting)
	if r.Listen != "0.0.0.0:0" || r.TLS.Password != "from a file" || r.TLS.CertFile != "s3cret-${x}" {
		t.Errorf("remoting: %+v", r)
	}
	want := []string{
		"WEIR_COLOUR is ignored: it names no setting; settings are WEIR_SECTION__KEY",
		"filters.wasm/idle is configured but doesn't run: it is not in service.filters",
	}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Error(diff)
	}
	golden(t, "testdata/good/layers.show", cfg.Show(config.ShowOptions{Origin: true}))
}

// TestShowRoundTrip loads what Show writes and expects the same values.
func TestShowRoundTrip(t *testing.T) {
	first, err := config.Load(options(t, defaultStore(), "testdata/good/layers.yaml", "SECRET=x"))
	if err != nil {
		t.Fatal(err)
	}
	shown := first.Show(config.ShowOptions{Doc: true, Origin: true})
	file := filepath.Join(t.TempDir(), "shown.yaml")
	if err := os.WriteFile(file, []byte(shown), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "secret.txt"), []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := config.Load(options(t, defaultStore(), file, "SECRET=x"))
	if err != nil {
		t.Fatalf("%v in\n%s", err, shown)
	}
	if diff := cmp.Diff(first.Show(config.ShowOptions{}), second.Show(config.ShowOptions{})); diff != "" {
		t.Error(diff)
	}
}

func TestDefaults(t *testing.T) {
	cfg, err := config.Load(config.Options{File: filepath.Join(t.TempDir(), "broker.yaml"), FileOptional: true, Plugins: sets(t)})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DataDir != "./data" || !cfg.NameServer.Enabled || cfg.NameServer.Listen != "127.0.0.1:9876" || cfg.File != "" {
		t.Errorf("defaults: %+v", cfg)
	}
	if cfg.Auth.ID.String() != "open" || len(cfg.Filters) != 1 || len(cfg.Transports) != 1 {
		t.Errorf("default service: auth %v, filters %v, transports %v", cfg.Auth.ID, cfg.Filters, cfg.Transports)
	}
}

func TestMissingFile(t *testing.T) {
	_, err := config.Load(config.Options{File: "testdata/none.yaml"})
	if err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "testdata/none.yaml") {
		t.Errorf("missing file: %v", err)
	}
}

func TestSchema(t *testing.T) {
	got, err := config.Schema(options(t, defaultStore(), ""))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/good/schema.json", string(got))
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "500ms": 500 * time.Millisecond, "72h": 72 * time.Hour, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		if got, err := config.ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "5", "d", "-1d", "1d-5h", "x", "999999999d", "1d5"} {
		if got, err := config.ParseDuration(in); err == nil {
			t.Errorf("%q: %v, want an error", in, got)
		}
	}
}

// FuzzLoad feeds anything as a file: errors are fine, panics and endless work are not.
func FuzzLoad(f *testing.F) {
	for _, glob := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		files, _ := filepath.Glob(glob)
		for _, file := range files {
			src, _ := os.ReadFile(file)
			f.Add(string(src))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Skip()
		}
		cfg, err := config.Load(options(t, defaultStore(), file))
		if err == nil {
			cfg.Show(config.ShowOptions{Origin: true})
		} else if err.Error() == "" {
			t.Error("an error without text")
		}
	})
}

// plainText is read from any plain value.
type plainText string

func (p *plainText) UnmarshalText(b []byte) error {
	if *p = plainText(b); b == nil {
		*p = "nothing"
	}
	return nil
}
func (*plainText) Plain() {}

// TestDecodeYAML reads a file that isn't the configuration, as strictly and without references.
func TestDecodeYAML(t *testing.T) {
	var v struct {
		Name  string            `yaml:"name"`
		Want  plainText         `yaml:"want"`
		List  []plainText       `yaml:"list"`
		Props map[string]string `yaml:"props"`
	}
	if err := config.DecodeYAML("x.yaml", []byte("name: a ${env:B} $${c}\nwant: true\nlist: [null, 1.50, x]\nprops: {n: \"1\"}\n"), &v); err != nil {
		t.Fatal(err)
	}
	if v.Name != "a ${env:B} $${c}" || v.Want != "true" || len(v.List) != 3 || v.List[0] != "nothing" || v.List[1] != "1.50" || v.Props["n"] != "1" {
		t.Errorf("%+v", v)
	}
	err := config.DecodeYAML("x.yaml", []byte("nam: a\nwant: [1]\nprops: {n: 1.50}\n"), &v)
	for _, want := range []string{"x.yaml:1:1: unknown key \"nam\"", "name", "x.yaml:2:7: want: want text, not a list",
		"x.yaml:3:12: props.n: want text, not the number 1.50; write it in quotes: \"1.50\""} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwithout %q", err, want)
		}
	}
}
