package selinux

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type moduleArgs struct{ Module string }

// getsemod returns the values of a module: Enabled and Version. It returns an empty dictionary if
// there is no such module.
//
// CLI Example:
//
//	salt '*' selinux.getsemod mysql
func (m *module) getsemod(ctx context.Context, a moduleArgs) (any, error) {
	all, err := m.listSemod(ctx, noArgs{})
	if err != nil {
		return nil, err
	}
	return member(all, a.Module), nil
}

type setModuleArgs struct{ Module, State string }

// setsemod enables or disables a module, and returns whether that succeeded.
//
// state
//
//	Enabled or Disabled.
//
// CLI Example:
//
//	salt '*' selinux.setsemod nagios Enabled
func (m *module) setsemod(ctx context.Context, a setModuleArgs) (any, error) {
	option, ok := map[string]string{"enabled": "-e", "disabled": "-d"}[strings.ToLower(a.State)]
	if !ok {
		return nil, loader.Invocation("set module %s: the state is Enabled or Disabled, not %s",
			a.Module, a.State)
	}
	if err := plain(a.Module); err != nil {
		return nil, err
	}
	return m.succeeds(ctx, "semodule", option, a.Module)
}

type installArgs struct {
	ModulePath string
}

// installSemod installs a module from a file, and returns whether that succeeded.
//
// module_path
//
//	A path on the minion, or salt:// and a path on the file server.
//
// CLI Example:
//
//	salt '*' selinux.install_semod [salt://]path/to/module.pp
func (m *module) installSemod(ctx context.Context, a installArgs) (any, error) {
	path := a.ModulePath
	if strings.HasPrefix(path, "salt://") {
		var err error
		if path, err = calls.CacheFile(ctx, m.env, calls.Source{Path: path}); err != nil {
			return nil, err
		}
		if path == "" {
			return nil, loader.Execution("install module: the file server has no %s", a.ModulePath)
		}
	}
	if err := plain(path); err != nil {
		return nil, err
	}
	return m.succeeds(ctx, "semodule", "-i", path)
}

// removeSemod removes a module, and returns whether that succeeded.
//
// CLI Example:
//
//	salt '*' selinux.remove_semod module_name
func (m *module) removeSemod(ctx context.Context, a moduleArgs) (any, error) {
	if err := plain(a.Module); err != nil {
		return nil, err
	}
	return m.succeeds(ctx, "semodule", "-r", a.Module)
}

// listSemod returns the modules by name, each with Enabled and its Version, which is None since
// version 2.4 of semodule.
//
// CLI Example:
//
//	salt '*' selinux.list_semod
func (m *module) listSemod(ctx context.Context, _ noArgs) (*data.Map, error) {
	help, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"semodule", "-h"}})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(help) {
		if strings.HasPrefix(strings.TrimSpace(line), "full") {
			lines, err := m.lines(ctx, "semodule", "-lfull")
			return modules(lines, 1), err
		}
	}
	lines, err := m.lines(ctx, "semodule", "-l")
	return modules(lines, 0), err
}

// modules parses lines with the name of a module as word number at. A line has one word more if the
// module is disabled. Before version 2.4, which has a priority before the name, the version of the
// module follows it.
func modules(lines []string, at int) *data.Map {
	all := data.NewMap()
	for _, line := range lines {
		words, version := strings.Fields(line), any(nil)
		if len(words) < 2 {
			continue
		}
		if at == 0 {
			version = words[1]
		}
		all.Set(words[at], data.NewMap("Enabled", len(words) != 3+at, "Version", version))
	}
	return all
}
