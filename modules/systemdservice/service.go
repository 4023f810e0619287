// Package systemdservice is Salt's module service for systems with systemd
// (salt/modules/systemd_service.py).
//
// A name without the suffix of a unit type is a service. Timers, sockets, mounts, targets, paths
// and instances of templates (name@instance) have the names that systemd gives them. The module
// also covers scripts in /etc/init.d without a unit.
//
// If a unit file has changed, or systemd has not loaded it yet, the module reloads systemd before
// it acts on the unit. Programs that change a service run in a scope of their own, so that they
// survive a restart of the minion, unless the option systemd.scope is False.
//
// If systemd is installed but not running, as in a container or while an image is built, the module
// is offline: it can enable, disable and mask, but knows nothing about running units.
//
// Differences from Salt: the module forgets the status of a unit as soon as one of its files
// changes, not only after a reload. So states see a unit that an earlier state installed. A new
// script in /etc/init.d also makes it reload systemd. "myservice" is a service although the name
// ends in that word.
package systemdservice

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module service for systemd.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "systemd_service", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if env.GrainsNow().Text("kernel") != "Linux" || !systemd.Booted(env.Root) &&
		process.Find("systemctl") == "" {
		return nil, errors.New("The systemd execution module failed to load: only available on Linux systems which have been booted with systemd.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: append(m.listing(),
		loader.F("start", m.start),
		loader.F("stop", m.stop),
		loader.F("restart", m.restart),
		loader.F("reload", m.reload).Def("reload_"),
		loader.F("force_reload", m.forceReload),
		loader.F("status", m.status),
		loader.F("enable", m.enable),
		loader.F("disable", m.disable),
		loader.F("mask", m.mask),
		loader.F("unmask", m.unmask).Def("unmask_"),
		loader.F("systemctl_reload", m.systemctlReload),
		loader.F("firstboot", m.firstboot),
	)}, nil
}

// listing returns the functions that only read.
func (m *module) listing() []loader.Func {
	return []loader.Func{
		loader.F("available", m.available),
		loader.F("missing", m.missing),
		loader.F("enabled", m.enabled),
		loader.F("disabled", m.disabled),
		loader.F("masked", m.masked),
		loader.F("get_all", m.getAll),
		loader.F("get_disabled", m.getDisabled),
		loader.F("get_enabled", m.getEnabled),
		loader.F("get_running", m.getRunning),
		loader.F("get_static", m.getStatic),
		loader.F("show", m.show),
		loader.F("execs", m.execs),
		loader.F("offline", m.offline),
	}
}

// at returns the path of a system file, below root if that is given.
func (m *module) at(root any, path string) string {
	return filepath.Join("/", m.env.Root, text(root), path)
}

// offline reports whether systemd is installed but not running. In that case it returns the path of
// systemctl.
//
// CLI Example:
//
//	salt '*' service.offline
func (m *module) offline(context.Context, loader.NoArgs) (any, error) {
	if systemd.Booted(m.env.Root) {
		return false, nil
	}
	if path := process.Find("systemctl"); path != "" {
		return path, nil
	}
	return nil, nil
}
