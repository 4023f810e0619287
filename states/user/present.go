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
func (m *module) present(ctx context.Context, a presentArgs) (any, error) {
	w, refused, err := m.wish(ctx, a)
	if err != nil {
		return nil, err
	}
	if refused != "" {
		return change.Failed(a.Name, refused), nil
	}
	now, err := m.look(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if now.user.Len() == 0 {
		return m.make(ctx, w)
	}
	lacks, err := m.lacks(now, w)
	if err != nil {
		return nil, err
	}
	if refusal := forbidden(a, now, lacks); refusal != nil {
		return change.Failed(a.Name, refusal.Error()), nil
	}
	switch {
	case lacks.Len() == 0:
		return change.Done(a.Name, fmt.Sprintf("User %s is present and up to date", a.Name)), nil
	case change.Test(ctx):
		return change.Would(a.Name, nil, "The following user attributes are set to be changed:\n"+lines(hidden(lacks))), nil
	}
	return m.alter(ctx, now, w, lacks)
}

// forbidden returns why ids may not change, nil where nothing speaks against it.
func forbidden(a presentArgs, now account, lacks *data.Map) error {
	const text = "Changing %s (%s -> %s) not permitted, set allow_%s_change to True to force this change. Note that this will not change file ownership."
	var refusals []any
	if lacks.Has("uid") && !data.Truth(a.AllowUIDChange) {
		refusals = append(refusals, fmt.Sprintf(text, "uid", data.Str(now.user.Value("uid")), data.Str(lacks.Value("uid")), "uid"))
	}
	if lacks.Has("gid") && !data.Truth(a.AllowGIDChange) {
		refusals = append(refusals, fmt.Sprintf(text, "gid", data.Str(now.user.Value("gid")), data.Str(lacks.Value("gid")), "gid"))
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
