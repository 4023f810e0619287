//go:build linux

package status

import (
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// procFuncs returns the functions that read a single file.
func (m *module) procFuncs() []loader.Func {
	return []loader.Func{
		loader.F("cpuinfo", m.cpuinfo),
		loader.F("cpustats", m.cpustats),
		loader.F("diskstats", m.diskstats),
		loader.F("meminfo", m.meminfo),
		loader.F("netdev", m.netdev),
		loader.F("netstats", m.netstats),
		loader.F("version", m.version),
		loader.F("vmstats", m.vmstats),
	}
}

// number converts a text to a number if it is one.
func number(s string) any {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil && !strings.HasPrefix(s, "+") {
		return int64(n)
	}
	if f, err := loader.Float(s); err == nil {
		return f
	}
	return s
}

func numbers(list []string) []any {
	all := []any{}
	for _, s := range list {
		all = append(all, number(s))
	}
	return all
}

// table reads a file line by line and calls take with the words of each line that is not empty.
func (m *module) table(path string, take func(line string, words []string)) {
	text, _ := m.read(path)
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			take(strings.TrimSuffix(line, "\n"), words)
		}
	}
}

// columns maps names to the words from a column on.
func columns(words []string, from int, names ...string) *data.Map {
	row := data.NewMap()
	for i, name := range names {
		row.Set(name, number(words[from+i]))
	}
	return row
}

// cpustats returns the CPU times since boot, in ticks.
//
// CLI Example:
//
//	salt '*' status.cpustats
func (m *module) cpustats(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/stat", func(_ string, words []string) {
		switch key := words[0]; {
		case len(words) < 2:
		case key == "cpu" && len(words) > 8:
			all.Set(key, columns(words, 1, "user", "nice", "system", "idle", "iowait", "irq",
				"softirq", "steal"))
		case key == "intr" || key == "softirq":
			all.Set(key, data.NewMap("total", number(words[1]),
				strings.TrimSuffix(strings.Replace(key, "intr", "irq", 1), "s")+
					"s", numbers(words[2:])))
		default:
			all.Set(key, number(words[1]))
		}
	})
	return all, nil
}

// meminfo returns the memory usage.
//
// CLI Example:
//
//	salt '*' status.meminfo
func (m *module) meminfo(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/meminfo", func(_ string, words []string) {
		if len(words) < 2 {
			return
		}
		row := data.NewMap("value", words[1])
		if len(words) > 2 {
			row.Set("unit", words[2])
		}
		all.Set(strings.ReplaceAll(words[0], ":", ""), row)
	})
	return all, nil
}

// cpuinfo returns the details of the last processor.
//
// CLI Example:
//
//	salt '*' status.cpuinfo
func (m *module) cpuinfo(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/cpuinfo", func(line string, _ []string) {
		key, rest, ok := strings.Cut(line, ":")
		if !ok {
			return
		}
		value, _, _ := strings.Cut(rest, ":")
		if key = strings.TrimSpace(key); key == "flags" {
			flags := []any{}
			for _, f := range strings.Fields(value) {
				flags = append(flags, f)
			}
			all.Set(key, flags)
			return
		}
		all.Set(key, strings.TrimSpace(value))
	})
	return all, nil
}

// diskstats returns the read and write statistics of disks.
//
// CLI Example:
//
//	salt '*' status.diskstats
func (m *module) diskstats(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/diskstats", func(_ string, words []string) {
		if len(words) >= 14 {
			all.Set(words[2], columns(words, 0, "major", "minor", "device", "reads_issued",
				"reads_merged", "sectors_read", "ms_spent_reading",
				"writes_completed", "writes_merged", "sectors_written", "ms_spent_writing",
				"io_in_progress", "ms_spent_in_io", "weighted_ms_spent_in_io"))
		}
	})
	return all, nil
}

// vmstats returns the kernel's memory statistics.
//
// CLI Example:
//
//	salt '*' status.vmstats
func (m *module) vmstats(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/vmstat", func(_ string, words []string) {
		if len(words) > 1 {
			all.Set(words[0], number(words[1]))
		}
	})
	return all, nil
}

// netstats returns the kernel's network statistics.
//
// CLI Example:
//
//	salt '*' status.netstats
func (m *module) netstats(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	headings := []string{""}
	m.table("/proc/net/netstat", func(_ string, words []string) {
		if words[0] != headings[0] {
			headings = words
			return
		}
		row := data.NewMap()
		for i := 1; i < len(headings)-1 && i < len(words); i++ {
			row.Set(headings[i], number(words[i]))
		}
		all.Set(strings.ReplaceAll(headings[0], ":", ""), row)
	})
	return all, nil
}

// netdev returns the traffic statistics of network interfaces.
//
// CLI Example:
//
//	salt '*' status.netdev
func (m *module) netdev(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	m.table("/proc/net/dev", func(line string, _ []string) {
		name, rest, ok := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if !ok || len(words) < 16 {
			return
		}
		name = strings.TrimSpace(name)
		row := data.NewMap("iface", name)
		row.Update(columns(words, 0, "rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo",
			"rx_frame", "rx_compressed", "rx_multicast", "tx_bytes", "tx_packets", "tx_errs",
			"tx_drop", "tx_fifo", "tx_colls", "tx_carrier", "tx_compressed"))
		all.Set(name, row)
	})
	return all, nil
}

// version returns the version of the kernel.
//
// CLI Example:
//
//	salt '*' status.version
func (m *module) version(context.Context, loader.NoArgs) (any, error) {
	text, ok := m.read("/proc/version")
	if !ok {
		return data.NewMap(), nil
	}
	return strings.TrimSpace(text), nil
}
