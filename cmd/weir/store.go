package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirmq/weir/core/schedule"
	"github.com/weirmq/weir/core/store/readonly"
)

func (a *app) storeCommand() *cobra.Command {
	return group("store", "look at a store's directory, without a broker", a.storeCheckCommand())
}

// storeReport is what a RocketMQ 4.9.7 broker would make of a directory.
type storeReport struct {
	Dir    string   `json:"dir"`
	Config []string `json:"broker_conf"` // lines that its broker.conf needs
	// Problems keep it from starting.
	Problems []string `json:"problems"`
	// Timers wait in the store and aren't delivered by it.
	Timers *schedule.Census `json:"timers"`
	First  *time.Time       `json:"first_due,omitempty"`
	Last   *time.Time       `json:"last_due,omitempty"`
	Oldest *time.Time       `json:"oldest_stored,omitempty"`
	// Filters are those that it doesn't know.
	Filters []storeFilter `json:"filters"`
	Notes   []string      `json:"notes"`
}

type storeFilter struct {
	Group      string `json:"group"`
	Topic      string `json:"topic"`
	Type       string `json:"type"`
	Expression string `json:"expression"`
}

func (a *app) storeCheckCommand() *cobra.Command {
	var java bool
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "say what a RocketMQ 4.9.7 broker would make of a store",
		Long: "Say what a RocketMQ 4.9.7 broker would make of a store that weir has written: which settings it needs, what keeps it from starting, and\n" +
			"what waits in the store that it doesn't know. Nothing is written, and a broker may be running. Exit status 1 when anything would be left behind.",
		Example: "  weir store check --for-java ./data\n  weir store check --for-java ./data -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !java {
				return usage(errors.New("say --for-java: there is nothing else that a store can be checked for yet"))
			}
			dir := strings.Join(args, "")
			if dir == "" {
				cfg, err := a.load(&source{})
				if err != nil {
					return err
				}
				dir = cfg.DataDir
			}
			r, err := checkForJava(dir)
			if err != nil {
				return err
			}
			if err := a.print(r, func() { a.showStoreReport(r) }); err != nil {
				return err
			}
			if r.Timers.Waiting > 0 || len(r.Filters) > 0 || len(r.Problems) > 0 {
				return &silent{exitFailure}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&java, "for-java", false, "for going back to RocketMQ")
	return c
}

func checkForJava(dir string) (*storeReport, error) {
	if info, err := os.Stat(filepath.Join(dir, "commitlog")); err != nil || !info.IsDir() {
		return nil, notFound("%s is no store: it has no directory commitlog", dir)
	}
	s, err := readonly.Open(nil, dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	timers, err := schedule.TakeCensus(s, nil, filepath.Join(dir, "weir", "timers"))
	if err != nil {
		return nil, err
	}
	r := &storeReport{Dir: dir, Timers: timers, Problems: []string{}, Filters: []storeFilter{}, Notes: []string{}}
	if timers.Waiting > 0 {
		first, last, oldest := time.UnixMilli(timers.First), time.UnixMilli(timers.Last), time.UnixMilli(timers.Oldest)
		r.First, r.Last, r.Oldest = &first, &last, &oldest
	}
	if r.Filters, err = ownFilters(filepath.Join(dir, "weir", "filters.json")); err != nil {
		return nil, err
	}
	r.Config = append(r.Config, "storePathRootDir="+dir, "storePathCommitLog="+filepath.Join(dir, "commitlog"))
	if s.SegmentSize > 0 && s.SegmentSize != 1<<30 {
		r.Config = append(r.Config, fmt.Sprintf("mappedFileSizeCommitLog=%d", s.SegmentSize))
	}
	queueFile, err := queueFileSize(dir)
	if err != nil {
		return nil, err
	}
	if queueFile > 0 && queueFile != 6_000_000 {
		r.Config = append(r.Config, fmt.Sprintf("mappedFileSizeConsumeQueue=%d", queueFile))
	}
	if _, err := os.Stat(filepath.Join(dir, "consumequeue_ext")); err == nil {
		r.Config = append(r.Config, "enableConsumeQueueExt=true")
	}
	for _, f := range s.Strange {
		r.Problems = append(r.Problems, f+" is in the way: RocketMQ doesn't start with files in there that it doesn't know")
	}
	if s.Abort {
		r.Notes = append(r.Notes, "a broker runs on this directory, or was killed: stop it cleanly before you hand the directory over; what it stored last may not be counted here")
	}
	return r, nil
}

// queueFileSize returns the size of a file of any consume queue.
func queueFileSize(dir string) (int64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "consumequeue", "*", "*", "[0-9]*"))
	if err != nil || len(files) == 0 {
		return 0, err
	}
	info, err := os.Stat(files[0])
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ownFilters reads the filters that consumerFilter.json can't hold.
func ownFilters(path string) ([]storeFilter, error) {
	var file struct {
		Filters []storeFilter `json:"filters"`
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return []storeFilter{}, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return append([]storeFilter{}, file.Filters...), nil
}

func (a *app) showStoreReport(r *storeReport) {
	p := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	for _, n := range r.Notes {
		p("note: %s", n)
	}
	for _, problem := range r.Problems {
		p("problem: %s", problem)
	}
	p("RocketMQ 4.9.7 needs in its broker.conf:")
	for _, line := range r.Config {
		p("  %s", line)
	}
	if n := r.Timers.Waiting; n == 0 {
		p("no message waits for a time of its own")
	} else {
		p("%d messages wait for times of their own, from %s to %s:", n, r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
		for _, topic := range slices.Sorted(maps.Keys(r.Timers.Topics)) {
			p("  %-24s %d", printable(topic), r.Timers.Topics[topic])
		}
		p("  RocketMQ 4 doesn't deliver them. They stay in rmq_sys_wheel_timer until their segments are deleted; the oldest was stored at\n"+
			"  %s, and fileReservedTime is 72 hours by default. weir delivers what is left when it opens the store again.", r.Oldest.Format(time.RFC3339))
	}
	if r.Timers.Unreadable > 0 {
		p("  %d records of rmq_sys_wheel_timer can't be read", r.Timers.Unreadable)
	}
	if len(r.Filters) == 0 {
		p("it knows all filters")
		return
	}
	p("%d filters are none that it knows; their groups are refused there, or filtered by tag:", len(r.Filters))
	for _, f := range r.Filters {
		p("  group %s of %s: %s %s", printable(f.Group), printable(f.Topic), f.Type, printable(f.Expression))
	}
}
