//go:build linux

package ps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/loader"
)

type infoArgs struct {
	Pid   int64
	Attrs any `default:"None"`
}

// procInfo returns the attributes of a process.
//
// attrs
//
//	A list of attribute names of psutil. Default: all.
//
// CLI Example:
//
//	salt '*' ps.proc_info 2322
//	salt '*' ps.proc_info 2322 attrs='["pid", "name"]'
func (m *module) procInfo(_ context.Context, a infoArgs) (any, error) {
	p, err := m.process(a.Pid)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	known := p.attributes()
	names := make([]any, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	if list, ok := a.Attrs.([]any); ok && len(list) > 0 {
		names = list
	}
	all := data.NewMap()
	for _, name := range names {
		read, ok := known[data.Str(name)]
		if !ok {
			return nil, loader.Exception("ValueError", "invalid attr name %s", data.Repr(name))
		}
		all.Set(name, read())
	}
	return all, nil
}

// attributes returns the function that reads each attribute.
func (p *process) attributes() map[string]func() any {
	return map[string]func() any{
		"cmdline":          func() any { return p.cmdline() },
		"connections":      p.connections,
		"cpu_affinity":     p.affinity,
		"cpu_num":          func() any { return p.field(39) },
		"cpu_percent":      func() any { return 0.0 }, // there is no earlier call to compare with
		"cpu_times":        func() any { return values(p.cpuTimes()) },
		"create_time":      func() any { return p.created() },
		"cwd":              func() any { return p.link("cwd") },
		"environ":          p.environ,
		"exe":              func() any { return p.link("exe") },
		"gids":             func() any { return p.ids("Gid") },
		"io_counters":      p.ioCounters,
		"ionice":           p.ioClass,
		"memory_full_info": p.memoryFull,
		"memory_info":      func() any { return values(p.memory()) },
		"memory_maps":      p.memoryMaps,
		"memory_percent":   p.memoryPercent,
		"name":             func() any { return p.fullName() },
		"nice":             func() any { return p.field(19) },
		"num_ctx_switches": p.switches,
		"num_fds":          func() any { return p.count("fd") },
		"num_threads":      func() any { return p.field(20) },
		"open_files":       p.openFiles,
		"pid":              func() any { return p.pid },
		"ppid":             func() any { return p.field(4) },
		"status":           func() any { return p.state() },
		"terminal":         p.terminal,
		"threads":          p.threads,
		"uids":             func() any { return p.ids("Uid") },
		"username":         p.username,
	}
}

// values returns the values of a map as a list, which is how named tuples of Python are sent.
func values(m *data.Map) any {
	list := []any{}
	for _, v := range m.All() {
		list = append(list, v)
	}
	return list
}

func (p *process) dir(name ...string) string {
	return p.m.path(append([]string{"/proc", strconv.FormatInt(p.pid, 10)}, name...)...)
}

// link returns the target of a link of the process. It returns nil if the link cannot be read, ""
// for kernel threads.
func (p *process) link(name string) any {
	to, err := os.Readlink(p.dir(name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ""
	case err != nil:
		return nil
	}
	return strings.TrimSuffix(to, " (deleted)")
}

// count returns the number of entries in a directory of the process.
func (p *process) count(name string) any {
	entries, err := os.ReadDir(p.dir(name))
	if err != nil {
		return nil
	}
	return int64(len(entries))
}

func (p *process) ids(key string) any { return integers(p.line(key), 3) }

// integers parses the first n words as numbers.
func integers(words []string, n int) []any {
	list := []any{}
	for _, w := range words[:min(n, len(words))] {
		v, err := strconv.ParseInt(w, 10, 64)
		if err == nil {
			list = append(list, v)
		}
	}
	return list
}

func (p *process) affinity() any {
	var set unix.CPUSet
	if p.m.env.Root != "" || unix.SchedGetaffinity(int(p.pid), &set) != nil {
		return nil
	}
	list := []any{}
	for i := range 8 * len(set) * 8 {
		if set.IsSet(i) {
			list = append(list, int64(i))
		}
	}
	return list
}

func (p *process) environ() any {
	text, err := os.ReadFile(p.dir("environ"))
	if err != nil {
		return nil
	}
	all := data.NewMap()
	for word := range strings.SplitSeq(string(text), "\x00") {
		if key, v, ok := strings.Cut(word, "="); ok {
			all.Set(key, v)
		}
	}
	return all
}

// cpuTimes returns the CPU times of the process and its children.
func (p *process) cpuTimes() *data.Map {
	return data.NewMap("user", p.seconds(14), "system", p.seconds(15),
		"children_user", p.seconds(16), "children_system", p.seconds(17), "iowait", p.seconds(42))
}

// memory returns the memory use of the process, in bytes.
func (p *process) memory() *data.Map {
	words := strings.Fields(p.file("statm"))
	all := data.NewMap()
	for i, name := range []string{"vms", "rss", "shared", "text", "lib", "data", "dirty"} {
		n := int64(0)
		if i < len(words) {
			if v, err := strconv.ParseInt(words[i], 10, 64); err == nil {
				n = v
			}
		}
		all.Set(name, n*int64(os.Getpagesize()))
	}
	first := data.NewMap("rss", all.Value("rss"))
	first.Update(all)
	return first
}

func (p *process) memoryPercent() any {
	total, err := p.m.memoryOf()
	rss, _ := p.memory().Value("rss").(int64)
	if err != nil || total["MemTotal"] == 0 {
		return nil
	}
	return float64(rss) / float64(total["MemTotal"]) * 100
}

func (p *process) ioCounters() any {
	found := map[string]int64{}
	for line := range strings.Lines(p.file("io")) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				found[name] = n
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []any{found["syscr"], found["syscw"], found["read_bytes"], found["write_bytes"],
		found["rchar"], found["wchar"]}
}

func (p *process) switches() any {
	return append(integers(p.line("voluntary_ctxt_switches"), 1),
		integers(p.line("nonvoluntary_ctxt_switches"), 1)...)
}

// terminal returns the path of the terminal, nil if the process has none.
func (p *process) terminal() any {
	number := uint64(p.field(7))
	if number == 0 {
		return nil
	}
	for _, pattern := range []string{"/dev/tty*", "/dev/pts/*"} {
		paths, _ := filepath.Glob(p.m.path(pattern)) //nolint:errcheck // the pattern is good
		for _, path := range paths {
			var s unix.Stat_t
			if unix.Stat(path, &s) == nil && uint64(s.Rdev) == number {
				return strings.TrimPrefix(path, p.m.env.Root)
			}
		}
	}
	return nil
}

// threads returns the threads and the CPU times of each.
func (p *process) threads() any {
	entries, err := os.ReadDir(p.dir("task"))
	if err != nil {
		return nil
	}
	list := []any{}
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		text := p.file(filepath.Join("task", e.Name(), "stat"))
		if name, fields, ok := parseStat(text); ok && err == nil {
			t := &process{p.m, id, name, fields}
			list = append(list, []any{id, t.seconds(14), t.seconds(15)})
		}
	}
	return list
}

type topArgs struct {
	NumProcesses int64   `default:"5"`
	Interval     float64 `default:"3"`
}

// top returns the processes that use the most CPU time.
//
// num_processes
//
//	The number of processes to return.
//
// interval
//
//	How long to measure, in seconds.
//
// CLI Example:
//
//	salt '*' ps.top
//	salt '*' ps.top 5 10
func (m *module) top(ctx context.Context, a topArgs) (any, error) {
	before := map[int64]*process{}
	if err := m.each(func(p *process) { before[p.pid] = p }); err != nil {
		return nil, err
	}
	if err := wait(ctx, a.Interval); err != nil {
		return nil, err
	}
	type busy struct {
		p    *process
		used float64
	}
	var all []busy
	err := m.each(func(p *process) {
		if old := before[p.pid]; old != nil && old.field(22) == p.field(22) {
			all = append(all, busy{p, p.used() - old.used()})
		}
	})
	slices.SortStableFunc(all, func(a, b busy) int {
		switch {
		case a.used > b.used:
			return -1
		case a.used < b.used:
			return 1
		}
		return 0
	})
	list := []any{}
	for _, b := range all[:min(max(a.NumProcesses, 1), int64(len(all)))] {
		list = append(list, b.p.load())
	}
	return list, err
}

// load returns the values that top shows of a process.
func (p *process) load() *data.Map {
	var cmd any = p.cmdline()
	if !data.Truth(cmd) {
		cmd = p.fullName()
	}
	return data.NewMap("cmd", cmd, "user", p.username(), "status", p.state(), "pid", p.pid,
		"create_time", p.created(), "cpu", p.cpuTimes(), "mem", p.memory())
}

// wait sleeps for some seconds. It returns an error if the context ends first.
func wait(ctx context.Context, seconds float64) error {
	return clock.Sleep(ctx, time.Duration(seconds*float64(time.Second)))
}
