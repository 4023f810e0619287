//go:build unix

// Package user is Salt's module user (salt/modules/useradd.py).
//
// The programs useradd, usermod and userdel do the work. With another root directory they get the
// option -R.
//
// Differences from Salt: users are only those in etc/passwd, see package accounts. Login classes,
// which exist only on OpenBSD, are not supported. On kernels other than Linux, users can only be
// read. The module does not exist on Windows.
package user

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	funcs := []loader.Func{
		loader.F("getent", m.getent),
		loader.F("info", m.info),
		loader.F("list_groups", m.listGroups),
		loader.F("list_users", m.listUsers),
		loader.F("primary_group", m.primaryGroup),
	}
	if kernel := env.GrainsNow().Text("kernel"); kernel == "" || kernel == "Linux" {
		funcs = append(funcs, m.changing()...)
	}
	return &loader.Module{Funcs: funcs}, nil
}

// changing returns the functions that change users.
func (m *module) changing() []loader.Func {
	return []loader.Func{
		loader.F("add", m.add),
		loader.F("chfullname", m.chfullname),
		loader.F("chgid", m.chgid),
		loader.F("chgroups", m.chgroups),
		loader.F("chhome", m.chhome),
		loader.F("chhomephone", m.chhomephone),
		loader.F("chloginclass", m.chloginclass),
		loader.F("chother", m.chother),
		loader.F("chroomnumber", m.chroomnumber),
		loader.F("chshell", m.chshell),
		loader.F("chuid", m.chuid),
		loader.F("chworkphone", m.chworkphone),
		loader.F("delete", m.delete),
		loader.F("get_loginclass", m.getLoginclass),
		loader.F("rename", m.rename),
	}
}

// read returns the users below a directory, or those of the minion's system, and the system's
// groups.
func (m *module) read(root any) ([]accounts.User, []accounts.Group, error) {
	at := m.env.Root
	if data.Truth(root) {
		at = data.Str(root)
	}
	users, err := accounts.Users(at)
	if err != nil {
		return nil, nil, loader.Execution("%w", err)
	}
	groups, err := accounts.Groups(m.env.Root)
	if err != nil {
		return nil, nil, loader.Execution("%w", err)
	}
	return users, groups, nil
}

// describe returns the details of a user in Salt's form.
func describe(u accounts.User, users []accounts.User, groups []accounts.Group) *data.Map {
	comment := append(strings.SplitN(u.Comment, ",", 5), "", "", "", "")
	return data.NewMap("gid", u.GID,
		"groups", data.Values(accounts.GroupsOf(u.Name, users, groups)), "home", u.Home, "name",
		u.Name, "passwd", u.Password, "shell", u.Shell, "uid", u.UID, "fullname", comment[0],
		"roomnumber", comment[1], "workphone", comment[2], "homephone", comment[3],
		"other", comment[4])
}

type infoArgs struct {
	Name any
	Root any `default:"None"`
}

// info returns the details of a user. The result is empty if the user does not exist.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.info root
func (m *module) info(_ context.Context, a infoArgs) (any, error) {
	return m.details(a.Name, a.Root)
}

// details returns the details of a user, an empty dictionary if the user does not exist.
func (m *module) details(name, root any) (*data.Map, error) {
	users, groups, err := m.read(root)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		if u.Name == data.Str(name) {
			return describe(u, users, groups), nil
		}
	}
	return data.NewMap(), nil
}

type getentArgs struct {
	Refresh any `default:"False"`
	Root    any `default:"None"`
}

// getent returns a list with the details of all users.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.getent
func (m *module) getent(_ context.Context, a getentArgs) (any, error) {
	users, groups, err := m.read(a.Root)
	list := make([]any, len(users))
	for i, u := range users {
		list[i] = describe(u, users, groups)
	}
	return list, err
}

type nameArgs struct{ Name string }

// listGroups returns the groups that a user is in.
//
// CLI Example:
//
//	salt '*' user.list_groups foo
func (m *module) listGroups(_ context.Context, a nameArgs) (any, error) {
	users, groups, err := m.read(nil)
	return data.Values(accounts.GroupsOf(a.Name, users, groups)), err
}

type rootArgs struct {
	Root any `default:"None"`
}

// listUsers returns the names of all users, sorted.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.list_users
func (m *module) listUsers(_ context.Context, a rootArgs) (any, error) {
	users, _, err := m.read(a.Root)
	var names []string
	for _, u := range users {
		names = append(names, u.Name)
	}
	slices.Sort(names)
	return data.Values(names), err
}

// primaryGroup returns the primary group of a user.
//
// CLI Example:
//
//	salt '*' user.primary_group saltadmin
func (m *module) primaryGroup(ctx context.Context, a nameArgs) (any, error) {
	argv := []string{"id", "-g", "-n", "--", a.Name}
	return calls.RunOutput(ctx, m.env, calls.Run{Argv: argv, Shell: calls.CmdDecides})
}
