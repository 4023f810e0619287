// Package gem is Salt's module gem: packages of Ruby (salt/modules/gem.py).
//
// A module rvm or rbenv of the user's own runs the program gem, as Salt's do. Brine has neither, so
// without them the parameter ruby has no effect. Errors have URLs without their passwords.
package gem

import (
	"context"
	"regexp"
	"runtime"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module gem.
func Plugin() loader.Plugin { return loader.Plugin{Name: "gem", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("install", m.install).Secret("source", "proxy"),
		loader.F("list", m.list).Def("list_"),
		loader.F("list_upgrades", m.listUpgrades),
		loader.F("sources_add", m.sourcesAdd).Secret("source_uri"),
		loader.F("sources_list", m.sourcesList),
		loader.F("sources_remove", m.sourcesRemove).Secret("source_uri"),
		loader.F("uninstall", m.uninstall),
		loader.F("update", m.update),
		loader.F("update_system", m.updateSystem),
		loader.F("version", m.version),
	}}, nil
}

// place sets which program runs, and as which user.
type place struct {
	Ruby   any `default:"None"`
	Runas  any `default:"None"`
	GemBin any `default:"None"`
}

// run runs gem and returns its output. Its failure is an error with its standard error.
func (m *module) run(ctx context.Context, p place, args ...string) (string, error) {
	argv := append([]string{"gem"}, args...)
	switch {
	case data.Truth(p.GemBin):
		argv[0] = data.Str(p.GemBin)
	case p.GemBin == nil:
		for _, manager := range []string{"rvm", "rbenv"} {
			if ok, err := m.managed(ctx, manager, p); err != nil || ok {
				return m.throughManager(ctx, manager, p, argv, err)
			}
		}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, As: calls.Text(p.Runas)})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("%s", data.Str(config.Masked("", ran.Stderr)))
	}
	return ran.Stdout, err
}

// managed reports whether a manager of Ruby versions is installed.
func (m *module) managed(ctx context.Context, manager string, p place) (bool, error) {
	if !m.env.Functions.Has(manager+".is_installed") || manager == "rbenv" && runtime.GOOS == "windows" {
		return false, nil
	}
	is, err := m.env.Call(ctx, manager+".is_installed", nil, data.NewMap("runas", p.Runas))
	return data.Truth(is), err
}

// throughManager runs gem through a manager of Ruby versions, unless err is not nil.
func (m *module) throughManager(
	ctx context.Context, manager string, p place, argv []string, err error,
) (string, error) {
	if err != nil {
		return "", err
	}
	fun, args := manager+".do", []any{p.Ruby, data.Values(argv)}
	switch {
	case manager == "rbenv" && p.Ruby == nil:
		args = args[1:]
	case manager == "rbenv":
		fun = "rbenv.do_with_ruby"
	}
	return calls.Found[string](ctx, m.env, fun, args, data.NewMap("runas", p.Runas))
}

// words returns the names in a text or list. None may be an option.
func words(gems any) ([]string, error) {
	var names []string
	if text, ok := gems.(string); ok {
		names = strings.Fields(text)
	} else {
		names = data.TextsOf(gems)
	}
	return names, process.PlainOperands(names...)
}

// parsed returns the first and second group of each line that a pattern matches.
func parsed(text string, pattern *regexp.Regexp, add func(name, value string)) {
	for line := range strings.SplitSeq(text, "\n") {
		if found := pattern.FindStringSubmatch(line); found != nil {
			add(found[1], found[2])
		}
	}
}

type versionArgs struct{ place }

// version returns the version of the program gem, or an empty dictionary if it prints none.
//
// CLI Example:
//
//	salt '*' gem.version
func (m *module) version(ctx context.Context, a versionArgs) (any, error) {
	text, err := m.run(ctx, a.place, "--version")
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && strings.ContainsAny(line[:1], ".0123456789") {
			return line, nil
		}
	}
	return data.NewMap(), nil
}

type listArgs struct {
	Prefix any `default:"''"`
	place
}

// list returns the installed gems, each with the list of its versions. Only gems whose names match
// prefix are listed.
//
// CLI Example:
//
//	salt '*' gem.list
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	argv := []string{"list"}
	if prefix := calls.Text(a.Prefix); prefix != "" {
		if err := process.PlainOperands(prefix); err != nil {
			return nil, loader.Execution("%w", err)
		}
		argv = append(argv, prefix)
	}
	text, err := m.run(ctx, a.place, argv...)
	if err != nil {
		return nil, err
	}
	gems := &data.Map{}
	parsed(text, regexp.MustCompile(`^([^ ]+) \((.+)\)`), func(name, versions string) {
		gems.Set(name, data.Values(strings.Split(versions, ", ")))
	})
	return gems, nil
}

type upgradesArgs struct{ place }

// listUpgrades returns the gems of which newer versions exist, each with that version.
//
// CLI Example:
//
//	salt '*' gem.list_upgrades
func (m *module) listUpgrades(ctx context.Context, a upgradesArgs) (any, error) {
	text, err := m.run(ctx, a.place, "outdated")
	if err != nil {
		return nil, err
	}
	gems := &data.Map{}
	parsed(text, regexp.MustCompile(`(\S+) \(\S+ < (\S+)\)`), func(name, version string) {
		gems.Set(name, version)
	})
	return gems, nil
}
