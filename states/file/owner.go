package file

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// completeOwners fills in the minion's user and that user's group.
func (m *module) completeOwners(ctx context.Context, user, group any) (any, any, error) {
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
	v, err := m.call(ctx, "user.info", nil, user)
	if err != nil {
		return nil, nil, err
	}
	info, _ := v.(*data.Map)
	gid := info.Value("gid")
	if gid == nil {
		gid = int64(0)
	}
	group, err = m.call(ctx, "file.gid_to_group", nil, gid)
	return user, group, err
}

func (m *module) owners(ctx context.Context, path string) (user, group any, err error) {
	if user, err = m.call(ctx, "file.get_user", data.NewMap("follow_symlinks", false), path); err == nil {
		group, err = m.call(ctx, "file.get_group", data.NewMap("follow_symlinks", false), path)
	}
	return user, group, err
}

// checkUser says whether a user and a group are not there; not in test mode, as they may be made before.
func (m *module) checkUser(ctx context.Context, user, group any) (string, error) {
	complaint := ""
	for _, who := range []struct {
		v              any
		fun, word, gap string
	}{{user, "file.user_to_uid", "User", " "}, {group, "file.group_to_gid", "Group", ""}} {
		if !data.Truth(who.v) {
			continue
		}
		id, err := m.call(ctx, who.fun, nil, who.v)
		if err != nil {
			return "", err
		}
		if id == "" {
			complaint += who.word + " " + data.Str(who.v) + " is not available" + who.gap
		}
	}
	if complaint != "" && change.Test(ctx) {
		m.env.Log.Warn(complaint)
		return "", nil
	}
	return complaint, nil
}

// ownerOf returns the user, by the argument user or the wrong one owner.
func (m *module) ownerOf(user any, kwargs *data.Map) any {
	if owner, ok := kwargs.Get("owner"); ok && !data.Truth(user) {
		m.env.Log.Warn(`Use of argument owner found, "owner" is invalid, please use "user"`)
		return owner
	}
	return user
}
