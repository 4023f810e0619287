// Package sysctl is Salt's state sysctl: it sets kernel parameters, now and for the next boot
// (salt/states/sysctl.py). It uses the module sysctl.
//
// Differences from Salt: test mode also detects that the configuration file differs from the active
// value. After a change the values are read again.
package sysctl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
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

// A setting is the current state of a parameter.
type setting struct {
	configured any // in the file; nil if it is missing there
	readable   bool
	now        string // active value; "" if there is none
}

// has reports whether a parameter has a value, both in the file and active.
func (s setting) has(value string) bool {
	return s.readable && s.configured != nil && words(data.Str(s.configured)) == words(value) &&
		words(s.now) == words(value)
}

// words returns a value with single spaces between its parts.
func words(value string) string { return strings.Join(strings.Fields(value), " ") }

// present sets a kernel parameter.
//
// config
//
//	The configuration file. Default: the module's default.
//
//	vm.swappiness:
//	  sysctl.present:
//	    - value: 20
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	if a.Config == nil {
		file, err := loader.CallAs[string](ctx, m.env, "sysctl.default_config", nil, nil)
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
		Say:    func(o change.Outcome[setting]) any { return a.comment(o) },
	}.Ensure(ctx)
}

// look reads the parameter.
func (m *module) look(ctx context.Context, a presentArgs) (setting, error) {
	shown, err := change.Ask[any](ctx, m.env, "sysctl.show", nil,
		data.NewMap("config_file", a.Config))
	if err != nil {
		return setting{}, err
	}
	file, err := calls.FoundIn[*data.Map]("sysctl.show", shown)
	if err != nil {
		return setting{}, err
	}
	now, err := change.Ask[any](ctx, m.env, "sysctl.get", []any{a.Name}, nil)
	return setting{file.Value(a.Name), shown != nil, data.Str(now)}, err
}

// comment returns the comment.
func (a presentArgs) comment(o change.Outcome[setting]) string {
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

// would describes the planned changes.
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
