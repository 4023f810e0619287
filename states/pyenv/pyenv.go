// Package pyenv is Salt's state pyenv: versions of Python that the program pyenv installs
// (salt/states/pyenv.py). It uses the module pyenv.
//
// Differences from Salt: test mode looks at what is installed. A new default version is a change.
// install_pyenv installs pyenv; Salt looks for a version of Python by the name of the user. After a
// change, each state looks again.
package pyenv

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pyenv.
func Plugin() loader.Plugin { return loader.Plugin{Name: "pyenv", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("absent", m.absent),
		loader.F("install_pyenv", m.installPyenv),
		loader.F("installed", m.installed),
	}}, nil
}

// A host is what pyenv has of a version of Python.
type host struct {
	pyenv     bool
	python    bool
	byDefault string
}

func (m *module) look(ctx context.Context, python string, user any) (now host, err error) {
	if now.pyenv, err = change.Ask[bool](ctx, m.env, "pyenv.is_installed", []any{user}, nil); err != nil {
		return now, err
	}
	now.byDefault, err = change.Ask[string](ctx, m.env, "pyenv.default", nil, data.NewMap("runas", user))
	if err != nil {
		return now, err
	}
	versions, err := change.Ask[[]any](ctx, m.env, "pyenv.versions", []any{user}, nil)
	now.python = slices.Contains(versions, any(python))
	return now, err
}

// pyenv installs pyenv if it is not there.
func (m *module) pyenv(ctx context.Context, now host, user any) error {
	if now.pyenv {
		return nil
	}
	ok, err := change.Ask[bool](ctx, m.env, "pyenv.install", []any{user}, nil)
	if err == nil && !ok {
		err = change.Reason("pyenv failed to install")
	}
	return err
}

type installedArgs struct {
	Name    string
	Default any `default:"False"`
	User    any `default:"None"`
}

// installed keeps a version of Python installed. pyenv itself is installed if it is not there.
//
// default
//
//	True: make it the default version.
//
// user
//
//	The user to run pyenv as.
//
//	python-3.12.4:
//	  pyenv.installed:
//	    - default: True
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	python := strings.TrimPrefix(a.Name, "python-")
	runas := data.NewMap("runas", a.User)
	var before host
	result, err := change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, python, a.User) },
		Wants: func(now host) *data.Map {
			changes := &data.Map{}
			if !now.python {
				changes.Set(python, "Installed")
			} else if data.Truth(a.Default) && now.byDefault != python {
				changes.Set("default", change.OldNew(now.byDefault, python))
			}
			return changes
		},
		Apply: func(ctx context.Context, now host) error {
			if err := m.pyenv(ctx, now, a.User); err != nil {
				return err
			}
			if !now.python {
				v, err := change.Ask[any](ctx, m.env, "pyenv.install_python", []any{python}, runas)
				if err != nil {
					return err
				}
				if v == false {
					return change.Reason("Could not install python.")
				}
			}
			if !data.Truth(a.Default) {
				return nil
			}
			return change.Do(ctx, m.env, "pyenv.default", []any{python}, runas)
		},
		Silent: true,
		Say: func(o change.Outcome[host]) any {
			before = o.Before
			switch {
			case o.Stage == change.StageWould && o.Before.python:
				return "python " + python + " is set to be the default"
			case o.Stage == change.StageWould:
				return "python " + python + " is set to be installed"
			case o.Stage == change.StageFailed:
				return nil
			case o.Before.python:
				return "Requested python exists."
			}
			return "Successfully installed python"
		},
	}.Ensure(ctx)
	switch {
	case result.Verdict == change.Pending:
	case before.python:
		result.More = data.NewMap("default", before.byDefault == python)
	case result.Verdict == change.Success:
		result.More = data.NewMap("default", a.Default)
	}
	return result, err
}

type absentArgs struct {
	Name string
	User any `default:"None"`
}

// absent keeps a version of Python uninstalled. The default version becomes that of the system if it
// was this one.
//
// user
//
//	The user to run pyenv as.
//
//	python-2.7.18:
//	  pyenv.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	python := strings.TrimPrefix(a.Name, "python-")
	var before host
	result, err := change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, python, a.User) },
		Wants: func(now host) *data.Map {
			return change.When(now.python, data.NewMap(python, "Uninstalled"))
		},
		Apply: func(ctx context.Context, now host) error {
			runas := data.NewMap("runas", a.User)
			if now.byDefault == python {
				if err := change.Do(ctx, m.env, "pyenv.default", []any{"system"}, runas); err != nil {
					return err
				}
			}
			return change.Do(ctx, m.env, "pyenv.uninstall_python", []any{python}, runas)
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "python " + python + " is already absent",
			Would:  "python " + python + " is set to be uninstalled",
			Done:   "Successfully removed python",
			Failed: "Failed to uninstall python",
		},
		Say: func(o change.Outcome[host]) any {
			before = o.Before
			if o.Stage == change.StageSame && !o.Before.pyenv {
				return "pyenv not installed, " + python + " not either"
			}
			return nil
		},
	}.Ensure(ctx)
	if before.python && result.Verdict != change.Pending {
		result.More = data.NewMap("default", before.byDefault == python)
	}
	return result, err
}

// installPyenv keeps pyenv installed.
//
// user
//
//	The user to run pyenv as.
//
//	pyenv:
//	  pyenv.install_pyenv
func (m *module) installPyenv(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, "", a.User) },
		Wants: func(now host) *data.Map {
			return change.When(!now.pyenv, data.NewMap("pyenv", "Installed"))
		},
		Apply:  func(ctx context.Context, now host) error { return m.pyenv(ctx, now, a.User) },
		Silent: true,
		Texts: change.Texts{
			Same:   "pyenv is already installed",
			Would:  "pyenv is set to be installed",
			Done:   "pyenv installed",
			Failed: "pyenv failed to install",
		},
	}.Ensure(ctx)
}
