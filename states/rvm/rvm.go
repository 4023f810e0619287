// Package rvm is Salt's state rvm: versions of Ruby and sets of gems that the program rvm installs
// (salt/states/rvm.py). It uses the module rvm.
//
// Differences from Salt: test mode looks at what is installed. Another default version is a change.
// gemset_present asks rvm of the user for the version too. After a change, each state looks again.
package rvm

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state rvm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rvm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("gemset_present", m.gemsetPresent),
		loader.F("installed", m.installed),
	}}, nil
}

// A host is what rvm has of a version of Ruby.
type host struct {
	rvm, ruby, byDefault bool
}

func (m *module) look(ctx context.Context, ruby string, user any) (now host, err error) {
	if now.rvm, err = change.Ask[bool](ctx, m.env, "rvm.is_installed", []any{user}, nil); err != nil {
		return now, err
	}
	list, err := change.Ask[[]any](ctx, m.env, "rvm.list", nil, data.NewMap("runas", user))
	for _, v := range list {
		if one, _ := v.([]any); len(one) == 3 && same(ruby, data.Str(one[0]), data.Str(one[1])) {
			now.ruby, now.byDefault = true, now.byDefault || one[2] == true
		}
	}
	return now, err
}

var (
	patchLevel = regexp.MustCompile(`-([0-9]{4}\.[0-9]{2}|p[0-9]+)$`)
	justName   = regexp.MustCompile(`^[a-z]+$`)
)

// same reports whether an installed version is the one that ruby asks for: without a patch level any
// of them counts, and the name of an implementation alone stands for all its versions.
func same(ruby, implementation, version string) bool {
	if implementation != "ruby" {
		version = implementation + "-" + version
	}
	if !patchLevel.MatchString(ruby) {
		version = patchLevel.ReplaceAllString(version, "")
	}
	if justName.MatchString(ruby) {
		version, _, _ = strings.Cut(version, "-")
	}
	return version == strings.TrimPrefix(ruby, "ruby-")
}

type installedArgs struct {
	Name    string
	Default any `default:"False"`
	User    any `default:"None"`
	Opts    any `default:"None"`
	Env     any `default:"None"`
}

// installed keeps a version of Ruby installed. rvm itself is installed if it is not there.
//
// default
//
//	True: make it the default version.
//
// user
//
//	The user to run rvm as.
//
// opts
//
//	A list of options for rvm install, such as --patch.
//
// env
//
//	Variables for the build, such as RUBY_CONFIGURE_OPTS.
//
//	ruby-3.3.4:
//	  rvm.installed:
//	    - default: True
//	    - user: rvm
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	runas := data.NewMap("runas", a.User)
	var before host
	result, err := change.Thing[host]{
		Name: a.Name,
		Look: func(ctx context.Context) (host, error) { return m.look(ctx, a.Name, a.User) },
		Wants: func(now host) *data.Map {
			changes := &data.Map{}
			if !now.ruby {
				changes.Set(a.Name, "Installed")
			} else if data.Truth(a.Default) && !now.byDefault {
				changes.Set("default", a.Name)
			}
			return changes
		},
		Apply: func(ctx context.Context, now host) error {
			if err := m.install(ctx, now, a); err != nil || !data.Truth(a.Default) {
				return err
			}
			return change.Do(ctx, m.env, "rvm.set_default", []any{a.Name}, runas)
		},
		Silent: true,
		Say: func(o change.Outcome[host]) any {
			before = o.Before
			switch {
			case o.Stage == change.StageWould && o.Before.ruby:
				return "Ruby " + a.Name + " is set to be the default"
			case o.Stage == change.StageWould:
				return "Ruby " + a.Name + " is set to be installed"
			case o.Stage == change.StageFailed:
				return nil
			case o.Before.ruby:
				return "Requested ruby exists."
			}
			return "Successfully installed ruby."
		},
	}.Ensure(ctx)
	switch {
	case result.Verdict == change.Pending:
	case before.ruby:
		result.More = data.NewMap("default", before.byDefault)
	case result.Verdict == change.Success:
		result.More = data.NewMap("default", false)
	}
	return result, err
}

// install installs what is missing of rvm and a version of Ruby.
func (m *module) install(ctx context.Context, now host, a installedArgs) error {
	if !now.rvm {
		ok, err := change.Ask[bool](ctx, m.env, "rvm.install", nil, data.NewMap("runas", a.User))
		if err != nil {
			return err
		}
		if !ok {
			return change.Reason("RVM failed to install.")
		}
	}
	if now.ruby {
		return nil
	}
	v, err := change.Ask[any](ctx, m.env, "rvm.install_ruby", []any{a.Name},
		data.NewMap("runas", a.User, "opts", a.Opts, "env", a.Env))
	if err == nil && v == false {
		err = change.Reason("Could not install ruby.")
	}
	return err
}

type gemsetArgs struct {
	Name string
	Ruby any `default:"'default'"`
	User any `default:"None"`
}

// gemsetPresent keeps a set of gems. rvm must be installed.
//
// name
//
//	The set, or the version of Ruby and the set: ruby-3.3.4@mygemset.
//
// ruby
//
//	The version of Ruby.
//
// user
//
//	The user to run rvm as.
//
//	mygemset:
//	  rvm.gemset_present:
//	    - ruby: ruby-3.3.4
//	    - user: rvm
func (m *module) gemsetPresent(ctx context.Context, a gemsetArgs) (change.Result, error) {
	ruby, gemset, named := strings.Cut(a.Name, "@")
	if !named {
		ruby, gemset = data.Str(a.Ruby), a.Name
	}
	now, err := m.look(ctx, ruby, a.User)
	switch {
	case err != nil:
		return change.Result{}, err
	case !now.rvm:
		return change.Refuse(a.Name, "RVM is not installed.")
	case named && !now.ruby:
		return change.Refuse(a.Name, "Requested ruby implementation was not found.")
	}
	runas, more := data.NewMap("runas", a.User), (*data.Map)(nil)
	if named {
		more = data.NewMap("default", now.byDefault)
	}
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			list, err := change.Ask[[]any](ctx, m.env, "rvm.gemset_list", []any{ruby}, runas)
			return slices.Contains(list, any(gemset)), err
		},
		Wants: func(there bool) *data.Map { return change.When(!there, data.NewMap(gemset, "created")) },
		Apply: func(ctx context.Context, _ bool) error {
			v, err := change.Ask[any](ctx, m.env, "rvm.gemset_create", []any{ruby, gemset}, runas)
			if err == nil && v == false {
				err = change.Reason("Gemset could not be created.")
			}
			return err
		},
		Silent: true,
		Texts: change.Texts{
			Same:   "Gemset already exists.",
			Would:  "Set to install gemset " + gemset,
			Done:   "Gemset successfully created.",
			Failed: "Gemset could not be created.",
		},
		More: more,
	}.Ensure(ctx)
}
