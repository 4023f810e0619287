//go:build unix

// Package group is Salt's module group, the part of it that only looks at groups (salt/modules/groupadd.py).
//
// What differs from Salt: groups are those of etc/group alone, see package accounts. On Windows there is no such module.
package group

import (
	"context"

	"github.com/brineproject/brine/accounts"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

//go:generate go run github.com/brineproject/brine/internal/docgen

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("getent", docGetent, m.getent),
		loader.F("info", docInfo, m.info),
	}}, nil
}

// read returns the groups below a folder, or below that of the minion's system.
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
//	A folder to take for /.
//
// CLI Example:
//
//	salt '*' group.info foo
func (m *module) info(_ context.Context, a infoArgs) (any, error) {
	groups, err := m.read(a.Root)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.Name == data.Str(a.Name) {
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
//	A folder to take for /.
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
