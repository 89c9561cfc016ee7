package remoting

import (
	"errors"
	"testing"

	"github.com/weirmq/weir/core/plugin"
)

func TestFastAddress(t *testing.T) {
	for _, tt := range []struct{ listen, fast, want string }{
		{"127.0.0.1:10911", "auto", "127.0.0.1:10909"},
		{"[::1]:10911", "auto", "[::1]:10909"},
		{"127.0.0.1:0", "auto", ""},
		{"127.0.0.1:2", "auto", ""},
		{"127.0.0.1:10911", "off", ""},
		{"127.0.0.1:0", "0.0.0.0:7", "0.0.0.0:7"},
	} {
		c := defaultConfig()
		c.Listen, c.FastListen = tt.listen, tt.fast
		if err := c.Validate(); err != nil {
			t.Errorf("%v: %v", tt, err)
		}
		if got := c.fastAddress(); got != tt.want {
			t.Errorf("listen %s, fast_listen %s: %q, want %q", tt.listen, tt.fast, got, tt.want)
		}
	}
}

func TestValidateNamesEveryBadKey(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"listen":             func(c *Config) { c.Listen = "10911" },
		"fast_listen":        func(c *Config) { c.FastListen = "on" },
		"idle_timeout":       func(c *Config) { c.IdleTimeout = 0 },
		"frame_timeout":      func(c *Config) { c.FrameTimeout = -1 },
		"write_timeout":      func(c *Config) { c.WriteTimeout = 0 },
		"max_frame":          func(c *Config) { c.MaxFrame = 17 * plugin.MiB },
		"max_connections":    func(c *Config) { c.MaxConnections = 0 },
		"max_inflight":       func(c *Config) { c.MaxInflight = 0 },
		"max_inflight_bytes": func(c *Config) { c.MaxInflightBytes = 0 },
		"max_pulls":          func(c *Config) { c.MaxPulls = 0 },
		"write_queue":        func(c *Config) { c.WriteQueue = 0 },
		"slow_requests":      func(c *Config) { c.SlowRequests = 0 },
	} {
		c := defaultConfig()
		change(c)
		var bad *plugin.FieldError
		if err := c.Validate(); !errors.As(err, &bad) || bad.Field != key {
			t.Errorf("%s: %v", key, err)
		}
	}
	c := defaultConfig()
	c.Listen, c.MaxPulls = "x", 0
	if err := c.Validate().Error(); err != "listen: address \"x\": want host:port\nmax_pulls: want at least 1, got 0" {
		t.Errorf("both: %s", err)
	}
}
