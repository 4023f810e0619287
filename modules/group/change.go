//go:build unix

package group

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// tool runs a program that changes groups, and reports whether it succeeded. root is the root
// directory; nil means that of the minion's system.
func (m *module) tool(ctx context.Context, program string, root any, args ...any) (bool, error) {
	path := process.Find(program)
	if path == "" {
		return false, loader.Execution("Command '%s' cannot be found", program)
	}
	argv := []any{path}
	if root == nil && m.env.Root != "" {
		root = m.env.Root
	}
	if root != nil {
		argv = append(argv, rootOption(program), root)
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: data.Texts(append(argv, args...))})
}

// rootOption returns the option of a program that sets another root: the short one of gpasswd has
// another meaning.
func rootOption(program string) string {
	if program == "gpasswd" {
		return "--root"
	}
	return "-R"
}

type addArgs struct {
	Name      string
	GID       any `default:"None"`
	System    any `default:"False"`
	Root      any `default:"None"`
	NonUnique any `default:"False"`
}

// add creates a group, and returns whether that succeeded.
//
// gid : None
//
//	Its ID. Default: the next free one.
//
// system : False
//
//	True: use an ID from the system range.
//
// root : None
//
//	An alternative root directory.
//
// non_unique : False
//
//	True: another group may have the same ID.
//
// CLI Example:
//
//	salt '*' group.add foo 3456
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	var args []any
	if data.Truth(a.GID) {
		args = append(args, "-g", a.GID)
		if data.Truth(a.NonUnique) {
			args = append(args, "-o")
		}
	}
	if data.Truth(a.System) {
		args = append(args, "-r")
	}
	return m.tool(ctx, "groupadd", a.Root, append(args, "--", a.Name)...)
}

type deleteArgs struct {
	Name string
	Root any `default:"None"`
}

// delete removes a group, and returns whether that succeeded.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.delete foo
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	return m.tool(ctx, "groupdel", a.Root, "--", a.Name)
}

type chgidArgs struct {
	Name      string
	GID       any
	Root      any `default:"None"`
	NonUnique any `default:"False"`
}

// chgid changes the ID of a group, and returns whether the group now has it.
//
// root : None
//
//	An alternative root directory.
//
// non_unique : False
//
//	True: another group may have the same ID.
//
// CLI Example:
//
//	salt '*' group.chgid foo 4376
func (m *module) chgid(ctx context.Context, a chgidArgs) (any, error) {
	now, err := m.about(a.Name, a.Root)
	if err != nil || now.Len() == 0 {
		return false, err
	}
	if data.Equal(now.Value("gid"), a.GID) {
		return true, nil
	}
	option := "-g"
	if data.Truth(a.NonUnique) {
		option = "-og"
	}
	if _, err := m.tool(ctx, "groupmod", a.Root, option, a.GID, "--", a.Name); err != nil {
		return nil, err
	}
	now, err = m.about(a.Name, a.Root)
	return err == nil && data.Equal(now.Value("gid"), a.GID), err
}

type userArgs struct {
	Name     string
	Username string
	Root     any `default:"None"`
}

// adduser adds a user to a group, and returns whether that succeeded.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.adduser foo bar
func (m *module) adduser(ctx context.Context, a userArgs) (any, error) {
	return m.tool(ctx, "gpasswd", a.Root, "--add", a.Username, "--", a.Name)
}

// deluser removes a user from a group. It returns whether the user is not in it, which is also true
// if there is no such group.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.deluser foo bar
func (m *module) deluser(ctx context.Context, a userArgs) (any, error) {
	now, err := m.about(a.Name, a.Root)
	if err != nil {
		return nil, err
	}
	if in, _ := now.Value("members").([]any); !slices.Contains(in, any(a.Username)) {
		return true, nil
	}
	return m.tool(ctx, "gpasswd", a.Root, "--del", a.Username, "--", a.Name)
}

type membersArgs struct {
	Name        string
	MembersList string
	Root        any `default:"None"`
}

// members sets the members of a group to a list of users, separated by commas, and returns whether
// that succeeded.
//
// root : None
//
//	An alternative root directory.
//
// CLI Example:
//
//	salt '*' group.members foo 'user1,user2,user3'
func (m *module) members(ctx context.Context, a membersArgs) (any, error) {
	return m.tool(ctx, "gpasswd", a.Root, "--members", a.MembersList, "--", a.Name)
}
