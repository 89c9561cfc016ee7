//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// plan is what a run does.
type plan struct {
	list   []scenario
	kinds  []string // weir, java
	rounds int
	round  time.Duration // of one measurement of sending
	warmup time.Duration // of Java's broker, before the first measurement with it
}

// sample is one measurement.
type sample struct {
	Rate      float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	CPU       float64 `json:"cpu_us"`           // of the broker for each message or entry
	Generator float64 `json:"generator_cpu_us"` // of the generator
	Others    float64 `json:"others_processors"`
	Resident  int64   `json:"resident_bytes"`
	Anonymous int64   `json:"anonymous_bytes"`
}

// comparison is what was measured of one scenario. Raw is of the bare disk.
type comparison struct {
	Scenario scenario            `json:"-"`
	Name     string              `json:"scenario"`
	Samples  map[string][]sample `json:"samples"` // by kind of broker
	Raw      []diskSample        `json:"fdatasync,omitempty"`
}

// compare runs all scenarios. Those with one flush mode share their brokers.
func (b *bench) compare(ctx context.Context, p *plan) ([]*comparison, error) {
	var all []*comparison
	for _, sync := range []bool{false, true} {
		var list []scenario
		for _, s := range p.list {
			if s.Sync == sync {
				list = append(list, s)
			}
		}
		if len(list) == 0 {
			continue
		}
		some, err := b.compareWith(ctx, p, sync, list)
		all = append(all, some...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (b *bench) compareWith(ctx context.Context, p *plan, sync bool, list []scenario) ([]*comparison, error) {
	brokers := make([]*broker, 0, len(p.kinds))
	defer func() {
		for _, br := range brokers {
			br.stop()
		}
	}()
	for _, kind := range p.kinds {
		br, err := b.start(ctx, kind, sync)
		if err != nil {
			return nil, err
		}
		brokers = append(brokers, br)
		if err := b.warm(ctx, p, br, list); err != nil {
			return nil, err
		}
	}
	var all []*comparison
	for _, s := range list {
		c, err := b.scenario(ctx, p, brokers, s)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// warm sends until Java's broker has compiled what matters; ours needs a moment at most.
func (b *bench) warm(ctx context.Context, p *plan, br *broker, list []scenario) error {
	if list[0].consumes() {
		if err := b.fill(ctx, br); err != nil {
			return err
		}
	}
	d := p.warmup
	if br.kind == "weir" {
		d = time.Second
	}
	b.log("warming %s up for %v", br.kind, d)
	for _, args := range [][]string{{"--in-flight", "256"}, {"--in-flight", "16", "--batch", "16"}, {"--sync"}} {
		if list[len(list)-1].consumes() {
			break // nothing is sent
		}
		args = append([]string{"produce", "--topic", sendTopic, "--warmup", "0s", "--duration", (d / 3).String()}, args...)
		if _, err := b.load(ctx, br, args...); err != nil {
			return err
		}
	}
	for _, s := range list {
		switch {
		case br.kind == "weir":
		case s.Own:
			if err := b.warmOwn(ctx, br, &s, d/3); err != nil {
				return err
			}
		case s.consumes():
			for began := time.Now(); time.Since(began) < d/3; {
				if _, err := b.load(ctx, br, s.Args...); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// warmOwn is the warm-up for what only one scenario asks for.
func (b *bench) warmOwn(ctx context.Context, br *broker, s *scenario, d time.Duration) error {
	for _, args := range [][]string{s.Before, s.sending(d)} {
		if args == nil {
			continue
		}
		if _, err := b.load(ctx, br, args...); err != nil {
			return err
		}
	}
	if s.Later {
		return b.rest(ctx, br)
	}
	return nil
}

// sending are the arguments of a scenario that doesn't consume, for a time.
func (s *scenario) sending(d time.Duration) []string {
	return append(slices.Clone(s.Args), "--warmup", "500ms", "--duration", d.String())
}

// How long a broker may go on working after its answers, and below which share of a processor it counts as resting.
const (
	restTime  = 2 * time.Minute
	restShare = 0.1
)

// rest waits until the broker has nothing to do any more, which Java's broker may not have for a minute.
func (b *bench) rest(ctx context.Context, br *broker) error {
	const step = 1500 * time.Millisecond // longer than the delay
	for began := time.Now(); time.Since(began) < restTime; {
		before, err := readTimes(br)
		if err != nil {
			return err
		}
		select {
		case <-time.After(step):
		case <-ctx.Done():
			return ctx.Err()
		}
		after, err := readTimes(br)
		if err != nil {
			return err
		}
		if after.broker-before.broker < restShare*step.Seconds() {
			b.log("%s rested after %v", br.kind, time.Since(began).Round(time.Second))
			return nil
		}
	}
	b.log("%s is busy still after %v", br.kind, restTime)
	return nil
}

// fill sends what consumers read.
func (b *bench) fill(ctx context.Context, br *broker) error {
	if br.filled {
		return nil
	}
	br.filled = true
	b.log("sending %d messages of %d bytes to %s, for the drains", fillCount, fillSize, br.kind)
	r, err := b.load(ctx, br, fillArgs()...)
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("fill %s: %d messages were refused", br.kind, r.Failed)
	}
	return err
}

// scenario measures the brokers in turn, and the disk between them where it is asked for.
func (b *bench) scenario(ctx context.Context, p *plan, brokers []*broker, s scenario) (*comparison, error) {
	c := &comparison{Scenario: s, Name: s.Name, Samples: map[string][]sample{}}
	var raw *rawDisk
	if s.Raw {
		var err error
		if raw, err = openRawDisk(b.dir); err != nil {
			return nil, err
		}
		defer raw.close()
	}
	for round := range p.rounds {
		turn := slices.Clone(brokers)
		if round%2 == 1 {
			slices.Reverse(turn)
		}
		for _, br := range turn {
			if raw != nil {
				syscall.Sync()
				one, err := raw.measure(p.round / 2)
				if err != nil {
					return nil, err
				}
				c.Raw = append(c.Raw, one)
			}
			one, err := b.measure(ctx, p, br, &s)
			if err != nil {
				return nil, err
			}
			c.Samples[br.kind] = append(c.Samples[br.kind], one)
			b.log("%-10s %d/%d %-4s  %.0f/s  p50 %.0f µs  p99 %.0f µs  %.2f µs CPU  others used %.2f processors", s.Name, round+1, p.rounds,
				br.kind, one.Rate, one.P50, one.P99, one.CPU, one.Others)
		}
	}
	return c, nil
}

// measure takes one sample. What earlier ones wrote is on the disk before it begins.
func (b *bench) measure(ctx context.Context, p *plan, br *broker, s *scenario) (sample, error) {
	if !s.consumes() {
		if err := b.renew(ctx, br); err != nil {
			return sample{}, err
		}
	}
	if s.Before != nil {
		if _, err := b.load(ctx, br, s.Before...); err != nil {
			return sample{}, err
		}
	}
	syscall.Sync()
	before, err := readTimes(br)
	if err != nil {
		return sample{}, err
	}
	args := s.Args
	if !s.consumes() {
		args = s.sending(p.round)
	}
	r, err := b.load(ctx, br, args...)
	if err != nil {
		return sample{}, err
	}
	if r.Failed > 0 {
		return sample{}, fmt.Errorf("%s: %d messages failed at %s", s.Name, r.Failed, br.kind)
	}
	after, err := readTimes(br)
	if err != nil {
		return sample{}, err
	}
	one := sample{Rate: r.Rate, P50: r.Latency.P50, P99: r.Latency.P99, CPU: r.Broker.PerMessage, Generator: r.Client.PerMessage,
		Resident: r.Broker.Resident, Anonymous: anonymous(br.process.Pid()), Others: after.others(before, r.generator)}
	if s.Later {
		if err := b.rest(ctx, br); err != nil {
			return sample{}, err
		}
	}
	if s.Entries {
		one.Rate, one.CPU, one.Generator = r.EntriesRate, r.Broker.PerEntry, r.Client.PerEntry
	}
	return one, nil
}

// median is the middle of list, or of its two middle values.
func median[T int64 | float64](list []T) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Clone(list)
	slices.Sort(s)
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

// medians takes that of each figure by itself.
func medians(list []sample) sample {
	of := func(f func(*sample) float64) float64 {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = f(&list[i])
		}
		return median(values)
	}
	return sample{
		Rate: of(func(s *sample) float64 { return s.Rate }), P50: of(func(s *sample) float64 { return s.P50 }),
		P99: of(func(s *sample) float64 { return s.P99 }), CPU: of(func(s *sample) float64 { return s.CPU }),
		Generator: of(func(s *sample) float64 { return s.Generator }), Others: of(func(s *sample) float64 { return s.Others }),
		Resident:  int64(of(func(s *sample) float64 { return float64(s.Resident) })),
		Anonymous: int64(of(func(s *sample) float64 { return float64(s.Anonymous) })),
	}
}
