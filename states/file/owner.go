package file

import (
	"context"
	"runtime"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// completeOwners fills in the minion's user and that user's primary group.
func (m *module) completeOwners(ctx context.Context, user, group any) (any, any, error) {
	if onWindows {
		return user, nil, nil // files keep the owner that the system gives them
	}
	if user == nil {
		if user = m.env.Option("user"); user == nil {
			user = "root"
		}
	}
	if group != nil {
		return user, group, nil
	}
	if !m.env.Functions.Has("user.info") {
		return user, user, nil
	}
	info, ok, err := calls.UserInfo(ctx, m.env, user)
	if err != nil {
		return nil, nil, err
	}
	gid := info.GID
	if !ok || gid < 0 {
		gid = 0
	}
	group, err = m.call(ctx, "file.gid_to_group", nil, gid)
	return user, group, err
}

func (m *module) owners(ctx context.Context, path string) (user, group any, err error) {
	if user, err = m.call(ctx, "file.get_user", data.NewMap("follow_symlinks", false),
		path); err == nil {
		group, err = m.call(ctx, "file.get_group", data.NewMap("follow_symlinks", false), path)
	}
	return user, group, err
}

// onWindows tells that files have an owner and an access control list, and no group and mode.
const onWindows = runtime.GOOS == "windows"

// win are the arguments of a state for Windows.
type win struct{ owner, perms, deny, inherit, reset any }

// more returns the arguments of an access control list for calls of the module file.
func (w win) more() *data.Map {
	return data.NewMap("win_perms", w.perms, "win_deny_perms", w.deny, "win_inheritance", w.inherit,
		"win_perms_reset", w.reset)
}

// ownerOnWindows returns the wanted owner on Windows: win_owner, or else user. It warns about a
// group, which means nothing there.
func (m *module) ownerOnWindows(owner, user, group any, name string) any {
	if group != nil {
		m.env.Log.Warnf("The group argument for %s has been ignored as this is a Windows system. "+
			"Please use the `win_*` parameters to set permissions in Windows.", name)
	}
	if owner == nil {
		return user
	}
	return owner
}

// checkUser returns a message if a user or group does not exist. In test mode it only logs that, as
// they may be created earlier in the run.
func (m *module) checkUser(ctx context.Context, user, group any) (string, error) {
	complaint := ""
	for _, who := range []struct {
		v         any
		ask       func(context.Context, *loader.Env, any) (int64, bool, error)
		word, gap string
	}{{user, calls.UserToUID, "User", " "}, {group, calls.GroupToGID, "Group", ""}} {
		if !data.Truth(who.v) || onWindows && who.word == "Group" {
			continue
		}
		_, known, err := who.ask(ctx, m.env, who.v)
		if err != nil {
			return "", err
		}
		if !known {
			complaint += who.word + " " + data.Str(who.v) + " is not available" + who.gap
		}
	}
	if complaint != "" && change.Test(ctx) {
		m.env.Log.Warn(complaint)
		return "", nil
	}
	return complaint, nil
}

// ownerOf returns the argument user, or the misnamed argument owner.
func (m *module) ownerOf(user any, kwargs *data.Map) any {
	if owner, ok := kwargs.Get("owner"); ok && !data.Truth(user) {
		m.env.Log.Warn(`Use of argument owner found, "owner" is invalid, please use "user"`)
		return owner
	}
	return user
}
