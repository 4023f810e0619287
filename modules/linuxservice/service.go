// Package linuxservice is Salt's module service for a Linux that no other module of the name knows: it runs the scripts of
// /etc/init.d (salt/modules/linux_service.py).
package linuxservice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
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

// refuse returns why the module does not work here, nil where it does.
func (m *module) refuse() error {
	grains := m.env.GrainsNow()
	others := []string{"RedHat", "CentOS", "Amazon", "ScientificLinux", "CloudLinux", "Fedora", "Gentoo", "Ubuntu", "Debian", "Devuan", "ALT", "OEL", "Linaro",
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

// folder returns where the scripts are.
func (m *module) folder() string {
	if os := m.env.GrainsNow().Text("os"); os == "Arch" || os == "Arch ARM" {
		return "/etc/rc.d"
	}
	return "/etc/init.d"
}

type runArgs struct{ Name, Action string }

// run calls the script of a service with an action, and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.run apache2 reload
func (m *module) run(ctx context.Context, a runArgs) (any, error) {
	script := filepath.Join("/", m.env.Root, m.folder(), a.Name)
	code, err := m.env.Call(ctx, "cmd.retcode", []any{[]any{script, a.Action}}, data.NewMap("python_shell", false))
	return err == nil && !data.Truth(code), err
}

type nameArgs struct{ Name string }

// start starts a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.start nginx
func (m *module) start(ctx context.Context, a nameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "start"})
}

// stop stops a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.stop nginx
func (m *module) stop(ctx context.Context, a nameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "stop"})
}

// restart restarts a service and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.restart nginx
func (m *module) restart(ctx context.Context, a nameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "restart"})
}

// reload has a service read its configuration anew and tells whether that worked.
//
// CLI Example:
//
//	salt '*' service.reload nginx
func (m *module) reload(ctx context.Context, a nameArgs) (any, error) {
	return m.run(ctx, runArgs{a.Name, "reload"})
}

type statusArgs struct {
	Name string
	Sig  any `default:"None"`
}

var wildcard = regexp.MustCompile(`\*|\?|\[.+\]`)

// status returns the ids of the processes of a service, an empty text where it does not run. For a name with a wildcard it returns a
// dictionary of all that fit.
//
// sig
//
//	A text to look for in the list of processes, in place of the name.
//
// CLI Example:
//
//	salt '*' service.status nginx
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	if data.Truth(a.Sig) {
		return m.env.Call(ctx, "status.pid", []any{a.Sig}, nil)
	}
	if !wildcard.MatchString(a.Name) {
		return m.env.Call(ctx, "status.pid", []any{a.Name}, nil)
	}
	found := &data.Map{}
	for _, name := range m.all() {
		if !loader.Glob(a.Name, name) {
			continue
		}
		pid, err := m.env.Call(ctx, "status.pid", []any{name}, nil)
		if err != nil {
			return nil, err
		}
		found.Set(name, pid)
	}
	return found, nil
}

// all returns the names of all scripts, sorted.
func (m *module) all() []string {
	entries, err := os.ReadDir(filepath.Join("/", m.env.Root, m.folder()))
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
	list := []any{}
	for _, name := range m.all() {
		list = append(list, name)
	}
	return list, nil
}

// available tells whether there is a service of that name.
//
// CLI Example:
//
//	salt '*' service.available sshd
func (m *module) available(_ context.Context, a nameArgs) (any, error) {
	return slices.Contains(m.all(), a.Name), nil
}

// missing tells whether there is no service of that name.
//
// CLI Example:
//
//	salt '*' service.missing sshd
func (m *module) missing(_ context.Context, a nameArgs) (any, error) {
	return !slices.Contains(m.all(), a.Name), nil
}
