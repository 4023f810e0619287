package pip

import (
	"context"

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

// removed has a package not installed. The arguments are as in pip.installed.
//
//	django:
//	  pip.removed:
//	    - bin_env: /srv/site/venv
func (m *module) removed(ctx context.Context, a removedArgs) (any, error) {
	name := data.Str(a.Name)
	list := func() (*data.Map, error) {
		v, err := m.env.Call(ctx, "pip.list", nil, data.NewMap("bin_env", a.BinEnv, "user", a.User, "cwd", a.Cwd))
		all, _ := v.(*data.Map)
		return all, err
	}
	before, err := list()
	if kind := loader.KindOf(err); kind == loader.KindExecution || kind == loader.KindNotFound {
		return change.Failed(a.Name, "Error uninstalling '"+name+"': "+err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	if _, ok := version(before, name); !ok {
		return change.Done(a.Name, "Package is not installed."), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, "Package "+name+" is set to be removed"), nil
	}
	v, err := m.env.Call(ctx, "pip.uninstall", nil, data.NewMap("pkgs", a.Name, "requirements", a.Requirements, "bin_env", a.BinEnv, "log", a.Log, "proxy", a.Proxy,
		"timeout", a.Timeout, "user", a.User, "cwd", a.Cwd, "use_vt", a.UseVT))
	if err != nil {
		return nil, err
	}
	after, err := list()
	if err != nil {
		return nil, err
	}
	if _, still := version(after, name); still {
		result, _ := v.(*data.Map)
		m.env.Log.Errorf("pip uninstall %s: %s", name, result.Text("stderr"))
		return change.Failed(a.Name, "Could not remove package."), nil
	}
	return change.New(a.Name, true, data.NewMap(name, "Removed"), "Package was successfully removed."), nil
}

type uptodateArgs struct {
	Name   any
	BinEnv any  `default:"None"`
	User   any  `default:"None"`
	Cwd    any  `default:"None"`
	UseVT  bool `name:"use_vt" default:"False"`
}

// uptodate has all packages in their newest versions. The arguments are as in pip.installed.
//
//	newest:
//	  pip.uptodate:
//	    - bin_env: /srv/site/venv
func (m *module) uptodate(ctx context.Context, a uptodateArgs) (any, error) {
	where := data.NewMap("bin_env", a.BinEnv, "user", a.User, "cwd", a.Cwd)
	v, err := m.env.Call(ctx, "pip.list_upgrades", nil, where)
	switch {
	case err != nil:
		return change.Failed(a.Name, err.Error()), nil
	case !data.Truth(v):
		return change.Done(a.Name, "System is already up-to-date."), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, "System update will be performed"), nil
	}
	v, err = m.env.Call(ctx, "pip.upgrade", nil, where)
	if err != nil {
		return nil, err
	}
	updated, _ := v.(*data.Map)
	if updated.Value("result") == false {
		changes, _ := updated.Value("changes").(*data.Map)
		return change.New(a.Name, false, changes, updated.Text("comment")), nil
	}
	return change.New(a.Name, true, updated, "Upgrade successful."), nil
}
