// Package systemdservice is Salt's module service for systems with systemd (salt/modules/systemd_service.py).
//
// A name without the ending of a kind of unit is a service; timers, sockets, mounts, targets, paths and instances of templates
// (name@instance) are named as systemd names them. Scripts in /etc/init.d that no unit stands for are taken along.
//
// A unit file that has changed, or that systemd has not seen yet, makes the module reload systemd before it does anything with the
// unit. Programs that change a service run in a scope of their own, so that they outlive a restart of the minion, unless the option
// systemd.scope is False.
//
// Where systemd is installed but does not run, as in a container or while an image is made, the module is offline: it enables,
// disables and masks, and knows nothing of what runs.
//
// What differs from Salt: what systemctl said of a unit is forgotten as soon as a file of the unit changes, and not only with a reload,
// so that a unit that a state brings is seen by those behind it; a new script in /etc/init.d makes systemd be reloaded, too. "myservice" is
// a service although it ends in the word.
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
	if env.GrainsNow().Text("kernel") != "Linux" || !systemd.Booted(env.Root) && process.Find("systemctl") == "" {
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

// listing are the functions that only look.
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

// at returns the place of a path of the system, below root where that is given.
func (m *module) at(root any, path string) string {
	return filepath.Join("/", m.env.Root, text(root), path)
}

// offline tells whether systemd is installed and does not run: then it returns the path of systemctl.
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
