package telemetry

import (
	"errors"
	"net"
	"net/url"
	"time"

	"github.com/weirmq/weir/core/plugin"
)

// Config is the section `telemetry` of broker.yaml. Without a listener and an endpoint nothing is measured.
type Config struct {
	// Prometheus is where metrics are fetched.
	Prometheus Prometheus `yaml:"prometheus"`
	// OTLP is where metrics are sent.
	OTLP OTLP `yaml:"otlp"`
	// CardinalityMax is how many sets of labels one metric may have. What is above is summed up under the label
	// otel_metric_overflow.
	CardinalityMax int `yaml:"cardinality_max"`
}

// Prometheus is the part `prometheus` of the section.
type Prometheus struct {
	// Listen is the host:port at which GET /metrics answers, without authentication. RocketMQ 5 uses port 5557. Empty for
	// nowhere.
	Listen string `yaml:"listen"`
}

// OTLP is the part `otlp` of the section.
type OTLP struct {
	// Endpoint is the URL of an OpenTelemetry collector's HTTP receiver, for example http://collector:4318. Metrics are
	// posted below it at /v1/metrics. Empty sends nothing.
	Endpoint string `yaml:"endpoint"`
	// Headers are sent along, an authorization for example. Keep secrets in ${env:NAME} or ${file:PATH}: those are not shown.
	Headers map[string]string `yaml:"headers"`
	// Interval is how often metrics are sent.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one sending.
	Timeout time.Duration `yaml:"timeout"`
}

// DefaultConfig returns the configuration of a broker that doesn't set any: no metrics.
func DefaultConfig() Config {
	return Config{CardinalityMax: 50_000, OTLP: OTLP{Interval: time.Minute, Timeout: 10 * time.Second}}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	if a := c.Prometheus.Listen; a != "" {
		if _, _, err := net.SplitHostPort(a); err != nil {
			errs = append(errs, plugin.Invalid("prometheus.listen", "%q is no host:port: %w", a, err))
		}
	}
	if e := c.OTLP.Endpoint; e != "" {
		u, err := url.Parse(e)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, plugin.Invalid("otlp.endpoint", "want a URL such as http://collector:4318"))
		}
	}
	if d := c.OTLP.Interval; d < time.Second || d > time.Hour {
		errs = append(errs, plugin.Invalid("otlp.interval", "%v is out of range, allowed are 1s to 1h", d))
	}
	if d := c.OTLP.Timeout; d < 100*time.Millisecond || d > time.Minute {
		errs = append(errs, plugin.Invalid("otlp.timeout", "%v is out of range, allowed are 100ms to 1m", d))
	}
	if n := c.CardinalityMax; n < 1 || n > 1<<24 {
		errs = append(errs, plugin.Invalid("cardinality_max", "%d is out of range, allowed are 1 to %d", n, 1<<24))
	}
	return errors.Join(errs...)
}
