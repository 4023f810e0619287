// Package kernelpkg is Salt's state kernelpkg: the installed and the running kernel
// (salt/states/kernelpkg.py). It uses the module kernelpkg.
package kernelpkg

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state kernelpkg. It is available on hosts with a module kernelpkg.
func Plugin() loader.Plugin { return loader.Plugin{Name: "kernelpkg", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("kernelpkg.upgrade") {
		return nil, errors.New("kernelpkg module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("latest_active", m.latestActive),
		loader.F("latest_installed", m.latestInstalled),
		loader.F("latest_wait", m.latestWait),
		loader.F("mod_watch", m.modWatch),
	}}, nil
}

type installedArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// latestInstalled keeps the latest kernel of the repositories installed. It becomes active at the next
// boot.
//
//	install-latest-kernel:
//	  kernelpkg.latest_installed: []
func (m *module) latestInstalled(ctx context.Context, a installedArgs) (change.Result, error) {
	var upgrades *data.Map
	latest := ""
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			installed, err := change.Ask[[]any](ctx, m.env, "kernelpkg.list_installed", nil, nil)
			if err != nil {
				return false, err
			}
			available, err := change.Ask[any](ctx, m.env, "kernelpkg.latest_available", nil, nil)
			latest = data.Str(available)
			return slices.Contains(installed, available), err
		},
		Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap("kernel", latest)) },
		Apply: func(ctx context.Context, _ bool) error {
			result, err := change.Ask[*data.Map](ctx, m.env, "kernelpkg.upgrade", nil, nil)
			upgrades, _ = result.Value("upgrades").(*data.Map)
			return err
		},
		Changed: func(bool, bool) *data.Map { return upgrades },
		Silent:  true,
		Texts:   change.Texts{Done: "The latest kernel package has been installed, but not activated."},
		Say: func(o change.Outcome[bool]) any {
			switch o.Stage {
			case change.StageSame:
				return "The latest kernel package is already installed: " + latest
			case change.StageWould:
				return "The latest kernel package will be installed: " + latest
			}
			return nil
		},
	}.Ensure(ctx)
}

type activeArgs struct {
	Name   string
	AtTime any       `name:"at_time" default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// latestActive reboots the host if a later kernel than the running one is installed.
//
// at_time
//
//	When to reboot, in minutes. Default: at once.
//
//	boot-latest-kernel:
//	  kernelpkg.latest_active:
//	    - at_time: 1
func (m *module) latestActive(ctx context.Context, a activeArgs) (change.Result, error) {
	var active, latest any
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (stale bool, err error) {
			if active, err = change.Ask[any](ctx, m.env, "kernelpkg.active", nil, nil); err != nil {
				return false, err
			}
			if latest, err = change.Ask[any](ctx, m.env, "kernelpkg.latest_installed", nil, nil); err != nil {
				return false, err
			}
			return change.Ask[bool](ctx, m.env, "kernelpkg.needs_reboot", nil, nil)
		},
		Wants: func(stale bool) *data.Map {
			return change.When(stale, data.NewMap("kernel", change.OldNew(active, latest)))
		},
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, "system.reboot", nil, data.NewMap("at_time", a.AtTime))
		},
		Trust: true, // the running kernel changes with the reboot
		Say: func(o change.Outcome[bool]) any {
			switch o.Stage {
			case change.StageSame:
				return "The latest installed kernel package is active: " + data.Str(active)
			case change.StageWould, change.StageDone:
				return "The system will be booted to activate kernel: " + data.Str(latest)
			}
			return nil
		},
	}.Ensure(ctx)
}

// latestWait is kernelpkg.latest_active for watch and listen: it does nothing unless one of them fires.
//
//	boot-latest-kernel:
//	  kernelpkg.latest_wait:
//	    - at_time: 1
//	    - listen:
//	      - pkg: system-up-to-date
func (m *module) latestWait(_ context.Context, a activeArgs) (change.Result, error) {
	return change.Leave(a.Name, "")
}

type watchArgs struct {
	Name   string
	Sfun   string
	AtTime any       `name:"at_time" default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch reboots the host like kernelpkg.latest_active, when a watch or listen fires.
func (m *module) modWatch(ctx context.Context, a watchArgs) (change.Result, error) {
	if a.Sfun != "latest_active" && a.Sfun != "latest_wait" {
		return change.Refuse(a.Name, "kernelpkg."+a.Sfun+" does not work with the watch requisite.")
	}
	return m.latestActive(ctx, activeArgs{Name: a.Name, AtTime: a.AtTime})
}
