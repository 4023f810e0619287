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

// present makes a user, or brings it to how it is wanted.
//
// uid, gid
//
//	Ids, the group's by its name, too. Those of a user that is there change with allow_uid_change and allow_gid_change alone; files
//	elsewhere than in its home directory keep their owner.
//
// usergroup
//
//	True: the group of its own has its name and is made with it. False: it is not. Default: as the system has it.
//
// groups
//
//	The groups that it is in. All must be there. An empty list: none but its own. Default: those that it is in.
//
// optional_groups
//
//	Groups that count where they are there.
//
// remove_groups
//
//	False: groups that are not listed are kept.
//
// home, shell
//
//	Home directory and shell.
//
// createhome
//
//	False: a home directory that is not there is not made.
//
// password
//
//	The hash of its password, as mkpasswd makes it.
//
// hash_password
//
//	True: password is the password itself.
//
// enforce_password
//
//	False: a password that was set before stays.
//
// empty_password
//
//	True: it needs no password. What password says does not count then.
//
// password_lock
//
//	True locks the password, False unlocks it.
//
// unique
//
//	False: another user may have the same id.
//
// system
//
//	True: the id of a new user is one of those for the system.
//
// nologinit
//
//	True: a new user is kept out of the databases lastlog and faillog.
//
// fullname, roomnumber, workphone, homephone, other
//
//	What is told of the user in its comment.
//
// date, expire
//
//	When the password was changed and when the account ends: days since 1970, or dates such as 2030-12-31.
//
// mindays, maxdays, inactdays, warndays
//
//	Days of its password: after which it may be changed, after which it must be, for which it may still be changed at login,
//	and for which the user is warned before.
//
// loginclass, win_homedrive, win_profile, win_logonscript, win_description
//
//	Of BSD and of Windows.
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
	w, refused, err := m.wish(ctx, a)
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
				return m.bring(ctx, now, w)
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
		Say:    w.say,
	}.Ensure(ctx)
}

// say returns the comment, nil for the text of an error.
func (w *wish) say(o change.Outcome[account]) any {
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

// forbidden returns why ids may not change, nil where nothing speaks against it.
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

// hidden returns what lacks without hashes.
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
