// Package npm is Salt's state npm: packages of Node.js (salt/states/npm.py). It uses the module npm.
//
// Differences from Salt: test mode returns None if any package would be installed. A package that
// was installed from a URL does not fail the next run. A version may be a range. Where only npm knows
// what is installed, as for a tag, it runs each time, and what it changed is reported. A directory in
// which npm would change
// nothing is bootstrapped. cache_cleaned does nothing for an empty cache, finds named packages, and
// passes force on. After a change, each state looks again.
package npm

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state npm. It is available on hosts with the module npm.
func Plugin() loader.Plugin { return loader.Plugin{Name: "npm", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("npm.list") {
		return nil, errors.New("'npm' binary not found on system")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("bootstrap", m.bootstrap),
		loader.F("cache_cleaned", m.cacheCleaned),
		loader.F("installed", m.installed).Secret("registry"),
		loader.F("removed", m.removed),
	}}, nil
}

// ask calls a function of the module. Only those of its errors that Salt catches fail the state;
// their text begins with prefix.
func ask[R any](ctx context.Context, m *module, prefix, fun string, kwargs *data.Map) (R, error) {
	v, err := loader.CallAs[R](ctx, m.env, fun, nil, kwargs)
	switch loader.KindOf(err) {
	case loader.KindExecution, loader.KindNotFound:
		err = change.Reason(prefix + ": " + err.Error())
	}
	return v, change.Except(err, loader.KindExecution)
}

type installedArgs struct {
	Name           string
	Pkgs           any `default:"None"`
	Dir            any `default:"None"`
	User           any `default:"None"`
	ForceReinstall any `default:"False"`
	Registry       any `default:"None"`
	Env            any `default:"None"`
}

// need is what installed packages lack.
type need struct {
	missing, satisfied []string
	list               *data.Map
}

// installed keeps packages installed, each in the version that it names.
//
// name, pkgs
//
//	A package, or instead of it a list of packages, each with or without a version: name@1.0.
//
// dir
//
//	The directory to install into. Without it packages are installed globally.
//
// user
//
//	The user to run npm as.
//
// force_reinstall
//
//	Install packages that are installed too.
//
// registry, env
//
//	The URL of the registry, and environment variables as for cmd.run.
//
//	coffee-script@1.0.1:
//	  npm.installed
func (m *module) installed(ctx context.Context, a installedArgs) (change.Result, error) {
	wanted, forced, done := []string{a.Name}, a.ForceReinstall == true, false
	if data.Truth(a.Pkgs) {
		wanted = data.TextsOf(a.Pkgs)
	}
	for _, pkg := range wanted {
		if !form.MatchString(pkg) {
			return change.Refuse(a.Name, "'"+pkg+"' is not the name of a package")
		}
	}
	all := strings.Join(wanted, ", ")
	return change.Thing[need]{
		Name: a.Name,
		Look: func(ctx context.Context) (n need, err error) {
			list, err := ask[*data.Map](ctx, m, "Error looking up '"+a.Name+"'", "npm.list",
				data.NewMap("dir", a.Dir, "runas", a.User, "env", a.Env, "depth", int64(0)))
			for _, pkg := range wanted {
				found, how := satisfying(pkg, list)
				if !forced && (how == fits || how == unclear && done) {
					n.satisfied = append(n.satisfied, found)
				} else {
					n.missing = append(n.missing, pkg)
				}
			}
			n.list = list
			return n, err
		},
		Wants: func(now need) *data.Map {
			return change.When(len(now.missing) > 0,
				data.NewMap("old", []any{}, "new", data.Values(now.missing)))
		},
		Apply: func(ctx context.Context, _ need) error {
			forced = false
			_, err := ask[any](ctx, m, "Error installing '"+all+"'", "npm.install", data.NewMap("dir", a.Dir,
				"runas", a.User, "registry", a.Registry, "env", a.Env, "pkgs", data.Values(wanted)))
			done = err == nil
			return err
		},
		Changed: func(before, after need) *data.Map {
			made := a.ForceReinstall == true || !data.Equal(before.list, after.list)
			return change.When(made && len(after.missing) < len(before.missing),
				data.NewMap("old", []any{}, "new", data.Values(before.missing)))
		},
		Texts: change.Texts{Failed: "Package(s) '" + all + "' are still not installed"},
		Say: func(o change.Outcome[need]) any {
			missing := strings.Join(o.Before.missing, ", ")
			satisfied := "Package(s) '" + all + "' satisfied by " + strings.Join(o.Before.satisfied, ", ")
			switch would := "NPM package(s) '" + missing + "' are set to be installed"; o.Stage {
			case change.StageSame:
				return satisfied
			case change.StageWould:
				if len(o.Before.satisfied) > 0 {
					would += ". " + satisfied
				}
				return would
			case change.StageDone:
				return "Package(s) '" + missing + "' successfully installed"
			}
			return nil
		},
	}.Ensure(ctx)
}

