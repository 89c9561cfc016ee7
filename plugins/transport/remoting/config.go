package remoting

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// Config is the operator's view of one remoting endpoint, the section transports.remoting of broker.yaml.
type Config struct {
	// Listen is the address (host:port) of the main listener, the one that routes name. Port 0 takes any free port.
	// Default 127.0.0.1:10911.
	Listen string `yaml:"listen"`
	// FastListen is a second listener for old clients, which work its port out as the main port minus 2 without asking:
	// auto is exactly that (off when the main port is 0 or too small), off is none, anything else is an address. Both
	// listeners serve the same requests. Default auto.
	FastListen string `yaml:"fast_listen"`
	// IdleTimeout closes a connection on which nothing was read or written for so long. Clients send a heartbeat every
	// 30s. Default 120s.
	IdleTimeout time.Duration `yaml:"idle_timeout"`
	// FrameTimeout closes a connection whose peer has begun a frame and not finished it in so long. Default 30s.
	FrameTimeout time.Duration `yaml:"frame_timeout"`
	// WriteTimeout closes a connection whose peer hasn't taken a single write in so long. Default 30s.
	WriteTimeout time.Duration `yaml:"write_timeout"`
	// MaxFrame is the largest frame that is read; a peer that announces more is disconnected. RocketMQ's own limit is
	// 16MiB, which is the default and the most. It must leave room for the largest message.
	MaxFrame plugin.Size `yaml:"max_frame"`
	// MaxConnections bounds the connections of all listeners together; more are closed at once. Default 20000.
	MaxConnections int `yaml:"max_connections"`
	// MaxInflight bounds the sends of one connection that wait for their answer. Beyond it the connection isn't read.
	// Default 16384.
	MaxInflight int `yaml:"max_inflight"`
	// MaxInflightBytes bounds the frames of those sends in bytes, in the same way. Default 32MiB.
	MaxInflightBytes plugin.Size `yaml:"max_inflight_bytes"`
	// MaxPulls bounds the pulls of one connection that are held or not yet answered. More are answered with
	// SYSTEM_BUSY, which makes a client ask again after a second. Default 16384.
	MaxPulls int `yaml:"max_pulls"`
	// WriteQueue bounds the bytes that wait for a peer to read them. Beyond it the connection isn't read, and pulls are
	// answered with SYSTEM_BUSY. Default 8MiB.
	WriteQueue plugin.Size `yaml:"write_queue"`
	// SlowRequests is how many requests that may take seconds (administration, requests that are relayed to clients)
	// one connection may have under way; the next one waits, and with it the connection. Default 16.
	SlowRequests int `yaml:"slow_requests"`
	// TLS is encryption on the same ports.
	TLS TLSConfig `yaml:"tls"`
	// Region is the region name that send replies carry, for clients' message traces. Default DefaultRegion.
	Region string `yaml:"region"`
	// Trace tells clients that have message traces enabled to write them. Default true.
	Trace bool `yaml:"trace"`
}

const (
	fastAuto = "auto"
	fastOff  = "off"
	// frameMax is RocketMQ's own limit: its clients can't read more, and the length of a larger frame could be that of
	// a TLS record.
	frameMax = 16 * plugin.MiB
	frameMin = 4 * plugin.KiB
)

// defaultConfig returns a configuration with all defaults.
func defaultConfig() *Config {
	return &Config{
		Listen:           "127.0.0.1:10911",
		FastListen:       fastAuto,
		IdleTimeout:      120 * time.Second,
		FrameTimeout:     30 * time.Second,
		WriteTimeout:     30 * time.Second,
		MaxFrame:         frameMax,
		MaxConnections:   20000,
		MaxInflight:      16384,
		MaxInflightBytes: 32 * plugin.MiB,
		MaxPulls:         16384,
		WriteQueue:       8 * plugin.MiB,
		SlowRequests:     16,
		TLS:              TLSConfig{Mode: tlsPermissive, ClientAuth: clientAuthNone},
		Region:           "DefaultRegion",
		Trace:            true,
	}
}

// ListenAddress returns the configured main listener. It makes Config a transport.Advertiser.
func (c *Config) ListenAddress() string { return c.Listen }

// Validate reports every bad value at once.
func (c *Config) Validate() error {
	var errs []error
	if err := checkAddress(c.Listen); err != nil {
		errs = append(errs, plugin.Invalid("listen", "%w", err))
	}
	if c.FastListen != fastAuto && c.FastListen != fastOff {
		if err := checkAddress(c.FastListen); err != nil {
			errs = append(errs, plugin.Invalid("fast_listen", "want auto, off or an address: %w", err))
		}
	}
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"idle_timeout", c.IdleTimeout}, {"frame_timeout", c.FrameTimeout}, {"write_timeout", c.WriteTimeout}} {
		if d.v <= 0 {
			errs = append(errs, plugin.Invalid(d.key, "want a positive time, got %v", d.v))
		}
	}
	if c.MaxFrame < frameMin || c.MaxFrame > frameMax {
		errs = append(errs, plugin.Invalid("max_frame", "want %v to %v, got %v", frameMin, frameMax, c.MaxFrame))
	}
	for _, n := range []struct {
		key string
		v   int64
	}{
		{"max_connections", int64(c.MaxConnections)}, {"max_inflight", int64(c.MaxInflight)},
		{"max_inflight_bytes", int64(c.MaxInflightBytes)}, {"max_pulls", int64(c.MaxPulls)},
		{"write_queue", int64(c.WriteQueue)}, {"slow_requests", int64(c.SlowRequests)},
	} {
		if n.v < 1 {
			errs = append(errs, plugin.Invalid(n.key, "want at least 1, got %d", n.v))
		}
	}
	return errors.Join(append(errs, c.TLS.validate()...)...)
}

// fastAddress works out the address of the fast listener; empty for none.
func (c *Config) fastAddress() string {
	switch c.FastListen {
	case fastOff, "":
		return ""
	case fastAuto:
		host, port, err := net.SplitHostPort(c.Listen)
		if err != nil {
			return ""
		}
		n, err := strconv.Atoi(port)
		if err != nil || n <= 2 {
			return ""
		}
		return net.JoinHostPort(host, strconv.Itoa(n-2))
	}
	return c.FastListen
}

func checkAddress(a string) error {
	_, port, err := net.SplitHostPort(a)
	if err != nil {
		return fmt.Errorf("address %q: want host:port", a)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("address %q: want a port from 0 to 65535", a)
	}
	return nil
}
