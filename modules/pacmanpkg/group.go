package pacmanpkg

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// groups returns the packages of the groups that pacman lists.
func (m *module) groups(ctx context.Context, option string) (map[string][]string, error) {
	text, err := m.output(ctx, option)
	groups := map[string][]string{}
	pairs(text, func(group, name string) { groups[group] = append(groups[group], name) })
	return groups, err
}

// groupList returns the groups that are installed, partly installed, and available.
//
// CLI Example:
//
//	salt '*' pkg.group_list
func (m *module) groupList(ctx context.Context, _ loader.NoArgs) (any, error) {
	available, err := m.groups(ctx, "-Sgg")
	if err != nil {
		return nil, err
	}
	installed, err := m.groups(ctx, "-Qg")
	if err != nil {
		return nil, err
	}
	var whole, part, other []string
	for group, members := range available {
		switch n := len(installed[group]); n {
		case 0:
			other = append(other, group)
		case len(members):
			whole = append(whole, group)
		default:
			part = append(part, group)
		}
	}
	for group := range installed {
		if available[group] == nil {
			m.env.Log.Errorf("Pacman reports group %s installed, but it is not in the available list!", group)
		}
	}
	for _, list := range [][]string{whole, part, other} {
		slices.Sort(list)
	}
	return data.NewMap("installed", data.Values(whole), "partially_installed", data.Values(part),
		"available", data.Values(other)), nil
}

type groupArgs struct{ Name string }

// pkgTypes returns the kinds of packages in a group. pacman has only one.
func pkgTypes() []string { return []string{"mandatory", "optional", "default", "conditional"} }

// groupInfo returns the packages of a group.
//
// CLI Example:
//
//	salt '*' pkg.group_info 'xorg'
func (m *module) groupInfo(ctx context.Context, a groupArgs) (any, error) {
	text, err := m.output(ctx, "-Sgg", a.Name)
	var names []string
	pairs(text, func(_, name string) { names = append(names, name) })
	slices.Sort(names)
	info := &data.Map{}
	for _, t := range pkgTypes() {
		info.Set(t, []any{})
	}
	info.Set("default", data.Values(slices.Compact(names)))
	return info, err
}

// groupDiff returns which packages of a group are installed and which are not.
//
// CLI Example:
//
//	salt '*' pkg.group_diff 'xorg'
func (m *module) groupDiff(ctx context.Context, a groupArgs) (any, error) {
	installed, err := m.texts(ctx)()
	if err != nil {
		return nil, err
	}
	info, err := m.groupInfo(ctx, a)
	if err != nil {
		return nil, err
	}
	diff := &data.Map{}
	for _, t := range pkgTypes() {
		in, out := []any{}, []any{}
		for _, name := range info.(*data.Map).Value(t).([]any) {
			if installed.Has(name) {
				in = append(in, name)
			} else {
				out = append(out, name)
			}
		}
		diff.Set(t, data.NewMap("installed", in, "not installed", out))
	}
	return diff, nil
}