// form splits a package, such as @google-cloud/bigquery@^0.9.6, into its name and version.
var form = regexp.MustCompile(`^(@?[^@\s]+)(?:@(.+))?$`)

// nameless matches packages that are given by their place only: URLs, repositories and files.
var nameless = regexp.MustCompile(`^[^@]*://|^(?:github|gitlab|bitbucket|gist|file|git\+\w+):|^git@|` +
	`^[./~]|^[^@/]+/|\.(?:tgz|tar|tar\.gz)$`)

// A fit tells how an installed package compares with a wanted one.
type fit int

const (
	absent  fit = iota // it is not there, or in another version
	unclear            // only npm knows: a tag, or a place that the list does not have
	fits
)

// satisfying returns the name and version of the installed package that fits a wanted one, and how
// well it does.
func satisfying(pkg string, list *data.Map) (string, fit) {
	if nameless.MatchString(pkg) {
		return fromPlace(pkg, list)
	}
	parts := form.FindStringSubmatch(pkg)
	info, _ := list.Value(parts[1]).(*data.Map)
	version, ok := info.Get("version")
	named := parts[1] + "@" + data.Str(version)
	if !ok || parts[2] == "" {
		return named, when(ok, fits, absent)
	}
	if is, known := satisfies(data.Str(version), strings.TrimSpace(parts[2])); known {
		return named, when(is, fits, absent)
	}
	return named, when(comesFrom(info, parts[2]), fits, unclear)
}

func when(is bool, yes, no fit) fit {
	if is {
		return yes
	}
	return no
}

// fromPlace returns the name and version of the package that was installed from a place.
func fromPlace(place string, list *data.Map) (string, fit) {
	for name, v := range list.All() {
		if info, _ := v.(*data.Map); comesFrom(info, place) {
			return data.Str(name) + "@" + data.Str(info.Value("version")), fits
		}
	}
	return place, unclear
}

// comesFrom reports whether npm lists a place as that of a package. A branch or a tag in it may have
// moved since.
func comesFrom(info *data.Map, place string) bool {
	for _, key := range []string{"resolved", "from"} {
		if from := info.Text(key); from != "" && info.Has(key) && plain(from) == plain(place) {
			return true
		}
	}
	return false
}

var (
	scheme = regexp.MustCompile(`^(?:git\+)?(?:\w+)://(?:[^/@]*@)?|^git@`)
	short  = regexp.MustCompile(`^(?:(github|gitlab|bitbucket):)?([^@/:.~]+/[^@/:]+)$`)
)

// plain returns the place of a repository or a file without its scheme, its user, its commit and
// .git. The repository user/tool is one of GitHub.
func plain(place string) string {
	place, _, _ = strings.Cut(place, "#")
	if found := short.FindStringSubmatch(place); found != nil {
		host := map[string]string{"": "github.com/", "github": "github.com/", "gitlab": "gitlab.com/",
			"bitbucket": "bitbucket.org/"}[found[1]]
		place = host + found[2]
	}
	if bare := scheme.ReplaceAllString(place, ""); bare != place {
		place = strings.Replace(bare, ":", "/", 1)
	}
	return strings.TrimSuffix(place, ".git")
}

type removedArgs struct {
	Name string
	Dir  any `default:"None"`
	User any `default:"None"`
}

// removed keeps a package uninstalled. The arguments are those of npm.installed.
//
//	coffee-script:
//	  npm.removed
func (m *module) removed(ctx context.Context, a removedArgs) (change.Result, error) {
	quoted := "ackage '" + a.Name + "'"
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			list, err := ask[*data.Map](ctx, m, "Error uninstalling '"+a.Name+"'", "npm.list",
				data.NewMap("dir", a.Dir, "depth", int64(0)))
			return list.Has(a.Name), err
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(a.Name, "Removed")) },
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, "npm.uninstall", nil,
				data.NewMap("pkg", a.Name, "dir", a.Dir, "runas", a.User))
		},
		Texts: change.Texts{
			Same:   "P" + quoted + " is not installed",
			Would:  "P" + quoted + " is set to be removed",
			Done:   "P" + quoted + " was successfully removed",
			Failed: "Error removing p" + quoted,
		},
		Silent: true,
	}.Ensure(ctx)
}

