//go:build unix

package user

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type addArgs struct {
	Name       string
	UID        any `default:"None"`
	GID        any `default:"None"`
	Groups     any `default:"None"`
	Home       any `default:"None"`
	Shell      any `default:"None"`
	Unique     any `default:"True"`
	System     any `default:"False"`
	Fullname   any `default:"''"`
	Roomnumber any `default:"''"`
	Workphone  any `default:"''"`
	Homephone  any `default:"''"`
	Other      any `default:"''"`
	Createhome any `default:"True"`
	Loginclass any `default:"None"`
	Nologinit  any `default:"False"`
	Root       any `default:"None"`
	Usergroup  any `default:"None"`
}

// add creates a user and reports whether that worked.
//
// uid, gid : None
//
//	The user ID, and the group by ID or name. Default: the next free ones.
//
// groups : None
//
//	Supplementary groups: a list, or names separated by commas.
//
// home, shell : None
//
//	The home directory and the shell. Default: those of the system.
//
// unique : True
//
//	False: another user may have the same ID.
//
// system : False
//
//	True: use an ID from the range for system users.
//
// fullname, roomnumber, workphone, homephone, other
//
//	The details in the user's comment (GECOS) field.
//
// createhome : True
//
//	Create the home directory.
//
// loginclass : None
//
//	Only for OpenBSD.
//
// nologinit : False
//
//	True: do not add the user to the databases lastlog and faillog.
//
// root : None
//
//	A directory to use as the root directory.
//
// usergroup : None
//
//	True: create a group of the same name. False: create none. Default: the system's setting.
//
// CLI Example:
//
//	salt '*' user.add fred 4000 4000 wheel,games /home/fred /bin/zsh
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	args, err := m.addArguments(ctx, a)
	if err != nil {
		return nil, err
	}
	if o, err := m.tool(ctx, "useradd", a.Root, args...); err != nil || o.Retcode != 0 {
		return false, err
	}
	// The user exists now. The next run sees failures from here on.
	if data.Truth(a.Groups) {
		if _, err := m.chgroups(ctx, chgroupsArgs{a.Name, a.Groups, false, a.Root}); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		key   string
		value any
	}{{"fullname", a.Fullname}, {"roomnumber", a.Roomnumber}, {"workphone", a.Workphone},
		{"homephone", a.Homephone}, {"other", a.Other}} {
		if data.Truth(f.value) {
			if _, err := m.setField(ctx, a.Name, f.key, f.value, a.Root); err != nil {
				return nil, err
			}
		}
	}
	return true, nil
}

// addArguments returns the arguments of useradd.
func (m *module) addArguments(ctx context.Context, a addArgs) ([]any, error) {
	var args []any
	if data.Truth(a.Shell) {
		args = append(args, "-s", a.Shell)
	}
	if a.UID != nil && a.UID != "" {
		args = append(args, "-u", a.UID)
	}
	own, err := m.ownGroup(ctx, a)
	if err != nil {
		return nil, err
	}
	args = append(args, own...)
	for _, flag := range []struct {
		set        bool
		with, none string
	}{
		{a.Usergroup == false, "-N", ""}, {data.Truth(a.Createhome), "-m", "-M"},
		{data.Truth(a.Nologinit), "-l", ""},
		{!data.Truth(a.Unique), "-o", ""}, {data.Truth(a.System), "-r", ""},
	} {
		if word := flag.none; flag.set || word != "" {
			if flag.set {
				word = flag.with
			}
			args = append(args, word)
		}
	}
	if a.Home != nil {
		args = append(args, "-d", a.Home)
	}
	return append(args, "--", a.Name), nil
}

// ownGroup returns the arguments of useradd for the primary group. If the system gives each user a
// group, and a group of that name is among the requested groups, that group becomes the primary
// one.
func (m *module) ownGroup(ctx context.Context, a addArgs) ([]any, error) {
	switch {
	case a.GID != nil && a.GID != "":
		return []any{"-g", a.GID}, nil
	case data.Truth(a.Usergroup):
		return []any{"-U"}, nil
	case a.Groups == nil || !slices.Contains(named(a.Groups), a.Name):
		return nil, nil
	}
	each, err := m.userGroupsEnabled()
	if err != nil || !each {
		return nil, err
	}
	group, ok, err := calls.GroupInfo(ctx, m.env, a.Name)
	if err != nil || !ok || group.GID < 0 {
		return nil, err
	}
	return []any{"-g", group.GID}, nil
}

// userGroupsEnabled reports whether the system gives each user a group of its own (USERGROUPS_ENAB
// in login.defs).
func (m *module) userGroupsEnabled() (bool, error) {
	text, err := os.ReadFile(filepath.Join("/", m.env.Root, "/etc/login.defs"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, loader.Execution("read /etc/login.defs: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line[:min(15, len(line))], "USERGROUPS_ENAB") {
			return strings.Contains(line, "yes"), nil
		}
	}
	return false, nil
}

type deleteArgs struct {
	Name   string
	Remove any `default:"False"`
	Force  any `default:"False"`
	Root   any `default:"None"`
}

// delete removes a user and reports whether that worked.
//
// remove : False
//
//	True: also remove the home directory and the mail.
//
// force : False
//
//	True: remove a user who is logged in, too.
//
// root : None
//
//	A directory to use as the root directory.
//
// CLI Example:
//
//	salt '*' user.delete fred remove=True force=True
func (m *module) delete(ctx context.Context, a deleteArgs) (any, error) {
	var args []any
	if data.Truth(a.Remove) {
		args = append(args, "-r")
	}
	if data.Truth(a.Force) {
		args = append(args, "-f")
	}
	o, err := m.tool(ctx, "userdel", a.Root, append(args, "--", a.Name)...)
	if err != nil || o.Retcode != 12 {
		return err == nil && o.Retcode == 0, err
	}
	// Debian's userdel also exits with this code if there is no mail to remove.
	noMail := strings.Contains(o.Stderr, "var/mail") || strings.Contains(o.Stderr, "var/spool/mail")
	return m.env.GrainsNow().Text("os_family") == "Debian" && noMail, nil
}
