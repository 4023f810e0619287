// Package service is Salt's state service: running services, services that start at boot, and
// masked services (salt/states/service.py). It uses whichever module service the host has.
//
// The service is checked before and after; changes are the differences. In test mode nothing is
// started, stopped, enabled or masked, but systemd may be told to reload its unit files.
//
// Difference from Salt: failing to mask or unmask a service is a failure.
package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/systemd"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state service.
func Plugin() loader.Plugin { return loader.Plugin{Name: "service", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !m.has("start") {
		grains := env.GrainsNow()
		host := grains.Text("osfinger")
		if host == "" {
			host = grains.Text("os")
		}
		// Salt's text
		return nil, errors.New("No service execution module loaded: check support for service management on " + host + " ")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("running", m.running),
		loader.F("dead", m.dead),
		loader.F("enabled", m.enabled),
		loader.F("disabled", m.disabled),
		loader.F("masked", m.masked),
		loader.F("unmasked", m.unmasked),
		loader.F("mod_watch", m.modWatch),
		loader.F("mod_beacon", m.modBeacon),
	}}, nil
}

// has reports whether the module has a function.
func (m *module) has(fun string) bool { return m.env.Functions.Has("service." + fun) }

// A report is the result of a state that is built in steps. Later steps may replace the outcome of
// earlier ones.
type report struct {
	name     string
	result   any
	changes  *data.Map
	comment  string
	warnings []any
}

func newReport(name string) *report {
	return &report{name: name, result: true,
		changes: &data.Map{}}
}

// set sets result and comment.
func (r *report) set(result any, format string, args ...any) {
	r.result, r.comment = result, fmt.Sprintf(format, args...)
}

// take copies result and comment of a part of the state.
func (r *report) take(part change.Result) {
	r.comment = data.Str(part.Comment)
	switch part.Verdict {
	case change.Pending:
		r.result = nil
	case change.Failure:
		r.result = false
	}
}

// failed converts an error to a failed result if it comes from the module. Any other error is
// returned.
func (r *report) failed(err error) (any, error) {
	if loader.KindOf(err) != loader.KindExecution {
		return nil, err
	}
	r.set(false, "%s", err.Error())
	return r.ret(), nil
}

func (r *report) ret() *data.Map {
	ret := change.New(r.name, r.result, r.changes, r.comment)
	if r.warnings != nil {
		ret.Set("warnings", r.warnings)
	}
	return ret
}

// offline reports whether the module cannot determine which services run.
func (m *module) offline(ctx context.Context) (bool, error) {
	if !m.has("offline") {
		return false, nil
	}
	return calls.ServiceOffline(ctx, m.env)
}

// available reports whether a service exists. If it does not, it adds that to the report.
func (m *module) available(ctx context.Context, r *report) (bool, error) {
	there, err := false, error(nil)
	switch {
	case m.has("available"):
		there, err = calls.ServiceAvailable(ctx, m.env, r.name)
	case m.has("get_all"):
		var all []string
		all, err = calls.ServiceGetAll(ctx, m.env)
		there = slices.Contains(all, r.name)
	}
	if err == nil && !there {
		r.set(false, "The named service %s is not available", r.name)
	}
	return there, err
}

// systemdWords returns the arguments among no_block, unmask and unmask_runtime that a function of
// the module accepts. Without systemd it adds a warning to the report.
func (m *module) systemdWords(r *report, fun string, kwargs *data.Map) *data.Map {
	words := &data.Map{}
	f, ok := m.env.Functions.Func("service." + fun)
	if !ok {
		return words
	}
	for _, word := range []string{"no_block", "unmask", "unmask_runtime"} {
		v, given := kwargs.Get(word)
		takes := slices.ContainsFunc(f.Spec().Params,
			func(p loader.Param) bool { return p.Name == word })
		if !given || !takes {
			continue
		}
		if systemd.Booted(m.env.Root) {
			words.Set(word, v)
			continue
		}
		warning := "The '" + word + "' argument is not supported by this platform"
		if !slices.Contains(r.warnings, any(warning)) {
			r.warnings = append(r.warnings, warning)
		}
	}
	return words
}

// runs reports whether a service runs.
func (m *module) runs(ctx context.Context, r *report, sig any, kwargs *data.Map) (bool, error) {
	return calls.ServiceStatus(ctx, m.env, r.name, sig, m.systemdWords(r, "status", kwargs))
}

// starts reports whether a service starts at boot. It returns true if that cannot be determined.
func (m *module) starts(ctx context.Context, name string) (bool, error) {
	if !m.has("enabled") {
		return true, nil
	}
	return calls.ServiceEnabled(ctx, m.env, name, nil)
}

// toggle returns whether a service is to be enabled (true), disabled (false) or left alone (nil).
func toggle(enable any) any {
	switch v := enable.(type) {
	case bool:
		return v
	case string:
		if n, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return n > 0
		}
		return strings.EqualFold(v, "true")
	}
	return nil
}

// wait waits for init_delay seconds.
func wait(ctx context.Context, delay any) error {
	if !data.Truth(delay) {
		return nil
	}
	seconds, err := loader.Float(delay)
	if err != nil {
		return err
	}
	return clock.Sleep(ctx, time.Duration(seconds*float64(time.Second)))
}
