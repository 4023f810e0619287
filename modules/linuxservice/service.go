// Package linuxservice is Salt's module service for Linux systems without a more specific service
// module: it runs the scripts in /etc/init.d (salt/modules/linux_service.py).
package linuxservice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/services"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module service for any Linux with scripts.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "linux_service", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if err := m.refuse(); err != nil {
		return nil, err
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("get_all", m.getAll),
		loader.F("missing", m.missing),
		loader.F("reload", m.reload).Def("reload_"),
		loader.F("restart", m.restart),
		loader.F("run", m.run),
		loader.F("start", m.start),
		loader.F("status", m.status),
		loader.F("stop", m.stop),
	}}, nil
}

// refuse returns the reason the module is not available on this host, or nil.
func (m *module) refuse() error {
	grains := m.env.GrainsNow()
	others := []string{"RedHat", "CentOS", "Amazon", "ScientificLinux", "CloudLinux", "Fedora",
		"Gentoo", "Ubuntu", "Debian", "Devuan", "ALT", "OEL", "Linaro",
		"elementary OS", "McAfee  OS Server", "Raspbian", "SUSE", "Slackware"}
	init := grains.Value("init")
	switch {
	case slices.Contains(others, grains.Text("os")):
		return errors.New("Your OS is on the disabled list") //nolint:staticcheck // Salt's text
	case grains.Text("kernel") != "Linux":
		return errors.New("Non Linux OSes are not supported") //nolint:staticcheck // Salt's text
	case init != nil && init != "sysvinit" && init != "unknown":
		return errors.New("Minion is running " + data.Str(init)) // Salt's text
	case systemd.Booted(m.env.Root):
		return errors.New("Minion is running systemd") //nolint:staticcheck // Salt's text
	}
	return nil
}

// directory returns the directory of the scripts.
func (m *module) directory() string {
	if os := m.env.GrainsNow().Text("os"); os == "Arch" || os == "Arch ARM" {
		return "/etc/rc.d"
	}
	return "/etc/init.d"
}

type runArgs struct{ Name, Action string }

// run calls the script of a service with an action, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.run apache2 reload
func (m *module) run(ctx context.Context, a runArgs) (any, error) {
	script := filepath.Join("/", m.env.Root, m.directory(), a.Name)
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{script, a.Action}})
}

// start starts a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a services.NameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "start"})
}

// stop stops a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a services.NameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "stop"})
}

// restart restarts a service and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a services.NameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "restart"})
}

// reload makes a service reload its configuration and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a services.NameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "reload"})
}

// status returns the process IDs of a service, or an empty string if it is not running. For a name
// with a wildcard it returns a dictionary of all matching services.
//
// sig
//
//	A string to look for in the process list, instead of the name.
//
// CLI Example:
//
//	salt '*' service.status nginx
func (m *module) status(ctx context.Context, a services.StatusArgs) (any, error) {
	pid := func(name any) (any, error) { return m.env.Call(ctx, "status.pid", []any{name}, nil) }
	if data.Truth(a.Sig) {
		return pid(a.Sig)
	}
	all := func() ([]string, error) { return m.all(), nil }
	return services.Status(a.Name, all, func(name string) (any, error) { return pid(name) })
}

// all returns the names of all scripts, sorted.
func (m *module) all() []string {
	entries, err := os.ReadDir(filepath.Join("/", m.env.Root, m.directory()))
	if err != nil {
		m.env.Log.Debugf("Unable to list services: %v", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// getAll returns all services.
//
// CLI Example:
//
//	salt '*' service.get_all
func (m *module) getAll(context.Context, loader.NoArgs) (any, error) {
	return data.Values(m.all()), nil
}

// available returns whether a service exists.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(_ context.Context, a services.NameArgs) (any, error) {
	return slices.Contains(m.all(), a.Name), nil
}

// missing returns whether a service does not exist.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(_ context.Context, a services.NameArgs) (any, error) {
	return !slices.Contains(m.all(), a.Name), nil
}
