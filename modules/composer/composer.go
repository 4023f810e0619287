// Package composer is Salt's module composer: dependencies of PHP projects, by the program composer
// (salt/modules/composer.py).
package composer

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module composer.
func Plugin() loader.Plugin { return loader.Plugin{Name: "composer", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("did_composer_install", m.didComposerInstall),
		loader.F("install", m.install),
		loader.F("selfupdate", m.selfupdate),
		loader.F("update", m.update),
	}}, nil
}

type dirArgs struct{ Dir string }

// didComposerInstall returns whether a directory has a directory vendor, which composer makes.
//
// CLI Example:
//
//	salt '*' composer.did_composer_install /var/www/application
func (m *module) didComposerInstall(_ context.Context, a dirArgs) (any, error) {
	_, err := os.Stat(filepath.Join(a.Dir, "vendor"))
	return err == nil, nil
}

type runArgs struct {
	Directory    string
	Composer     any `default:"None"`
	PHP          any `name:"php" default:"None"`
	Runas        any `default:"None"`
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

// run runs an action of composer in a directory, if there is one.
func (m *module) run(ctx context.Context, action string, a runArgs, flags ...string) (any, error) {
	composer, argv := "composer", []string{}
	if a.Composer != nil {
		composer, argv = data.Str(a.Composer), []string{"php"}
	}
	if a.PHP != nil {
		argv = []string{data.Str(a.PHP)}
	}
	if process.Find(composer) == "" {
		return nil, loader.NotFound("'composer.%s' is not available. Couldn't find '%s'.", action, composer)
	}
	if err := process.PlainOperands(append([]string{composer, a.Directory}, argv...)...); err != nil {
		return nil, loader.Execution("%w", err)
	}
	argv = append(append(argv, composer, action, "--no-interaction", "--no-ansi"), flags...)
	if a.Directory != "" {
		argv = append(argv, "--working-dir", a.Directory)
	}
	for _, option := range []struct {
		v    any
		name string
	}{{a.Quiet, "--quiet"}, {a.NoDev, "--no-dev"}, {a.PreferSource, "--prefer-source"}, {a.PreferDist,
		"--prefer-dist"},
		{a.NoScripts, "--no-scripts"}, {a.NoPlugins, "--no-plugins"}, {a.Optimize, "--optimize-autoloader"}} {
		if option.v == true {
			argv = append(argv, option.name)
		}
	}
	env := variables(a.Env)
	env.Set("COMPOSER_HOME", a.ComposerHome)
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(a.Runas), Env: env})
	switch {
	case err != nil:
		return nil, err
	case ran.Retcode != 0:
		return nil, loader.Execution("%s", ran.Stderr)
	case a.Quiet == true:
		return true, nil
	}
	return ran.Map, nil
}

// variables returns the variables of a dictionary, or of a list of dictionaries.
func variables(v any) *data.Map {
	all := &data.Map{}
	if one, ok := v.(*data.Map); ok {
		all.Update(one)
	}
	for _, item := range data.ListOf(v) {
		if one, ok := item.(*data.Map); ok {
			all.Update(one)
		}
	}
	return all
}

// install installs the dependencies of a project, and returns the result of the program.
//
// directory
//
//	The directory of composer.json.
//
// composer, php
//
//	The programs: composer in the search path by default, or a composer.phar and the php for it.
//
// runas
//
//	The user to run composer as.
//
// prefer_source, prefer_dist, no_scripts, no_plugins, no_dev, quiet, optimize
//
//	True: the option of composer; optimize is --optimize-autoloader.
//
// composer_home, env
//
//	The variable COMPOSER_HOME, and other variables as a dictionary or a list of them.
//
// CLI Example:
//
//	salt '*' composer.install /var/www/application
//	salt '*' composer.install /var/www/application no_dev=True optimize=True
func (m *module) install(ctx context.Context, a runArgs) (any, error) {
	return m.run(ctx, "install", a)
}

// update updates the dependencies of a project, and returns the result of the program. Its arguments
// are those of composer.install.
//
// CLI Example:
//
//	salt '*' composer.update /var/www/application
func (m *module) update(ctx context.Context, a runArgs) (any, error) {
	return m.run(ctx, "update", a, "--no-progress")
}

type selfArgs struct {
	Composer     any `default:"None"`
	PHP          any `name:"php" default:"None"`
	Runas        any `default:"None"`
	Quiet        any `default:"False"`
	ComposerHome any `name:"composer_home" default:"'/root'"`
}

// selfupdate updates composer itself, and returns the result of the program.
//
// CLI Example:
//
//	salt '*' composer.selfupdate
func (m *module) selfupdate(ctx context.Context, a selfArgs) (any, error) {
	return m.run(ctx, "selfupdate", runArgs{Composer: a.Composer, PHP: a.PHP, Runas: a.Runas, Quiet: a.Quiet,
		ComposerHome: a.ComposerHome}, "--no-progress")
}
