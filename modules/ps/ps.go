//go:build linux

// Package ps is Salt's module ps: processes and the resources of the system (salt/modules/ps.py,
// and the library psutil that it uses).
//
// process.go reads one process, and info.go shows its attributes. kill.go finds and signals
// processes. system.go covers processors and memory, disk.go disks and network, and programs.go the
// output of other programs.
//
// Differences from Salt: the module exists only on Linux. ps.proc_info does not support
// connections, ionice, memory_full_info, memory_maps and open_files. Logged-in users are those in
// the file utmp. ps.pkill requires a pattern; without one Salt kills every process.
package ps

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/loader"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("boot_time", m.bootTime),
		loader.F("cpu_percent", m.cpuPercent),
		loader.F("cpu_times", m.cpuTimes),
		loader.F("disk_io_counters", m.diskIoCounters),
		loader.F("disk_partition_usage", m.diskPartitionUsage),
		loader.F("disk_partitions", m.diskPartitions),
		loader.F("disk_usage", m.diskUsage),
		loader.F("get_pid_list", m.getPidList),
		loader.F("get_users", m.getUsers),
		loader.F("kill_pid", m.killPid),
		loader.F("lsof", m.lsof),
		loader.F("netstat", m.netstat),
		loader.F("network_io_counters", m.networkIoCounters),
		loader.F("num_cpus", m.numCpus),
		loader.F("pgrep", m.pgrep),
		loader.F("pkill", m.pkill),
		loader.F("proc_info", m.procInfo),
		loader.F("psaux", m.psaux),
		loader.F("ss", m.ss),
		loader.F("status", m.status),
		loader.F("swap_memory", m.swapMemory),
		loader.F("top", m.top),
		loader.F("total_physical_memory", m.totalPhysicalMemory),
		loader.F("virtual_memory", m.virtualMemory),
	}}, nil
}

func (m *module) path(name ...string) string {
	return filepath.Join(append([]string{m.env.Root}, name...)...)
}

// read returns the contents of a file below /proc.
func (m *module) read(name ...string) (string, error) {
	b, err := os.ReadFile(m.path(append([]string{"/proc"}, name...)...))
	return string(b), err
}

// getPidList returns the IDs of all processes.
//
// CLI Example:
//
//	salt '*' ps.get_pid_list
func (m *module) getPidList(context.Context, loader.NoArgs) (any, error) {
	pids, err := m.pids()
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, pid := range pids {
		list = append(list, pid)
	}
	return list, nil
}

func (m *module) pids() ([]int64, error) {
	entries, err := os.ReadDir(m.path("/proc"))
	if err != nil {
		return nil, err
	}
	var pids []int64
	for _, e := range entries {
		if pid, err := strconv.ParseInt(e.Name(), 10, 64); err == nil &&
			!strings.HasPrefix(e.Name(), "+") {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
