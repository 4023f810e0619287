package zypperpkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// listProvides returns the capabilities of installed packages, except their own names, with the
// names of the packages.
//
// CLI Example:
//
//	salt '*' pkg.list_provides
func (m *module) listProvides(ctx context.Context, a rootKwargs) (any, error) {
	args := []any{"rpm"}
	if data.Truth(a.Root) {
		args = append(args, "--root", a.Root)
	}
	out, err := packages.Run(ctx, m.env, packages.Quietly(),
		append(args, "-qa", "--queryformat", "%{PROVIDES}_|-%{NAME}\n")...)
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for line := range strings.Lines(out.Stdout) {
		provided, name, ok := strings.Cut(strings.TrimSpace(line), "_|-")
		if ok && provided != name {
			all.Set(provided, append(listOf(all.Value(provided)), name))
		}
	}
	return all, nil
}

type resolveArgs struct {
	Pkgs    any
	Refresh any       `default:"False"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// resolveCapabilities replaces capabilities in a list of packages by the names of the packages that
// provide them. It does so if exactly one package does.
//
// resolve_capabilities : False
//
//	False: return the packages unchanged.
//
// CLI Example:
//
//	salt '*' pkg.resolve_capabilities resolve_capabilities=True w3m_ssl
func (m *module) resolveCapabilities(ctx context.Context, a resolveArgs) (any, error) {
	if data.Truth(a.Refresh) {
		if err := m.maybeRefresh(ctx, true, a.Root); err != nil {
			return nil, err
		}
	}
	list := []any{}
	for _, p := range each(a.Pkgs) {
		t := target{name: data.Str(p)}
		if one, ok := p.(*data.Map); ok && one.Len() > 0 {
			name, version := one.At(0)
			t = target{data.Str(name), version}
		}
		if data.Truth(a.Kwargs.Value("resolve_capabilities")) {
			var err error
			if t.name, err = m.provider(ctx, t.name, a.Root); err != nil {
				return nil, err
			}
		}
		if data.Truth(t.version) {
			list = append(list, data.NewMap(t.name, t.version))
		} else {
			list = append(list, t.name)
		}
	}
	return list, nil
}

// each returns the values of a list, or the letters of a text, as a loop in Python visits them.
func each(v any) []any {
	text, ok := v.(string)
	if !ok {
		return listOf(v)
	}
	var list []any
	for _, r := range text {
		list = append(list, string(r))
	}
	return list
}

// provider returns the name of the package for a name: the name itself, or the package that
// provides it.
func (m *module) provider(ctx context.Context, name string, root any) (string, error) {
	if found, err := m.matches(ctx, name, root, "--match-exact"); err != nil || found.Len() > 0 {
		return name, err
	}
	found, err := m.matches(ctx, name, root, "--match-exact", "--provides")
	if err == nil && found.Len() == 1 {
		only, _ := found.At(0)
		return data.Str(only), nil
	}
	if found.Len() > 1 {
		m.env.Log.Warn("Found ambiguous match for capability '" + name + "'.")
	}
	return name, err
}

// matches returns zypper's search results for a name. They are empty if nothing is found.
func (m *module) matches(
	ctx context.Context, name string, root any, options ...any,
) (*data.Map, error) {
	if err := packages.Names(name); err != nil {
		return nil, err
	}
	nodes, err := m.nodes(ctx, call{root: root, reading: true, quiet: true},
		"solvable", append(append([]any{"search"}, options...), name)...)
	found := &data.Map{}
	for _, n := range nodes {
		found.Set(n.attrs.Text("name"), n.attrs)
	}
	return found, err
}

// servicesNeedRestart returns the services that use replaced files.
//
// CLI Example:
//
//	salt '*' pkg.services_need_restart
func (m *module) servicesNeedRestart(ctx context.Context, a rootKwargs) (any, error) {
	out, err := m.run(ctx, call{root: a.Root, reading: true}, "ps", "-sss")
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return data.Values(strings.Fields(out.Stdout)), nil
}
