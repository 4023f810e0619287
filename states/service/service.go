// Package service is Salt's state service: which services run, which start with the system, and which are masked
// (salt/states/service.py). The module service, whichever it is here, does the work.
//
// What a service does is asked before and after; changes are what is different then. In test mode nothing is started, stopped, enabled
// or masked; systemd may be told to read its unit files anew.
//
// What differs from Salt: a mask that could not be made or taken away is a failure.
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
		return nil, errors.New("No service execution module loaded: check support for service management on " + host + " ") // Salt's text
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

// has tells whether the module has a function.
func (m *module) has(fun string) bool { return m.env.Functions.Has("service." + fun) }

// ask calls a function of the module with the name of the service, and tells whether its answer counts as true.
func (m *module) ask(ctx context.Context, fun, name string, more []any, kwargs *data.Map) (bool, error) {
	v, err := m.env.Call(ctx, "service."+fun, append([]any{name}, more...), kwargs)
	return data.Truth(v), err
}

// A report is the result of a state that comes about in steps, of which a later one may replace what an earlier one said.
type report struct {
	name     string
	result   any
	changes  *data.Map
	comment  string
	warnings []any
}

func newReport(name string) *report { return &report{name: name, result: true, changes: &data.Map{}} }

// says sets result and comment.
func (r *report) says(result any, format string, args ...any) {
	r.result, r.comment = result, fmt.Sprintf(format, args...)
}

// take takes result and comment of a part of the state.
func (r *report) take(part change.Result) {
	r.comment = data.Str(part.Comment)
	switch part.Verdict {
	case change.Pending:
		r.result = nil
	case change.Failure:
		r.result = false
	}
}

// took takes an error for the result: what the module could not do is a failure, anything else an error of the call.
func (r *report) took(err error) (any, error) {
	if loader.KindOf(err) != loader.KindExecution {
		return nil, err
	}
	r.says(false, "%s", err.Error())
	return r.ret(), nil
}

func (r *report) ret() *data.Map {
	ret := change.New(r.name, r.result, r.changes, r.comment)
	if r.warnings != nil {
		ret.Set("warnings", r.warnings)
	}
	return ret
}

// offline tells whether the module cannot know what runs.
func (m *module) offline(ctx context.Context) (bool, error) {
	if !m.has("offline") {
		return false, nil
	}
	v, err := m.env.Call(ctx, "service.offline", nil, nil)
	return data.Truth(v), err
}

// available tells whether there is a service; where there is none, the report says so.
func (m *module) available(ctx context.Context, r *report) (bool, error) {
	there, err := false, error(nil)
	switch {
	case m.has("available"):
		there, err = m.ask(ctx, "available", r.name, nil, nil)
	case m.has("get_all"):
		var all any
		all, err = m.env.Call(ctx, "service.get_all", nil, nil)
		list, _ := all.([]any)
		there = slices.Contains(list, any(r.name))
	}
	if err == nil && !there {
		r.says(false, "The named service %s is not available", r.name)
	}
	return there, err
}

// systemdWords returns those of no_block, unmask and unmask_runtime that a function of the module takes. Where systemd does not run the
// report warns of them.
func (m *module) systemdWords(r *report, fun string, kwargs *data.Map) *data.Map {
	words := &data.Map{}
	f, ok := m.env.Functions.Func("service." + fun)
	if !ok {
		return words
	}
	for _, word := range []string{"no_block", "unmask", "unmask_runtime"} {
		v, given := kwargs.Get(word)
		takes := slices.ContainsFunc(f.Spec().Params, func(p loader.Param) bool { return p.Name == word })
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

// runs tells whether a service runs.
func (m *module) runs(ctx context.Context, r *report, sig any, kwargs *data.Map) (bool, error) {
	return m.ask(ctx, "status", r.name, []any{sig}, m.systemdWords(r, "status", kwargs))
}

// starts tells whether a service starts with the system; it does where that cannot be asked.
func (m *module) starts(ctx context.Context, name string) (bool, error) {
	if !m.has("enabled") {
		return true, nil
	}
	return m.ask(ctx, "enabled", name, nil, nil)
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

// wait waits as long as init_delay says.
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
