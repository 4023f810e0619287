//go:build linux

// Package status is Salt's module status: how a system does, from what the kernel tells below /proc (salt/modules/status.py).
//
// proc.go reads files of /proc, load.go what other sources tell, and master.go looks at the connection to a master.
//
// What is odd, and as in Salt: status.netstats leaves the last column of each table out; status.master without a master is None.
// What differs: there is Linux alone; a line that cannot be read is left out, and not the end of the function; status.proxy_reconnect is
// always False, since there are no proxy minions.
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

// read returns a file of the system; ok is false where there is none that can be read.
func (m *module) read(path string) (text string, ok bool) {
	b, err := os.ReadFile(filepath.Join(m.env.Root, path))
	return string(b), err == nil
}

// run returns what a program prints.
func (m *module) run(ctx context.Context, command string, shell calls.Shell) (string, error) {
	return calls.RunOutput(ctx, m.env, calls.Run{Line: command, Shell: shell})
}

// allStatus returns what the other functions return, by their names.
//
// CLI Example:
//
//	salt '*' status.all_status
func (m *module) allStatus(ctx context.Context, _ loader.NoArgs) (any, error) {
	all := data.NewMap()
	for _, name := range []string{"cpuinfo", "cpustats", "diskstats", "diskusage", "loadavg", "meminfo", "netdev", "netstats", "uptime", "vmstats", "w"} {
		v, err := m.env.Call(ctx, "status."+name, nil, nil)
		if err != nil {
			return nil, err
		}
		all.Set(name, v)
	}
	return all, nil
}

// custom returns of other functions what the configuration of the minion names, as
//
//	status.cpustats.custom: [cpu, ctxt, btime, processes]
//
// Nothing is returned where nothing is named.
//
// CLI Example:
//
//	salt '*' status.custom
func (m *module) custom(ctx context.Context, _ loader.NoArgs) (any, error) {
	v, err := m.env.Call(ctx, "config.dot_vals", []any{"status"}, nil)
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	conf, _ := v.(*data.Map)
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
