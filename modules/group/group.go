//go:build unix

// Package group is Salt's module group (salt/modules/groupadd.py).
//
// The work is that of groupadd, groupmod, groupdel and gpasswd. Where the system lies below another directory than /, they get it (-R).
//
// What differs from Salt: groups are those of etc/group alone, see package accounts; where the kernel is not Linux, they are only looked
// at; releases 5 of Red Hat and 11 of SUSE get no treatment of their own. On Windows there is no such module.
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
		funcs = append(funcs, m.changing()...)
	}
	return &loader.Module{Funcs: funcs}, nil
}

// changing returns the functions that change groups.
func (m *module) changing() []loader.Func {
	return []loader.Func{
		loader.F("add", m.add),
		loader.F("adduser", m.adduser),
		loader.F("chgid", m.chgid),
		loader.F("delete", m.delete),
		loader.F("deluser", m.deluser),
		loader.F("members", m.members),
	}
}

// read returns the groups below a directory, or below that of the minion's system.
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

// describe returns what Salt tells of a group.
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

// info returns what there is to tell of a group, or nothing where there is none of that name.
//
// root : None
//
//	A directory to take for /.
//
// CLI Example:
//
//	salt '*' group.info foo
func (m *module) info(_ context.Context, a infoArgs) (any, error) {
	return m.about(a.Name, a.Root)
}

// about returns what there is to tell of a group, an empty dictionary where there is none.
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

// getent returns a list of what there is to tell of all groups.
//
// root : None
//
//	A directory to take for /.
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
