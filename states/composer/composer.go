// Package composer is Salt's state composer: dependencies of PHP projects (salt/states/composer.py). It
// uses the module composer.
//
// Differences from Salt: a run in which composer says that there was nothing to install, wrote no lock file
// and made no directory vendor has no changes, where Salt reports the output of each run; test mode
// of composer.update tells rightly whether composer has been run. As in Salt, a run with quiet reports no changes.
package composer

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state composer.
func Plugin() loader.Plugin { return loader.Plugin{Name: "composer", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("composer.install") {
		return nil, errors.New("composer module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("installed", m.installed),
		loader.F("update", m.update),
	}}, nil
}

type updateArgs struct {
	Name         string
	Composer     any `default:"None"`
	PHP          any `name:"php" default:"None"`
	User         any `default:"None"`
	PreferSource any `name:"prefer_source" default:"None"`
	PreferDist   any `name:"prefer_dist" default:"None"`
	NoScripts    any `name:"no_scripts" default:"None"`
	NoPlugins    any `name:"no_plugins" default:"None"`
	Optimize     any `default:"None"`
	NoDev        any `name:"no_dev" default:"None"`
	Quiet        any `default:"False"`
	ComposerHome any `name:"composer_home" default:"'/root'"`
	Env          any `default:"None"`
}

type installedArgs struct {
	Name         string
	Composer     any `default:"None"`
	PHP          any `name:"php" default:"None"`
	User         any `default:"None"`
	PreferSource any `name:"prefer_source" default:"None"`
	PreferDist   any `name:"prefer_dist" default:"None"`
	NoScripts    any `name:"no_scripts" default:"None"`
	NoPlugins    any `name:"no_plugins" default:"None"`
	Optimize     any `default:"None"`
	NoDev        any `name:"no_dev" default:"None"`
	Quiet        any `default:"False"`
	ComposerHome any `name:"composer_home" default:"'/root'"`
	AlwaysCheck  any `name:"always_check" default:"True"`
	Env          any `default:"None"`
}

// common returns the arguments that both states have.
func (a installedArgs) common() updateArgs {
	return updateArgs{a.Name, a.Composer, a.PHP, a.User, a.PreferSource, a.PreferDist, a.NoScripts,
		a.NoPlugins, a.Optimize, a.NoDev, a.Quiet, a.ComposerHome, a.Env}
}

// kwargs returns the arguments of a function of the module.
func (a updateArgs) kwargs() *data.Map {
	return data.NewMap("composer", a.Composer, "php", a.PHP, "runas", a.User, "prefer_source", a.PreferSource,
		"prefer_dist", a.PreferDist, "no_scripts", a.NoScripts, "no_plugins", a.NoPlugins, "optimize", a.Optimize,
		"no_dev", a.NoDev, "quiet", a.Quiet, "composer_home", a.ComposerHome, "env", a.Env)
}

// installed installs the dependencies of the project in a directory.
//
// always_check
//
//	False: only if the directory has no directory vendor. Default: in each run.
//
// user
//
//	The user to run composer as.
//
// The other arguments are those of composer.install.
//
//	/path/to/project:
//	  composer.installed:
//	    - no_dev: True
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	return m.run(ctx, a.common(), "install", "install", a.AlwaysCheck != false)
}

// update updates the dependencies of the project in a directory, in each run. Its arguments are those
// of composer.installed without always_check.
//
//	/path/to/project:
//	  composer.update:
//	    - no_dev: True
func (m *module) update(ctx context.Context, a updateArgs) (change.Result, error) {
	return m.run(ctx, a, "update", "install/update", true)
}

// idle reports whether composer says that it changed nothing. A line about a lock file without modifications
// says nothing of the packages, and one that is written has changed.
func idle(output string) bool {
	nothing := false
	for line := range strings.Lines(output) {
		switch line = strings.TrimSpace(line); {
		case line == "Nothing to install or update", // Composer 1
			line == "Nothing to install, update or remove":
			nothing = true
		case line == "Writing lock file":
			return false
		}
	}
	return nothing
}

// did reports whether composer has been run in a directory.
func (m *module) did(ctx context.Context, dir string) (bool, error) {
	return change.Ask[bool](ctx, m.env, "composer.did_composer_install", []any{dir}, nil)
}

// run runs a function of composer; always false means not in a directory where it ran already.
func (m *module) run(ctx context.Context, a updateArgs, fun, verb string, always bool) (change.Result,
	error) {
	changes := &data.Map{}
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) { return m.did(ctx, a.Name) },
		Wants: func(did bool) *data.Map {
			not := "not "
			if did {
				not = ""
			}
			return change.When(always || !did,
				change.OldNew("composer install has "+not+"been run in "+a.Name,
					"composer "+verb+" will be run in "+a.Name))
		},
		Apply: func(ctx context.Context, did bool) error {
			v, err := m.env.Call(ctx, "composer."+fun, []any{a.Name}, a.kwargs())
			switch loader.KindOf(err) {
			case loader.KindNone:
			case loader.KindExecution, loader.KindNotFound, loader.KindInvocation:
				return change.Reason("Error executing composer in '" + a.Name + "': " + err.Error())
			default:
				return change.Raise(err)
			}
			ran, ok := v.(*data.Map) // quiet has no output
			if !ok {
				return nil
			}
			has, err := m.did(ctx, a.Name)
			if err != nil {
				return err
			}
			if has != did || !idle(ran.Text("stdout")+"\n"+ran.Text("stderr")) {
				changes = data.NewMap("stderr", ran.Value("stderr"), "stdout", ran.Value("stdout"))
			}
			return nil
		},
		Changed: func(bool, bool) *data.Map { return changes },
		Trust:   true, // composer alone knows whether a project is up to date
		Texts:   change.Texts{Same: "Composer already installed this directory"},
		Say: func(o change.Outcome[bool]) any {
			switch {
			case o.Stage == change.StageWould:
				return `The state of "` + a.Name + `" will be changed.`
			case o.Stage == change.StageDone && a.Quiet == true:
				return "Composer " + fun + " completed successfully, output silenced by quiet flag"
			case o.Stage == change.StageDone:
				return "Composer " + fun + " completed successfully"
			}
			return nil
		},
	}.Ensure(ctx)
}
