package transaction

import (
	"errors"
	"fmt"
	"time"
)

// Config is the `transactions` section of broker.yaml.
type Config struct {
	// Enabled lets producers send transactional messages. Off, they are refused, and those that are there already are still ended and checked. Default true.
	Enabled bool `yaml:"enabled"`
	// Timeout is how old an undecided message is before its producer is asked, unless it says so itself (property
	// CHECK_IMMUNITY_TIME_IN_SECONDS). Default 6s.
	Timeout time.Duration `yaml:"timeout"`
	// CheckInterval is how often undecided messages are looked at, and how long a producer has to answer before it is asked again. Default 60s.
	CheckInterval time.Duration `yaml:"check_interval"`
	// CheckMax is how often a producer is asked about a message before that is put aside in TRANS_CHECK_MAX_TIME_TOPIC. Default 15.
	CheckMax int `yaml:"check_max"`
}

// DefaultConfig returns RocketMQ's defaults.
func DefaultConfig() Config {
	return Config{Enabled: true, Timeout: 6 * time.Second, CheckInterval: time.Minute, CheckMax: 15}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	if c.Timeout < 0 || c.Timeout > 24*time.Hour {
		errs = append(errs, fmt.Errorf("timeout: %v is out of range, allowed are 0s to 24h", c.Timeout))
	}
	if c.CheckInterval < 100*time.Millisecond || c.CheckInterval > 24*time.Hour {
		errs = append(errs, fmt.Errorf("check_interval: %v is out of range, allowed are 100ms to 24h", c.CheckInterval))
	}
	if c.CheckMax < 1 || c.CheckMax > 1_000_000 {
		errs = append(errs, fmt.Errorf("check_max: %d is out of range, allowed are 1 to 1000000", c.CheckMax))
	}
	return errors.Join(errs...)
}
