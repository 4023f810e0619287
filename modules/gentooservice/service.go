// Package gentooservice is Salt's module service for OpenRC, the init system of Alpine and Gentoo
// (salt/modules/gentoo_service.py). Scripts in /etc/init.d control services, and rc-update adds
// them to runlevels.
package gentooservice

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Plugin returns the module service for OpenRC.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "service", File: "gentoo_service", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if os := env.GrainsNow().Text("os"); os != "Alpine" &&
		(os != "Gentoo" || systemd.Booted(env.Root)) {
		return nil, errors.New("The gentoo_service execution module cannot be loaded: only available on Gentoo/Open-RC systems.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("available", m.available),
		loader.F("disable", m.disable),
		loader.F("disabled", m.disabled),
		loader.F("enable", m.enable),
		loader.F("enabled", m.enabled),
		loader.F("get_all", m.getAll).Ordered(),
		loader.F("get_disabled", m.getDisabled),
		loader.F("get_enabled", m.getEnabled).Ordered(),
		loader.F("missing", m.missing),
		loader.F("reload", m.reload).Def("reload_"),
		loader.F("restart", m.restart),
		loader.F("start", m.start),
		loader.F("status", m.status),
		loader.F("stop", m.stop),
		loader.F("zap", m.zap),
	}}, nil
}

// succeeds runs a program and reports whether it succeeded; with quiet true, a failure does not
// fail the job.
func (m *module) succeeds(ctx context.Context, line []string, quiet bool) (bool, error) {
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: line, IgnoreRetcode: quiet})
}

func (m *module) do(ctx context.Context, name, action string) (any, error) {
	return m.succeeds(ctx, []string{m.script(name), action}, false)
}

func (m *module) script(name string) string {
	return filepath.Join("/", m.env.Root, "/etc/init.d", name)
}

// runlevels returns the output of rc-update: the runlevels that start a service, by service, and
// the services that none starts.
func (m *module) runlevels(ctx context.Context) (enabled *data.Map, disabled []string, err error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"rc-update", "-v", "show"}})
	if err != nil {
		return nil, nil, err
	}
	enabled, disabled = parseShow(out)
	return enabled, disabled, nil
}

// parseShow parses the lines of rc-update show: a service, a bar, and its runlevels.
func parseShow(text string) (enabled *data.Map, disabled []string) {
	enabled = &data.Map{}
	off := map[string]bool{}
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.Split(line, "|")
		if len(parts) < 2 {
			continue
		}
		name, levels := strings.TrimSpace(parts[0]), strings.Fields(parts[1])
		if len(levels) == 0 {
			off[name] = true
			continue
		}
		slices.Sort(levels)
		enabled.Set(name, data.Values(levels))
	}
	return enabled, slices.Sorted(maps.Keys(off))
}

// wanted returns the runlevels that the arguments name; ok is false if they name none.
func wanted(kwargs *data.Map) (levels []string, ok bool) {
	v, ok := kwargs.Get("runlevels")
	list, isList := v.([]any)
	if !isList && ok {
		list = []any{v}
	}
	for _, level := range list {
		levels = append(levels, data.Str(level))
	}
	slices.Sort(levels)
	return slices.Compact(levels), ok
}

// less returns the elements of a that are not in b.
func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// levelsOf returns the runlevels that start a service.
func (m *module) levelsOf(ctx context.Context, name string) (levels []string, on bool, err error) {
	enabled, _, err := m.runlevels(ctx)
	list, on := enabled.Value(name).([]any)
	for _, level := range list {
		levels = append(levels, data.Str(level))
	}
	return levels, on, err
}
