package pip

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type removedArgs struct {
	Name         any
	Requirements any  `default:"None"`
	BinEnv       any  `default:"None"`
	Log          any  `default:"None"`
	Proxy        any  `default:"None"`
	Timeout      any  `default:"None"`
	User         any  `default:"None"`
	Cwd          any  `default:"None"`
	UseVT        bool `name:"use_vt" default:"False"`
}

// removed uninstalls a package. The arguments are those of pip.installed.
//
//	django:
//	  pip.removed:
//	    - bin_env: /srv/site/venv
func (m *module) removed(ctx context.Context, a removedArgs) (change.Result, error) {
	name := data.Str(a.Name)
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			words := data.NewMap("bin_env", a.BinEnv, "user", a.User, "cwd", a.Cwd)
			list, err := loader.CallAs[*data.Map](ctx, m.env, "pip.list", nil, words)
			_, there := version(list, name)
			return there, m.noPip("Error uninstalling", a.Name, err)
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(name, "Removed")) },
		Apply: func(ctx context.Context, _ bool) error {
			words := data.NewMap("pkgs", a.Name, "requirements", a.Requirements,
				"bin_env", a.BinEnv, "log", a.Log, "proxy", a.Proxy, "timeout", a.Timeout, "user",
				a.User, "cwd", a.Cwd, "use_vt", a.UseVT)
			result, err := change.Ask[*data.Map](ctx, m.env, "pip.uninstall", nil, words)
			if err == nil && result.Value("retcode") != int64(0) {
				m.env.Log.Errorf("uninstall %s with pip: %s", name, result.Text("stderr"))
			}
			return err
		},
		Texts: change.Texts{
			Same:   "Package is not installed.",
			Would:  "Package " + name + " is set to be removed",
			Done:   "Package was successfully removed.",
			Failed: "Could not remove package.",
		},
		Silent: true,
	}.Ensure(ctx)
}

type uptodateArgs struct {
	Name   any
	BinEnv any  `default:"None"`
	User   any  `default:"None"`
	Cwd    any  `default:"None"`
	UseVT  bool `name:"use_vt" default:"False"`
}

// uptodate upgrades all packages to their newest versions. The arguments are those of
// pip.installed.
//
//	newest:
//	  pip.uptodate:
//	    - bin_env: /srv/site/venv
func (m *module) uptodate(ctx context.Context, a uptodateArgs) (change.Result, error) {
	where := data.NewMap("bin_env", a.BinEnv, "user", a.User, "cwd", a.Cwd)
	var changes *data.Map // as reported by pip.upgrade
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			return loader.CallAs[bool](ctx, m.env, "pip.list_upgrades", nil, where)
		},
		Wants: func(old bool) *data.Map { return change.When(old, data.NewMap("upgrade", true)) },
		Apply: func(ctx context.Context, _ bool) (err error) {
			changes, err = change.Ask[*data.Map](ctx, m.env, "pip.upgrade", nil, where)
			if changes.Value("result") == false {
				err = errors.New(changes.Text("comment"))
				changes, _ = changes.Value("changes").(*data.Map)
			}
			return err
		},
		Changed: func(_, _ bool) *data.Map { return changes },
		Texts: change.Texts{
			Same:  "System is already up-to-date.",
			Would: "System update will be performed",
			Done:  "Upgrade successful.",
		},
		Silent: true,
		Trust:  true, // a package that pip cannot upgrade is not a failure
	}.Ensure(ctx)
}
