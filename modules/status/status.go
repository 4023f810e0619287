//go:build linux

// Package status is Salt's module status: the condition of a system, from the kernel's files below
// /proc (salt/modules/status.py).
//
// proc.go reads files of /proc, load.go uses other sources, and master.go checks the connection to
// a master.
//
// Some behaviour is odd but the same as Salt's: status.netstats leaves out the last column of each
// table, and status.master without a master returns None. Differences: the module exists only on
// Linux. A line that cannot be parsed is skipped and does not end the function.
// status.proxy_reconnect always returns False, since there are no proxy minions.
package status

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: append(m.procFuncs(), []loader.Func{
		loader.F("all_status", m.allStatus),
		loader.F("custom", m.custom),
		loader.F("diskusage", m.diskusage),
		loader.F("loadavg", m.loadavg),
		loader.F("master", m.master),
		loader.F("nproc", m.nproc),
		loader.F("pid", m.pid),
		loader.F("ping_master", m.pingMaster),
		loader.F("procs", m.procs),
		loader.F("proxy_reconnect", m.proxyReconnect),
		loader.F("time", m.time).Def("time_"),
		loader.F("uptime", m.uptime),
		loader.F("w", m.w),
	}...)}, nil
}

// read returns the contents of a system file. ok is false if it cannot be read.
func (m *module) read(path string) (text string, ok bool) {
	b, err := os.ReadFile(filepath.Join(m.env.Root, path))
	return string(b), err == nil
}

// run runs a command and returns its output.
func (m *module) run(ctx context.Context, command string, shell calls.Shell) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Line: command, Shell: shell})
}

// allStatus returns the results of the other functions by name.
//
// CLI Example:
//
//	salt '*' status.all_status
func (m *module) allStatus(ctx context.Context, _ loader.NoArgs) (any, error) {
	all := data.NewMap()
	for _, name := range []string{"cpuinfo", "cpustats", "diskstats", "diskusage", "loadavg",
		"meminfo", "netdev", "netstats", "uptime", "vmstats", "w"} {
		v, err := m.env.Call(ctx, "status."+name, nil, nil)
		if err != nil {
			return nil, err
		}
		all.Set(name, v)
	}
	return all, nil
}

// custom returns only the values that the minion's configuration selects from the results of other
// functions, for example
//
//	status.cpustats.custom: [cpu, ctxt, btime, processes]
//
// It returns nothing if the configuration selects nothing.
//
// CLI Example:
//
//	salt '*' status.custom
func (m *module) custom(ctx context.Context, _ loader.NoArgs) (any, error) {
	conf, err := loader.CallAs[*data.Map](ctx, m.env, "config.dot_vals", []any{"status"}, nil)
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for key, v := range conf.All() {
		name := data.Str(key)
		fun := name[:max(strings.LastIndexByte(name, '.'), 0)]
		wanted, _ := v.([]any)
		if fun == "status.custom" {
			continue
		}
		if !m.env.Functions.Has(fun) {
			m.env.Log.Warnf("custom status %s isn't loaded", fun)
			continue
		}
		ret, err := m.env.Call(ctx, fun, nil, nil)
		if err != nil {
			return nil, err
		}
		values, _ := ret.(*data.Map)
		for _, item := range wanted {
			value, ok := values.Get(item)
			if !ok {
				m.env.Log.Warnf("val %s not in return of %s", data.Str(item), fun)
				value = "UNKNOWN"
			}
			found.Set(item, value)
		}
	}
	return found, nil
}
