package apache

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// enabling returns the functions that a family of systems has programs for.
func (m *module) enabling(family string) []loader.Func {
	switch family {
	case "Debian":
		funcs := []loader.Func{
			loader.F("a2dismod", m.a2dismod),
			loader.F("a2dissite", m.a2dissite),
			loader.F("a2enmod", m.a2enmod),
			loader.F("a2ensite", m.a2ensite),
			loader.F("check_conf_enabled", m.checkConfEnabled),
			loader.F("check_mod_enabled", m.checkModEnabled),
			loader.F("check_site_enabled", m.checkSiteEnabled),
		}
		if process.Find("a2enconf") == "" {
			return funcs
		}
		return append(funcs, loader.F("a2disconf", m.a2disconf), loader.F("a2enconf", m.a2enconf))
	case "Suse":
		return []loader.Func{
			loader.F("a2dismod", m.a2dismod),
			loader.F("a2enmod", m.a2enmod),
			loader.F("check_mod_enabled", m.checkModEnabled),
		}
	}
	return nil
}

// link reports whether a directory of the configuration has a symbolic link.
func (m *module) link(directory, name, ending string) bool {
	if !strings.HasSuffix(name, ".conf") && !strings.HasSuffix(name, ending) {
		name += ending
	}
	return paths.IsLink(filepath.Join(m.env.Root, "/etc/apache2", directory+"-enabled", name))
}

type siteArgs struct{ Site string }

// checkSiteEnabled returns whether a site is enabled. This is for Debian.
//
// CLI Example:
//
//	salt '*' apache.check_site_enabled example.com
func (m *module) checkSiteEnabled(_ context.Context, a siteArgs) (any, error) {
	return m.link("sites", a.Site, ".conf") || a.Site == "default" && m.link("sites", "000-default", ".conf"), nil
}

type modArgs struct{ Mod string }

// checkModEnabled returns whether a module is enabled. This is for Debian and SUSE.
//
// CLI Example:
//
//	salt '*' apache.check_mod_enabled status
//	salt '*' apache.check_mod_enabled status.conf
func (m *module) checkModEnabled(ctx context.Context, a modArgs) (any, error) {
	if m.env.GrainsNow().Text("os_family") == "Debian" {
		return m.link("mods", a.Mod, ".load"), nil
	}
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"a2enmod", "-l"}})
	name := strings.TrimSuffix(strings.TrimSuffix(a.Mod, ".load"), ".conf")
	return slices.Contains(strings.Split(out, " "), name), err
}

type confArgs struct{ Conf string }

// checkConfEnabled returns whether a piece of configuration is enabled. This is for Debian.
//
// CLI Example:
//
//	salt '*' apache.check_conf_enabled security
func (m *module) checkConfEnabled(_ context.Context, a confArgs) (any, error) {
	return m.link("conf", a.Conf, ".conf"), nil
}

// run runs one of the programs, and returns its outcome as Salt does. missing is the return code that
// stands for a name that is not there.
func (m *module) run(ctx context.Context, program, title, kind, name, done string, missing int) (any, error) {
	if err := process.PlainOperands(name); err != nil {
		return nil, loader.Execution("%w", err)
	}
	code, err := calls.Retcode(ctx, m.env, calls.Run{Argv: []string{program, name}})
	if err != nil {
		return nil, err
	}
	var status any = int64(code)
	switch code {
	case 0:
		status = kind + " " + name + " " + done
	case missing:
		status = kind + " " + name + " Not found"
	}
	return data.NewMap("Name", "Apache2 "+title+" "+kind, kind, name, "Status", status), nil
}

// noCode is a return code that no program has: the programs that disable do not tell a missing name
// from another failure (Salt compares with 256).
const noCode = 256

// a2ensite enables a site, and returns its name and what happened as Status. This is for Debian.
//
// CLI Example:
//
//	salt '*' apache.a2ensite example.com
func (m *module) a2ensite(ctx context.Context, a siteArgs) (any, error) {
	return m.run(ctx, "a2ensite", "Enable", "Site", a.Site, "enabled", 1)
}

// a2dissite disables a site, and returns its name and what happened as Status. This is for Debian.
//
// CLI Example:
//
//	salt '*' apache.a2dissite example.com
func (m *module) a2dissite(ctx context.Context, a siteArgs) (any, error) {
	return m.run(ctx, "a2dissite", "Disable", "Site", a.Site, "disabled", noCode)
}

// a2enmod enables a module, and returns its name and what happened as Status. This is for Debian and
// SUSE.
//
// CLI Example:
//
//	salt '*' apache.a2enmod vhost_alias
func (m *module) a2enmod(ctx context.Context, a modArgs) (any, error) {
	return m.run(ctx, "a2enmod", "Enable", "Mod", a.Mod, "enabled", 1)
}

// a2dismod disables a module, and returns its name and what happened as Status. This is for Debian and
// SUSE.
//
// CLI Example:
//
//	salt '*' apache.a2dismod vhost_alias
func (m *module) a2dismod(ctx context.Context, a modArgs) (any, error) {
	return m.run(ctx, "a2dismod", "Disable", "Mod", a.Mod, "disabled", noCode)
}

// a2enconf enables a piece of configuration, and returns its name and what happened as Status. This is
// for Debian.
//
// CLI Example:
//
//	salt '*' apache.a2enconf security
func (m *module) a2enconf(ctx context.Context, a confArgs) (any, error) {
	return m.run(ctx, "a2enconf", "Enable", "Conf", a.Conf, "enabled", 1)
}

// a2disconf disables a piece of configuration, and returns its name and what happened as Status. This
// is for Debian.
//
// CLI Example:
//
//	salt '*' apache.a2disconf security
func (m *module) a2disconf(ctx context.Context, a confArgs) (any, error) {
	return m.run(ctx, "a2disconf", "Disable", "Conf", a.Conf, "disabled", noCode)
}
