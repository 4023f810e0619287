//go:build unix

// Package group is Salt's module group (salt/modules/groupadd.py).
//
// It runs groupadd, groupmod, groupdel and gpasswd. If the system has another root directory than
// /, they get it with -R.
//
// Differences from Salt: only the groups in etc/group are known, see package accounts; on kernels
// other than Linux the functions are read-only; there are no special cases for Red Hat 5 and SUSE
// 11. The module is not available on Windows.
package group

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	funcs := []loader.Func{loader.F("getent", m.getent), loader.F("info", m.info)}
	if kernel := env.GrainsNow().Text("kernel"); kernel == "" || kernel == "Linux" {
		funcs = append(funcs, m.changeFuncs()...)
	}
	return &loader.Module{Funcs: funcs}, nil
}

// changeFuncs returns the functions that change groups.
func (m *module) changeFuncs() []loader.Func {
	return []loader.Func{
		loader.F("add", m.add),
		loader.F("adduser", m.adduser),
		loader.F("chgid", m.chgid),
		loader.F("delete", m.delete),
		loader.F("deluser", m.deluser),
		loader.F("members", m.members),
	}
}

// read returns the groups below a root directory, or below that of the minion's system.
func (m *module) read(root any) ([]accounts.Group, error) {
	at := m.env.Root
	if data.Truth(root) {
		at = data.Str(root)
	}
	groups, err := accounts.Groups(at)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return groups, nil
}

// describe returns a group in Salt's form.
func describe(g accounts.Group) *data.Map {
	members := make([]any, len(g.Members))
	for i, name := range g.Members {
		members[i] = name
	}
	return data.NewMap("name", g.Name, "passwd", g.Password, "gid", g.GID, "members", members)
}

type infoArgs struct {
	Name any
	Root any `default:"None"`
}

// info returns information on a group, or an empty dictionary if there is no such group.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.info foo
func (m *module) info(_ context.Context, a infoArgs) (any, error) {
	return m.about(a.Name, a.Root)
}

// about returns information on a group, or an empty dictionary if there is none.
func (m *module) about(name, root any) (*data.Map, error) {
	groups, err := m.read(root)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Name == data.Str(name) {
			return describe(g), nil
		}
	}
	return data.NewMap(), nil
}

type getentArgs struct {
	Refresh any `default:"False"`
	Root    any `default:"None"`
}

// getent returns a list with information on all groups.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.getent
func (m *module) getent(_ context.Context, a getentArgs) (any, error) {
	groups, err := m.read(a.Root)
	list := make([]any, len(groups))
	for i, g := range groups {
		list[i] = describe(g)
	}
	return list, err
}
