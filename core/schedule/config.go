package schedule

import (
	"fmt"
	"time"
)

// Config is the `schedule` section of broker.yaml.
type Config struct {
	// Levels is the table of delay levels: level 1 waits as long as the first says, and so on. A message that asks for a higher level
	// than there is gets the highest. Messages that wait already keep the time of delivery that they were given; those of levels that were
	// taken away wait until the level is back. Default RocketMQ's 18.
	Levels string `yaml:"levels"`
	// SaveInterval is how often the progress of the levels is written to config/delayOffset.json. After a crash up to so much is
	// delivered twice. Default 1s.
	SaveInterval time.Duration `yaml:"save_interval"`
	// Timers lets messages wait for times of their own (TIMER_DELIVER_MS, TIMER_DELAY_MS, TIMER_DELAY_SEC, __STARTDELIVERTIME). Without it they are
	// delivered at once, as by RocketMQ 4. What waits already is delivered all the same. Default true.
	Timers bool `yaml:"timers"`
	// TimerMax is how far away such a time may be. A message that asks for more is refused. Default 960h, which is 40 days.
	TimerMax time.Duration `yaml:"timer_max"`
}

// DefaultConfig returns RocketMQ's defaults.
func DefaultConfig() Config {
	return Config{Levels: DefaultLevels, SaveInterval: time.Second, Timers: true, TimerMax: 40 * 24 * time.Hour}
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	if _, err := ParseLevels(c.Levels); err != nil {
		return fmt.Errorf("levels: %w", err)
	}
	if c.SaveInterval < 100*time.Millisecond || c.SaveInterval > time.Hour {
		return fmt.Errorf("save_interval: %v is out of range, allowed are 100ms to 1h", c.SaveInterval)
	}
	if c.TimerMax < time.Second || c.TimerMax > 10*365*24*time.Hour {
		return fmt.Errorf("timer_max: %v is out of range, allowed are 1s to 87600h", c.TimerMax)
	}
	return nil
}
