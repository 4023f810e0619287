//go:build linux

package ps

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

// cpuNames are the columns of the CPU lines in /proc/stat.
var cpuNames = [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
	"guest", "guest_nice"}

// A cpu holds how long processors spent in each mode, in seconds.
type cpu [len(cpuNames)]float64

// cpus returns the sum over all processors, and the values of each.
func (m *module) cpus() (all cpu, each []cpu, err error) {
	text, err := m.read("stat")
	if err != nil {
		return all, nil, err
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "cpu") {
			continue
		}
		var c cpu
		for i, w := range words[1:min(len(words), len(c)+1)] {
			n, err := strconv.ParseUint(w, 10, 64)
			if err != nil {
				return all, nil, fmt.Errorf("read /proc/stat: %w", err)
			}
			c[i] = float64(n) / ticks
		}
		if words[0] == "cpu" {
			all = c
		} else {
			each = append(each, c)
		}
	}
	return all, each, nil
}

func (c cpu) toMap() *data.Map {
	m := data.NewMap()
	for i, name := range cpuNames {
		m.Set(name, c[i])
	}
	return m
}

// busy returns the percentage of time that processors were busy since before.
func (c cpu) busy(before cpu) float64 {
	const idle, iowait, guest = 3, 4, 8
	total, free := 0.0, 0.0
	for i := range c {
		d := max(c[i]-before[i], 0)
		if i < guest { // user and nice include the guest times
			total += d
		}
		if i == idle || i == iowait {
			free += d
		}
	}
	if total == 0 {
		return 0
	}
	return rounded(100 * (total - free) / total)
}

// rounded returns f rounded to one decimal.
func rounded(f float64) float64 { return math.RoundToEven(f*10) / 10 }

type perArgs struct {
	PerCPU bool `name:"per_cpu" default:"False"`
}

// cpuTimes returns how many seconds the processors spent in each mode.
//
// per_cpu
//
//	True returns the values of each processor.
//
// CLI Example:
//
//	salt '*' ps.cpu_times
func (m *module) cpuTimes(_ context.Context, a perArgs) (any, error) {
	all, each, err := m.cpus()
	if err != nil {
		return nil, err
	}
	if !a.PerCPU {
		return all.toMap(), nil
	}
	list := []any{}
	for _, c := range each {
		list = append(list, c.toMap())
	}
	return list, nil
}

type percentArgs struct {
	Interval float64 `default:"0.1"`
	PerCPU   bool    `name:"per_cpu" default:"False"`
}

// cpuPercent returns the CPU usage in per cent.
//
// interval
//
//	How long to measure, in seconds.
//
// per_cpu
//
//	True returns the value of each processor.
//
// CLI Example:
//
//	salt '*' ps.cpu_percent
func (m *module) cpuPercent(ctx context.Context, a percentArgs) (any, error) {
	before, beforeEach, err := m.cpus()
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, a.Interval); err != nil {
		return nil, err
	}
	after, afterEach, err := m.cpus()
	if err != nil || !a.PerCPU {
		return after.busy(before), err
	}
	list := []any{}
	for i := range min(len(beforeEach), len(afterEach)) {
		list = append(list, afterEach[i].busy(beforeEach[i]))
	}
	return list, nil
}

// numCpus returns the number of processors.
//
// CLI Example:
//
//	salt '*' ps.num_cpus
func (m *module) numCpus(context.Context, loader.NoArgs) (any, error) {
	_, each, err := m.cpus()
	return int64(len(each)), err
}

// bootSeconds returns the boot time, in seconds since 1970.
func (m *module) bootSeconds() (int64, error) {
	text, err := m.read("stat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/stat has no line btime")
}

type bootArgs struct {
	TimeFormat any `default:"None"`
}

// bootTime returns the boot time, in seconds since 1970 or in a format of strftime.
//
// CLI Example:
//
//	salt '*' ps.boot_time
//	salt '*' ps.boot_time time_format='%c'
func (m *module) bootTime(_ context.Context, a bootArgs) (any, error) {
	seconds, err := m.bootSeconds()
	if err != nil || !data.Truth(a.TimeFormat) {
		return seconds, err
	}
	form, ok := a.TimeFormat.(string)
	if !ok {
		return nil, loader.Invocation("Invalid format string: strftime() argument 1 must be str, not %s", loader.TypeName(a.TimeFormat))
	}
	return logging.Strftime(form, time.Unix(seconds, 0)), nil
}

// memoryOf returns the values of /proc/meminfo, in bytes.
func (m *module) memoryOf() (map[string]int64, error) {
	text, err := m.read("meminfo")
	if err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(words[0], 10, 64); err == nil && n < 1<<50 {
			found[name] = n * 1024
		}
	}
	return found, nil
}

// share returns a value as a percentage of another.
func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return rounded(float64(part) / float64(whole) * 100)
}

// virtualMemory returns the memory usage, in bytes.
//
// CLI Example:
//
//	salt '*' ps.virtual_memory
func (m *module) virtualMemory(context.Context, loader.NoArgs) (any, error) {
	v, err := m.memoryOf()
	if err != nil {
		return nil, err
	}
	total, free, cached := v["MemTotal"], v["MemFree"], v["Cached"]+v["SReclaimable"]
	available, ok := v["MemAvailable"]
	if !ok || available > total {
		available = free
	}
	used := total - free - cached - v["Buffers"]
	if used < 0 {
		used = total - free
	}
	return data.NewMap("total", total, "available", available,
		"percent", share(total-available, total), "used", used, "free", free,
		"active", v["Active"], "inactive", v["Inactive"], "buffers", v["Buffers"], "cached", cached,
		"shared", v["Shmem"], "slab", v["Slab"]), nil
}

// totalPhysicalMemory returns the total memory, in bytes.
//
// CLI Example:
//
//	salt '*' ps.total_physical_memory
func (m *module) totalPhysicalMemory(context.Context, loader.NoArgs) (any, error) {
	v, err := m.memoryOf()
	return v["MemTotal"], err
}

// swapMemory returns the size and usage of the swap space, and its traffic, in bytes.
//
// CLI Example:
//
//	salt '*' ps.swap_memory
func (m *module) swapMemory(context.Context, loader.NoArgs) (any, error) {
	v, err := m.memoryOf()
	if err != nil {
		return nil, err
	}
	text, err := m.read("vmstat")
	if err != nil {
		return nil, err
	}
	moved := map[string]int64{}
	for line := range strings.Lines(text) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pages, err := strconv.ParseInt(n, 10, 64); err == nil {
			moved[name] = pages * int64(os.Getpagesize())
		}
	}
	total, free := v["SwapTotal"], v["SwapFree"]
	return data.NewMap("total", total, "used", total-free, "free", free,
		"percent", share(total-free, total), "sin", moved["pswpin"], "sout", moved["pswpout"]), nil
}
