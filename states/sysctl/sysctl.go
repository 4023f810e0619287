// Package sysctl is Salt's state sysctl: it keeps parameters of the kernel, now and at the next boot (salt/states/sysctl.py). The
// module sysctl does the work.
//
// What differs from Salt: test mode also sees that the configuration file has another value than the one that is in force, and what was
// set is read again.
package sysctl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state sysctl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "sysctl", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("sysctl.show") {
		return nil, errors.New("sysctl module could not be loaded")
	}
	return &loader.Module{Funcs: []loader.Func{loader.F("present", m.present)}}, nil
}

type presentArgs struct {
	Name   string
	Value  any
	Config any `default:"None"`
}

// A setting is how a parameter is.
type setting struct {
	configured any // in the file; nil where it is not there
	readable   bool
	now        string // in force; "" where there is none
}

// has tells whether a parameter has a value, in the file and in force.
func (s setting) has(value string) bool {
	return s.readable && s.configured != nil && words(data.Str(s.configured)) == words(value) && words(s.now) == words(value)
}

// words returns a value with one blank between its parts.
func words(value string) string { return strings.Join(strings.Fields(value), " ") }

// present keeps a parameter of the kernel at a value.
//
// config
//
//	The file where it is kept. Default: the module's.
//
//	vm.swappiness:
//	  sysctl.present:
//	    - value: 20
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	if a.Config == nil {
		file, err := m.env.Call(ctx, "sysctl.default_config", nil, nil)
		if err != nil {
			return change.Result{}, err
		}
		a.Config = file
	}
	value := data.Str(a.Value)
	return change.Thing[setting]{
		Name: a.Name,
		Look: func(ctx context.Context) (setting, error) { return m.look(ctx, a) },
		Wants: func(now setting) *data.Map {
			return change.When(!now.has(value), data.NewMap(a.Name, a.Value))
		},
		Apply: func(ctx context.Context, _ setting) error {
			_, err := m.env.Call(ctx, "sysctl.persist", []any{a.Name, a.Value, a.Config}, nil)
			return change.Except(err, loader.KindExecution)
		},
		Silent: true,
		Say:    func(o change.Outcome[setting]) any { return a.say(o) },
	}.Ensure(ctx)
}

// look reads how the parameter is.
func (m *module) look(ctx context.Context, a presentArgs) (setting, error) {
	shown, err := change.Ask[any](ctx, m.env, "sysctl.show", nil, data.NewMap("config_file", a.Config))
	if err != nil {
		return setting{}, err
	}
	now, err := change.Ask[any](ctx, m.env, "sysctl.get", []any{a.Name}, nil)
	file, _ := shown.(*data.Map)
	return setting{file.Value(a.Name), shown != nil, data.Str(now)}, err
}

// say returns the comment.
func (a presentArgs) say(o change.Outcome[setting]) string {
	value := data.Str(a.Value)
	switch {
	case o.Stage == change.StageSame:
		return fmt.Sprintf("Sysctl value %s = %s is already set", a.Name, value)
	case o.Stage == change.StageWould:
		return o.Before.would(a)
	case o.Stage == change.StageDone:
		return fmt.Sprintf("Updated sysctl value %s = %s", a.Name, value)
	case o.Err != nil:
		return fmt.Sprintf("Failed to set %s to %s: %s", a.Name, value, o.Err)
	}
	return fmt.Sprintf("Failed to set %s to %s: it is %s, in %s %s",
		a.Name, value, o.After.now, data.Str(a.Config), data.Str(o.After.configured))
}

// would says what is to change.
func (s setting) would(a presentArgs) string {
	value := data.Str(a.Value)
	switch {
	case !s.readable:
		return fmt.Sprintf("Sysctl option %s might be changed, we failed to check config file at %s. "+
			"The file is either unreadable, or missing.", a.Name, data.Str(a.Config))
	case s.now == "" && s.configured != nil:
		return fmt.Sprintf("Sysctl value %s is present in configuration file but is not present in the "+
			"running config. The value %s is set to be changed to %s", a.Name, a.Name, value)
	case s.now == "" || s.configured != nil:
		return fmt.Sprintf("Sysctl option %s would be changed to %s", a.Name, value)
	case words(s.now) != words(value):
		return fmt.Sprintf("Sysctl option %s set to be changed to %s", a.Name, value)
	}
	return fmt.Sprintf("Sysctl value is currently set on the running system but not in a config file. "+
		"Sysctl option %s set to be changed to %s in config file.", a.Name, value)
}
