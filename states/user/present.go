package user

import (
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name            string
	UID             any `default:"None"`
	GID             any `default:"None"`
	Usergroup       any `default:"None"`
	Groups          any `default:"None"`
	OptionalGroups  any `default:"None"`
	RemoveGroups    any `default:"True"`
	Home            any `default:"None"`
	Createhome      any `default:"True"`
	PersistHome     any `default:"False"`
	Password        any `default:"None"`
	HashPassword    any `default:"False"`
	EnforcePassword any `default:"True"`
	EmptyPassword   any `default:"False"`
	Shell           any `default:"None"`
	Unique          any `default:"True"`
	System          any `default:"False"`
	Fullname        any `default:"None"`
	Roomnumber      any `default:"None"`
	Workphone       any `default:"None"`
	Homephone       any `default:"None"`
	Other           any `default:"None"`
	Loginclass      any `default:"None"`
	Date            any `default:"None"`
	Mindays         any `default:"None"`
	Maxdays         any `default:"None"`
	Inactdays       any `default:"None"`
	Warndays        any `default:"None"`
	Expire          any `default:"None"`
	WinHomedrive    any `default:"None"`
	WinProfile      any `default:"None"`
	WinLogonscript  any `default:"None"`
	WinDescription  any `default:"None"`
	Nologinit       any `default:"False"`
	AllowUIDChange  any `default:"False" name:"allow_uid_change"`
	AllowGIDChange  any `default:"False" name:"allow_gid_change"`
	PasswordLock    any `default:"None"`
}

// present creates a user, or changes it to the desired state.
//
// uid, gid
//
//	The user ID, and the ID or name of the primary group. For an existing user they only change
//	with allow_uid_change and allow_gid_change. Files outside the home directory keep their owner.
//
// usergroup
//
//	True: create a primary group with the user's name. False: do not. Default: the system's
//	default.
//
// groups
//
//	The supplementary groups, all of which must exist. An empty list: only the primary group.
//	Default: keep the groups.
//
// optional_groups
//
//	Supplementary groups that are used if they exist.
//
// remove_groups
//
//	False: keep groups that are not listed.
//
// home, shell
//
//	Home directory and shell.
//
// createhome
//
//	False: do not create a missing home directory.
//
// persist_home
//
//	True: move the content of the old home directory to the new one.
//
// password
//
//	The hash of the password, as produced by mkpasswd.
//
// hash_password
//
//	True: password is in plain text and is hashed.
//
// enforce_password
//
//	False: keep an existing password.
//
// empty_password
//
//	True: no password is needed, and password is ignored.
//
// password_lock
//
//	True locks the password, False unlocks it.
//
// unique
//
//	False: another user may have the same ID.
//
// system
//
//	True: a new user gets an ID in the system range.
//
// nologinit
//
//	True: do not add a new user to the databases lastlog and faillog.
//
// fullname, roomnumber, workphone, homephone, other
//
//	The parts of the user's comment field.
//
// date, expire
//
//	The date of the last password change, and the date when the account expires: days since 1970,
//	or dates such as 2030-12-31.
//
// mindays, maxdays, inactdays, warndays
//
//	Days for the password: the minimum and maximum age, how long after expiry it can still be
//	changed at login, and how long before expiry the user is warned.
//
// loginclass, win_homedrive, win_profile, win_logonscript, win_description
//
//	For BSD and Windows.
//
//	fred:
//	  user.present:
//	    - fullname: Fred Jones
//	    - shell: /bin/zsh
//	    - uid: 4000
//	    - groups:
//	      - wheel
//	      - games
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	w, refused, err := m.desired(ctx, a)
	if err != nil {
		return change.Result{}, err
	}
	if refused != "" {
		return change.Refuse(a.Name, refused)
	}
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) {
			now, err := m.look(ctx, w)
			if err != nil || !now.there() || w.made {
				return now, change.Raise(err)
			}
			return now, forbidden(a, now)
		},
		Wants: func(now account) *data.Map { return now.lacks },
		Apply: func(ctx context.Context, now account) error {
			if now.there() {
				return m.apply(ctx, now, w)
			}
			return m.make(ctx, w)
		},
		Changed: func(before, after account) *data.Map {
			if before.there() {
				return changed(before, after)
			}
			return w.created(after)
		},
		Silent: true,
		Say:    w.comment,
	}.Ensure(ctx)
}

// comment returns the comment, nil for the text of an error.
func (w *desired) comment(o change.Outcome[account]) any {
	created := !o.Before.there()
	switch {
	case o.Err != nil:
		return nil
	case o.Stage == change.StageSame:
		return fmt.Sprintf("User %s is present and up to date", w.Name)
	case o.Stage == change.StageWould && created:
		return fmt.Sprintf("User %s set to be added", w.Name)
	case o.Stage == change.StageWould:
		return "The following user attributes are set to be changed:\n" + lines(hidden(o.Changes))
	case o.Stage == change.StageFailed && created:
		return w.missed(o.Left)
	case o.Stage == change.StageFailed:
		return "These values could not be changed: " + data.Str(hidden(o.Left))
	case created:
		return fmt.Sprintf("New user %s created", w.Name)
	}
	return fmt.Sprintf("Updated user %s", w.Name)
}

// forbidden returns an error if IDs differ but may not be changed, nil otherwise.
func forbidden(a presentArgs, now account) error {
	var refusals []any
	for _, id := range []struct {
		key     string
		allowed any
	}{{"uid", a.AllowUIDChange}, {"gid", a.AllowGIDChange}} {
		if wanted, ok := now.lacks.Get(id.key); ok && !data.Truth(id.allowed) {
			refusals = append(refusals, fmt.Sprintf("Changing %[1]s (%[2]s -> %[3]s) not permitted, set allow_%[1]s_change to True "+
				"to force this change. Note that this will not change file ownership.",
				id.key, data.Str(now.user.Value(id.key)), data.Str(wanted)))
		}
	}
	if refusals == nil {
		return nil
	}
	return loader.ExecutionInfo("Encountered error checking for needed changes", refusals)
}

// hidden returns the differences without hashes.
func hidden(lacks *data.Map) *data.Map {
	if !lacks.Has("passwd") {
		return lacks
	}
	shown := lacks.Clone()
	shown.Set("passwd", redacted)
	return shown
}

func lines(m *data.Map) string {
	var b strings.Builder
	for key, v := range m.All() {
		b.WriteString(data.Str(key) + ": " + data.Str(v) + "\n")
	}
	return b.String()
}
