//go:build unix

package user

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// An attribute is a property of a user that usermod changes.
type attribute struct {
	key, option string
	move        bool // move the contents of the home directory too
}

// set changes an attribute of a user and reports whether the user then has the value.
func (m *module) set(ctx context.Context, name string, at attribute, value, root any) (any, error) {
	now, err := m.details(name, root)
	switch {
	case err != nil:
		return nil, err
	case now.Len() == 0:
		return nil, loader.Execution("User '%s' does not exist", name)
	case data.Equal(value, now.Value(at.key)):
		return true, nil
	}
	var args []any
	if at.move {
		args = append(args, "-m")
	}
	if _, err := m.tool(ctx, "usermod", root,
		append(args, at.option, value, "--", name)...); err != nil {
		return nil, err
	}
	now, err = m.details(name, root)
	return err == nil && data.Equal(value, now.Value(at.key)), err
}

type chuidArgs struct {
	Name string
	UID  any
	Root any `default:"None"`
}

// chuid changes the ID of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chuid fred 4376
func (m *module) chuid(ctx context.Context, a chuidArgs) (any, error) {
	return m.set(ctx, a.Name, attribute{key: "uid", option: "-u"}, a.UID, a.Root)
}

type chgidArgs struct {
	Name string
	GID  any
	Root any `default:"None"`
}

// chgid changes the primary group of a user and reports whether the user then has it. The result is
// False for a group name, because it is compared with the group ID.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chgid fred 4376
func (m *module) chgid(ctx context.Context, a chgidArgs) (any, error) {
	return m.set(ctx, a.Name, attribute{key: "gid", option: "-g"}, a.GID, a.Root)
}

type chshellArgs struct {
	Name  string
	Shell any
	Root  any `default:"None"`
}

// chshell changes the shell of a user and reports whether the user then has it.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chshell fred /bin/zsh
func (m *module) chshell(ctx context.Context, a chshellArgs) (any, error) {
	return m.set(ctx, a.Name, attribute{key: "shell", option: "-s"}, a.Shell, a.Root)
}

type chhomeArgs struct {
	Name    string
	Home    any
	Persist any `default:"False"`
	Root    any `default:"None"`
}

// chhome changes the home directory of a user and reports whether the user then has it.
//
// persist : False
//
//	True: move the contents of the old directory to the new one.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chhome fred /home/users/fred True
func (m *module) chhome(ctx context.Context, a chhomeArgs) (any, error) {
	return m.set(ctx, a.Name, attribute{"home", "-d", data.Truth(a.Persist)}, a.Home, a.Root)
}

type renameArgs struct {
	Name    string
	NewName any
	Root    any `default:"None"`
}

// rename renames a user. It returns False even on success, because the user is then not found by
// the old name.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.rename fred frederick
func (m *module) rename(ctx context.Context, a renameArgs) (any, error) {
	taken, err := m.details(a.NewName, a.Root)
	switch {
	case err != nil:
		return nil, err
	case taken.Len() > 0:
		return nil, loader.Execution("User '%s' already exists", data.Str(a.NewName))
	}
	return m.set(ctx, a.Name, attribute{key: "name", option: "-l"}, a.NewName, a.Root)
}

type chloginclassArgs struct {
	Name       string
	Loginclass any
	Root       any `default:"None"`
}

// chloginclass returns False, because only OpenBSD has login classes.
//
// CLI Example:
//
//	salt '*' user.chloginclass fred staff
func (m *module) chloginclass(context.Context, chloginclassArgs) (any, error) { return false, nil }

// getLoginclass returns False, because only OpenBSD has login classes.
//
// CLI Example:
//
//	salt '*' user.get_loginclass fred
func (m *module) getLoginclass(context.Context, nameArgs) (any, error) { return false, nil }

// named returns the names in a list, or in a text separated by commas.
func named(v any) []string {
	if text, ok := v.(string); ok {
		return strings.Split(text, ",")
	}
	list, _ := v.([]any)
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = data.Str(name)
	}
	return names
}

type chgroupsArgs struct {
	Name   string
	Groups any
	Append any `default:"False"`
	Root   any `default:"None"`
}

// chgroups adds a user to groups, given as a list or as names separated by commas, and reports
// whether that worked.
//
// append : False
//
//	True: keep the current groups. Default: remove the user from groups that are not given.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.chgroups fred wheel,games append=True
func (m *module) chgroups(ctx context.Context, a chgroupsArgs) (any, error) {
	now, err := m.details(a.Name, a.Root)
	if err != nil {
		return nil, err
	}
	wanted := named(a.Groups)
	if sameSet(named(now.Value("groups")), wanted) {
		return true, nil
	}
	var args []any
	if data.Truth(a.Append) {
		args = append(args, "-a")
	}
	o, err := m.tool(ctx, "usermod", a.Root,
		append(args, "-G", strings.Join(wanted, ","), "--", a.Name)...)
	if err == nil && o.Retcode != 0 && strings.Contains(o.Stderr, "not found in") {
		return m.join(ctx, a.Name, wanted, a.Root)
	}
	return err == nil && o.Retcode == 0, err
}

// join adds a user from another name service to local groups, which usermod cannot do.
func (m *module) join(ctx context.Context, name string, groups []string, root any) (any, error) {
	all := true
	for _, group := range groups {
		o, err := m.tool(ctx, "gpasswd", root, "-a", name, "--", group)
		if err != nil {
			return nil, err
		}
		all = all && o.Retcode == 0
	}
	return all, nil
}

func sameSet(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) }) &&
		!slices.ContainsFunc(b, func(s string) bool { return !slices.Contains(a, s) })
}
