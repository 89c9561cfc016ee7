//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// machine describes where a run took place, and how quiet it was there.
type machine struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"`
	Kernel     string `json:"kernel"`
	FileSystem string `json:"file_system"`
	Go         string `json:"go"`
	LoadBefore string `json:"load_before"`
	LoadAfter  string `json:"load_after"`
}

func describe(dir string) machine {
	return machine{CPU: cpuModel(), Processors: runtime.NumCPU(), Kernel: firstLine("/proc/sys/kernel/osrelease"),
		FileSystem: fileSystem(dir), Go: runtime.Version(), LoadBefore: loadAverage()}
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "?"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "?"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loadAverage is the first two of the kernel's three.
func loadAverage() string {
	f := strings.Fields(firstLine("/proc/loadavg"))
	if len(f) < 2 {
		return "?"
	}
	return f[0] + " " + f[1]
}

// fileSystem names the kind of file system of dir. On one in memory a flush costs nothing.
func fileSystem(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "?"
	}
	names := map[int64]string{0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlayfs"}
	if name, ok := names[int64(st.Type)]; ok {
		return name
	}
	return fmt.Sprintf("%#x", st.Type)
}

// times are CPU times in seconds, at a moment.
type times struct {
	at     time.Time
	all    float64 // of all processors, those stolen by other machines included
	broker float64
}

func readTimes(br *broker) (times, error) {
	t := times{at: time.Now()}
	var err error
	if t.all, err = parseProcessors(firstLine("/proc/stat")); err != nil {
		return t, err
	}
	t.broker, err = parseProcess(firstLine(fmt.Sprintf("/proc/%d/stat", br.process.Pid())))
	return t, err
}

// others is how many processors were used since before by neither the broker nor the generator, which used so many seconds.
func (t times) others(before times, generator float64) float64 {
	used := t.all - before.all - (t.broker - before.broker) - generator
	return max(0, used/max(t.at.Sub(before.at).Seconds(), 0.01))
}

// parseProcessors sums up the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func parseProcessors(line string) (float64, error) {
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, fmt.Errorf("read /proc/stat: unexpected line %q", line)
	}
	return sumTicks(f[1], f[2], f[3], f[6], f[7], f[8])
}

// parseProcess returns user and system time from a line of /proc/PID/stat. The command in it may contain blanks.
func parseProcess(line string) (float64, error) {
	f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("read the times of a process: unexpected line %q", line)
	}
	return sumTicks(f[11], f[12])
}

// sumTicks adds times in ticks of 10 ms.
func sumTicks(list ...string) (seconds float64, err error) {
	for _, s := range list {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU times: %w", err)
		}
		seconds += v / 100
	}
	return seconds, nil
}
