// Package debianservice is Salt's module service for Debian, Devuan and Raspbian without a running
// systemd (salt/modules/debian_service.py). The program service runs the scripts in /etc/init.d,
// and update-rc.d enables them.
//
// In a Debian container with systemd installed but not running, Salt has the functions of this
// module together with those that only the systemd module has: masks and offline.
//
// Differences from Salt: without the program runlevel, as in a container, the runlevel is 2, as for
// an unknown one; without insserv, which Debian no longer needs, update-rc.d creates the links
// itself.
package debianservice

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module service for Debian without systemd.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "debian_service", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	family := []string{"Debian", "Raspbian", "Devuan", "NILinuxRT"}
	if !slices.Contains(family, env.GrainsNow().Text("os")) || systemd.Booted(env.Root) {
		return nil, errors.New("The debian_service module could not be loaded: unsupported OS family and/or systemd running.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("disable", m.disable),
		loader.F("disabled", m.disabled),
		loader.F("enable", m.enable),
		loader.F("enabled", m.enabled),
		loader.F("force_reload", m.forceReload),
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

func (m *module) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join("/", m.env.Root, pattern))
	return found
}

func (m *module) do(ctx context.Context, name, action string) (any, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"service", name, action}})
}

func (m *module) runlevel(ctx context.Context) (string, error) {
	if process.Find("runlevel") == "" {
		return "2", nil
	}
	output, err := calls.RunOutput(ctx, m.env, calls.Run{Line: "runlevel", Shell: calls.CmdDecides})
	if err != nil {
		return "", err
	}
	words := strings.Fields(output)
	if strings.Contains(output, "unknown") || len(words) < 2 {
		return "2", nil
	}
	return words[1], nil
}

var number = regexp.MustCompile(`\d+`)

// started returns the services with a start link in the current runlevel or at boot.
func (m *module) started(ctx context.Context) (map[string]bool, error) {
	level, err := m.runlevel(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, link := range m.glob("/etc/rc[S" + level + "].d/S*") {
		parts := number.Split(filepath.Base(link), -1)
		found[parts[len(parts)-1]] = true
	}
	return found, nil
}

// present returns all services: scripts, and links that start one.
func (m *module) present(ctx context.Context) (map[string]bool, error) {
	found, err := m.started(ctx)
	if err != nil {
		return nil, err
	}
	for _, script := range m.glob("/etc/init.d/*") {
		if name := filepath.Base(script); name != "README" {
			found[name] = true
		}
	}
	return found, nil
}

// resting returns the services that no link starts.
func (m *module) resting(ctx context.Context) (map[string]bool, error) {
	all, err := m.present(ctx)
	if err != nil {
		return nil, err
	}
	on, err := m.started(ctx)
	maps.DeleteFunc(all, func(name string, _ bool) bool { return on[name] })
	return all, err
}
