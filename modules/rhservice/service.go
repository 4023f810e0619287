// Package rhservice is Salt's module service for the Red Hat family before systemd
// (salt/modules/rh_service.py). The program service runs scripts in /etc/init.d, and chkconfig
// enables them.
//
// One thing differs from Salt: upstart, which RHEL 6 also had, is not supported.
package rhservice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module service. It loads on systems with chkconfig.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "rh_service", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if why := m.refuse(); why != "" {
		return nil, errors.New(why)
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("delete", m.delete),
		loader.F("disable", m.disable),
		loader.F("disabled", m.disabled),
		loader.F("enable", m.enable),
		loader.F("enabled", m.enabled),
		loader.F("get_all", m.getAll),
		loader.F("get_disabled", m.getDisabled),
		loader.F("get_enabled", m.getEnabled),
		loader.F("missing", m.missing),
		loader.F("reload", m.reload).Def("reload_"),
		loader.F("restart", m.restart),
		loader.F("start", m.start),
		loader.F("status", m.status),
		loader.F("stop", m.stop),
	}}, nil
}

// refuse returns the reason why the module cannot be loaded here, "" if it can.
func (m *module) refuse() string {
	grains := m.env.GrainsNow()
	os := grains.Text("os")
	family := []string{"XenServer", "XCP-ng", "RedHat", "CentOS", "ScientificLinux", "CloudLinux",
		"Amazon", "Fedora", "ALT", "OEL", "SUSE  Enterprise Server",
		"SUSE", "McAfee  OS Server", "VirtuozzoLinux"}
	release := int64(0)
	switch info := grains.Value("osrelease_info").(type) {
	case []any:
		release, _ = info[0].(int64)
	case data.Tuple:
		release, _ = info[0].(int64)
	}
	switch {
	case systemd.Booted(m.env.Root):
		return "The rh_service execution module failed to load: this system was booted with systemd."
	case !slices.Contains(family, os):
		return "Cannot load rh_service module: OS not in {'" + strings.Join(family, "', '") + "'}"
	case os == "SUSE" && !strings.HasPrefix(data.Str(grains.Value("osrelease")), "11"):
		return "Cannot load rh_service module on SUSE > 11"
	case (os == "XenServer" || os == "XCP-ng") && release >= 7:
		return "XenServer and XCP-ng >= 7 use systemd, will not load rh_service.py as virtual 'service'"
	case os == "Fedora" && release >= 15:
		return "Fedora >= 15 uses systemd, will not load rh_service.py as virtual 'service'"
	case slices.Contains([]string{"RedHat", "CentOS", "ScientificLinux", "OEL", "CloudLinux"},
		os) && release >= 7:
		return "RedHat-based distros >= version 7 use systemd, will not load rh_service.py as virtual 'service'"
	}
	return ""
}

// run runs a program and returns whether it succeeded, and its output. With quiet, a failure does
// not change the return code of the job.
func (m *module) run(
	ctx context.Context, quiet bool, line ...string,
) (ok bool, out string, err error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: line, IgnoreRetcode: quiet})
	return err == nil && ran.Retcode == 0, ran.Stdout, err
}

// do runs the program service for an action on a service.
func (m *module) do(ctx context.Context, name, action string) (any, error) {
	ok, _, err := m.run(ctx, false, "/sbin/service", name, action)
	return ok, err
}

// script reports whether a service has an executable script.
func (m *module) script(name string) bool {
	info, err := os.Stat(filepath.Join("/", m.env.Root, "/etc/init.d", name))
	return err == nil && info.Mode()&0o100 != 0
}

func (m *module) runlevel(ctx context.Context) (string, error) {
	_, out, err := m.run(ctx, false, "/sbin/runlevel")
	words := strings.Fields(out)
	if err != nil || strings.Contains(out, "unknown") || len(words) < 2 {
		return "3", err
	}
	return words[1], nil
}

// on reports whether a service starts in a runlevel. The level "" stands for the current one.
func (m *module) on(ctx context.Context, name, level string) (bool, error) {
	ok, out, err := m.run(ctx, false, "/sbin/chkconfig", "--list", name)
	if err != nil {
		return false, err
	}
	if level == "" {
		if level, err = m.runlevel(ctx); err != nil {
			return false, err
		}
	}
	if ok && listedOn(out, name, level) {
		return true, nil
	}
	links, _ := filepath.Glob(filepath.Join("/", m.env.Root, "/etc/rc.d/rc"+level+".d/S??"+name))
	return len(links) > 0, nil
}

// listedOn parses the output of chkconfig --list. Each line has a service and its runlevels, or an
// xinetd service with on or off.
func listedOn(out, name, level string) bool {
	for row := range strings.SplitSeq(out, "\n") {
		words := strings.Fields(row)
		if len(words) == 0 || words[0] != name {
			continue
		}
		if strings.Contains(row, level+":on") || len(words) == 2 && words[1] == "on" {
			return true
		}
	}
	return false
}

// registered adds a service to chkconfig. It returns false if that fails.
func (m *module) registered(ctx context.Context, name string) (bool, error) {
	if known, err := m.known(ctx, name); err != nil || known {
		return known, err
	}
	ok, _, err := m.run(ctx, false, "/sbin/chkconfig", "--add", name)
	return ok, err
}

// known reports whether chkconfig lists a service.
func (m *module) known(ctx context.Context, name string) (bool, error) {
	ok, _, err := m.run(ctx, true, "/sbin/chkconfig", "--list", name)
	return ok, err
}

// names returns the services of chkconfig that have a script, sorted. With the limit upstart it
// returns none.
func (m *module) names(ctx context.Context, limit string) ([]string, error) {
	if strings.EqualFold(limit, "upstart") {
		return nil, nil
	}
	_, out, err := m.run(ctx, false, "chkconfig", "--list")
	var names []string
	for line := range strings.SplitSeq(out, "\n") {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[1], "0:") &&
			m.script(words[0]) {
			names = append(names, words[0])
		}
	}
	slices.Sort(names)
	return names, err
}

// inState returns the services that start in the current runlevel, or those that do not.
func (m *module) inState(ctx context.Context, limit string, on bool) (any, error) {
	level, err := m.runlevel(ctx)
	if err != nil {
		return nil, err
	}
	names, err := m.names(ctx, limit)
	found := []any{}
	for _, name := range names {
		is, err := m.on(ctx, name, level)
		if err != nil {
			return nil, err
		}
		if is == on {
			found = append(found, name)
		}
	}
	return found, err
}