type bootstrapArgs struct {
	Name   string
	User   any  `default:"None"`
	Silent bool `default:"True"`
}

// bootstrap installs the packages that the package.json in a directory needs. In test
// mode npm reports what it would do.
//
//	/srv/app:
//	  npm.bootstrap
func (m *module) bootstrap(ctx context.Context, a bootstrapArgs) (change.Result, error) {
	install := func(ctx context.Context, dry bool) (any, error) {
		return ask[any](ctx, m, "Error Bootstrapping '"+a.Name+"'", "npm.install", data.NewMap("dir", a.Name,
			"runas", a.User, "pkg", nil, "silent", a.Silent, "dry_run", dry))
	}
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) { return install(ctx, true) },
		Wants: func(plan any) *data.Map {
			return change.When(changes(plan), data.NewMap("old", []any{}, "new", plan))
		},
		Apply: func(ctx context.Context, _ any) error {
			report, err := install(ctx, false)
			if _, unreadable := report.(string); err == nil && unreadable && data.Truth(report) {
				err = change.Reason("Could not bootstrap directory")
			}
			return err
		},
		Changed: func(_, after any) *data.Map {
			return change.When(!changes(after), data.NewMap(a.Name, "Bootstrapped"))
		},
		Texts: change.Texts{
			Same:   "Directory is already bootstrapped",
			Would:  a.Name + " is set to be bootstrapped",
			Done:   "Directory was successfully bootstrapped",
			Failed: "Could not bootstrap directory",
		},
		Say: func(o change.Outcome[any]) any {
			if o.Stage == change.StageSame && o.Test {
				return a.Name + " is already bootstrapped"
			}
			return nil
		},
	}.Ensure(ctx)
}

// changes reports whether npm would change packages: newer versions count them, older ones report
// nothing if there are none.
func changes(plan any) bool {
	counts, ok := plan.(*data.Map)
	if !ok {
		return data.Truth(plan)
	}
	for _, key := range []string{"added", "changed", "removed"} {
		if v, ok := counts.Get(key); ok && data.Truth(v) {
			return true
		}
	}
	return !counts.Has("added") && counts.Len() > 0
}

type cleanedArgs struct {
	Name  any `default:"None"`
	User  any `default:"None"`
	Force any `default:"False"`
}

// cacheCleaned keeps a package out of npm's cache, or without a name the cache empty. npm 5 and
// newer need force, and cannot list the cache.
//
//	clean the cache of npm:
//	  npm.cache_cleaned:
//	    - name:
//	    - force: True
func (m *module) cacheCleaned(ctx context.Context, a cleanedArgs) (change.Result, error) {
	name, what := data.Str(a.Name), "packages"
	key := any("cache")
	if data.Truth(a.Name) {
		what, key = name, a.Name
	}
	list := func(ctx context.Context, path any) (string, error) {
		return ask[string](ctx, m, "Error looking up cached "+what, "npm.cache_list",
			data.NewMap("path", path, "runas", a.User))
	}
	same := "The cache is empty"
	if what == name {
		same = "Package " + name + " is not in the cache"
	}
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			cached, err := list(ctx, a.Name)
			if err != nil || what != name {
				return cached != "", err
			}
			all, err := list(ctx, nil)
			root, _, _ := strings.Cut(all, "\n")
			return strings.Contains(cached, strings.TrimSuffix(root, "/")+"/"+name+"/"), err
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(key, "Removed")) },
		Apply: func(ctx context.Context, _ bool) error {
			return change.Do(ctx, m.env, "npm.cache_clean", nil,
				data.NewMap("path", a.Name, "runas", a.User, "force", a.Force))
		},
		Texts: change.Texts{
			Same:   same,
			Would:  "Cached " + what + " set to be removed",
			Done:   "Cached " + what + " successfully removed",
			Failed: "Error cleaning cached " + what,
		},
		Silent: true,
	}.Ensure(ctx)
}
