// Package rbenv is Salt's state rbenv: versions of Ruby that the program rbenv installs
// (salt/states/rbenv.py). It uses the module rbenv.
//
// Differences from Salt: a new default version is a change, in test mode too. After a change, each
// state looks again.
package rbenv

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state rbenv.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rbenv", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("install_rbenv", m.installRbenv),
		loader.F("installed", m.installed),
	}}, nil
}

// A host is what rbenv has of a version of Ruby.
type host struct {
	rbenv     bool
	ruby      bool
	byDefault string
}

func (m *module) look(ctx context.Context, ruby string, user any) (now host, err error) {
	if now.rbenv, err = change.Ask[bool](ctx, m.env, "rbenv.is_installed", []any{user}, nil); err != nil {
		return now, err
	}
	now.byDefault, err = change.Ask[string](ctx, m.env, "rbenv.default", nil, data.NewMap("runas", user))
	if err != nil {
		return now, err
	}
	versions, err := change.Ask[[]any](ctx, m.env, "rbenv.versions", []any{user}, nil)
	now.ruby = slices.Contains(versions, any(ruby))
	return now, err
}

// rbenv installs rbenv if it is not there.
func (m *module) rbenv(ctx context.Context, now host, user any) error {
	if now.rbenv {
		return nil
	}
	ok, err := change.Ask[bool](ctx, m.env, "rbenv.install", []any{user}, nil)
	if err == nil && !ok {
		err = change.Reason("Rbenv failed to install")
	}
	return err
}

type installedArgs struct {
	Name    string
	Default any `default:"False"`
	User    any `default:"None"`
}

// installed keeps a version of Ruby installed. rbenv itself is installed if it is not there.
//
// default
//
//	True: make it the default version.
//
// user
//
//	The user to run rbenv as.
//
//	ruby-2.0.0-p598:
//	  rbenv.installed:
//	    - default: True
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	ruby := strings.TrimPrefix(a.Name, "ruby-")
	var before host
	result, err := change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, ruby, a.User) },
		Wants: func(now host) *data.Map {
			changes := &data.Map{}
			if !now.ruby {
				changes.Set(ruby, "Installed")
			} else if data.Truth(a.Default) && now.byDefault != ruby {
				changes.Set("default", change.OldNew(now.byDefault, ruby))
			}
			return changes
		},
		Apply: func(ctx context.Context, now host) error {
			if err := m.rbenv(ctx, now, a.User); err != nil {
				return err
			}
			if !now.ruby {
				v, err := change.Ask[any](ctx, m.env, "rbenv.install_ruby", []any{ruby},
					data.NewMap("runas", a.User))
				if err != nil {
					return err
				}
				if v == false {
					return change.Reason("Failed to install ruby")
				}
			}
			if !data.Truth(a.Default) {
				return nil
			}
			return change.Do(ctx, m.env, "rbenv.default", []any{ruby}, data.NewMap("runas", a.User))
		},
		Silent: true,
		Say: func(o change.Outcome[host]) any {
			before = o.Before
			switch {
			case o.Stage == change.StageWould && o.Before.ruby:
				return "Ruby " + ruby + " is set to be the default"
			case o.Stage == change.StageWould:
				return "Ruby " + ruby + " is set to be installed"
			case o.Stage == change.StageSame && o.Test:
				return "Ruby " + ruby + " is already installed"
			case o.Stage == change.StageFailed:
				return nil
			case o.Before.ruby:
				return "Requested ruby exists"
			}
			return "Successfully installed ruby"
		},
	}.Ensure(ctx)
	switch {
	case before.ruby:
		result.More = data.NewMap("default", before.byDefault == ruby)
	case result.Verdict == change.Success:
		result.More = data.NewMap("default", a.Default)
	}
	return result, err
}

type absentArgs struct {
	Name string
	User any `default:"None"`
}

// absent keeps a version of Ruby uninstalled. The default version becomes that of the system if it was
// this one.
//
// user
//
//	The user to run rbenv as.
//
//	ruby-1.9.3-p429:
//	  rbenv.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	ruby := strings.TrimPrefix(a.Name, "ruby-")
	var before host
	result, err := change.Thing[host]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (host, error) { return m.look(ctx, ruby, a.User) },
		Wants: func(now host) *data.Map { return change.When(now.ruby, data.NewMap(ruby, "Uninstalled")) },
		Apply: func(ctx context.Context, now host) error {
			runas := data.NewMap("runas", a.User)
			if now.byDefault == ruby {
				if err := change.Do(ctx, m.env, "rbenv.default", []any{"system"}, runas); err != nil {
					return err
				}
			}
			return change.Do(ctx, m.env, "rbenv.uninstall_ruby", []any{ruby}, runas)
		},
		Silent: true,
		Texts: change.Texts{
			Would:  "Ruby " + ruby + " is set to be uninstalled",
			Done:   "Successfully removed ruby",
			Failed: "Failed to uninstall ruby",
		},
		Say: func(o change.Outcome[host]) any {
			before = o.Before
			switch {
			case o.Stage != change.StageSame:
				return nil
			case !o.Before.rbenv:
				return "Rbenv not installed, " + ruby + " not either"
			case o.Test:
				return "Ruby " + ruby + " is already uninstalled"
			}
			return "Ruby " + ruby + " is already absent"
		},
	}.Ensure(ctx)
	if before.ruby {
		result.More = data.NewMap("default", before.byDefault == ruby)
	}
	return result, err
}

// installRbenv keeps rbenv installed, with its plug-in ruby-build.
//
// user
//
//	The user to run rbenv as.
//
//	rbenv:
//	  rbenv.install_rbenv
func (m *module) installRbenv(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, "", a.User) },
		Wants: func(now host) *data.Map {
			return change.When(!now.rbenv,
				data.NewMap("rbenv", "Installed"))
		},
		Apply:   func(ctx context.Context, now host) error { return m.rbenv(ctx, now, a.User) },
		Changed: func(host, host) *data.Map { return nil }, // as in Salt
		Silent:  true,
		Texts: change.Texts{
			Same:   "Rbenv is already installed",
			Would:  "Rbenv is set to be installed",
			Done:   "Rbenv installed",
			Failed: "Rbenv failed to install",
		},
	}.Ensure(ctx)
}
