// Package pdbedit is Salt's state pdbedit: the accounts of Samba's user database
// (salt/states/pdbedit.py). It uses the module pdbedit.
//
// Differences from Salt: test mode changes nothing and says what would change; hashes of passwords
// are not in the changes; and a failed state has the reason as its comment.
package pdbedit

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state pdbedit. It is available on hosts with the module pdbedit.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "pdbedit", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("pdbedit.create") {
			return nil, errors.New("pdbedit state module can only be loaded when the pdbedit module is available")
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("absent", m.absent),
			loader.F("managed", m.managed).Secret("password"),
			loader.F("present", m.managed).Secret("password"),
		}}, nil
	}}
}

type module struct{ env *loader.Env }

type absentArgs struct{ Name string }

// absent keeps an account deleted.
//
//	wash:
//	  pdbedit.absent
func (m *module) absent(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			names, err := loader.CallAs[any](ctx, m.env, "pdbedit.list", []any{false}, nil)
			if failure, ok := names.(*data.Map); ok {
				return false, change.Reason("list the accounts of Samba: " + failure.Text("Error"))
			}
			for _, name := range data.TextsOf(names) {
				if name == a.Name {
					return true, err
				}
			}
			return false, change.Raise(err)
		},
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(a.Name, "deleted")) },
		Apply: func(ctx context.Context, _ bool) error {
			return m.do(ctx, a.Name, "pdbedit.delete", data.NewMap("login", a.Name), "deleted", "absent")
		},
		Texts: change.Texts{
			Same:   "account " + a.Name + " is absent",
			Would:  "account " + a.Name + " would be deleted",
			Failed: "account " + a.Name + " still exists",
		},
	}.Ensure(ctx)
}

// do calls a function of the module on an account, and checks its answer.
func (m *module) do(ctx context.Context, name, fun string, kwargs *data.Map, good ...string) error {
	answer, err := loader.CallAs[*data.Map](ctx, m.env, fun, nil, kwargs)
	if err != nil {
		return err
	}
	text := answer.Text(name)
	for _, word := range good {
		if text == word {
			return nil
		}
	}
	return change.Reason(text)
}

type managedArgs struct {
	Name                  string
	Password              any `default:"None"`
	PasswordHashed        any `default:"False"`
	Domain                any `default:"None"`
	Profile               any `default:"None"`
	Script                any `default:"None"`
	Drive                 any `default:"None"`
	Homedir               any `default:"None"`
	Fullname              any `default:"None"`
	AccountDesc           any `default:"None"`
	AccountControl        any `default:"None"`
	MachineSID            any `name:"machine_sid" default:"None"`
	UserSID               any `name:"user_sid" default:"None"`
	ResetLoginHours       any `default:"False"`
	ResetBadPasswordCount any `default:"False"`
}

// kwargs returns the arguments of pdbedit.modify.
func (a managedArgs) kwargs() *data.Map {
	return data.NewMap("login", a.Name, "password", a.Password, "password_hashed", a.PasswordHashed,
		"domain", a.Domain, "profile", a.Profile, "script", a.Script, "drive", a.Drive,
		"homedir", a.Homedir, "fullname", a.Fullname, "account_desc", a.AccountDesc,
		"account_control", a.AccountControl, "machine_sid", a.MachineSID, "user_sid", a.UserSID,
		"reset_login_hours", a.ResetLoginHours, "reset_bad_password_count", a.ResetBadPasswordCount)
}

// account is what Samba knows of an account, and the hash of its wanted password.
type account struct {
	fields *data.Map // nil if there is none
	hash   string    // "" if no password is wanted
}

// managed keeps an account with a password and other fields. Without a password it creates none.
//
// password
//
//	The password.
//
// password_hashed : False
//
//	The password is an NT hash.
//
// domain, fullname, account_desc
//
//	The domain, the full name and the description.
//
// profile, script, drive, homedir
//
//	The paths of the profile and the logon script, the drive and path of the home directory.
//
// account_control
//
//	The flags of the account: N (needs no password), D (disabled), H (needs a home directory), L
//	(locks itself), X (the password does not expire).
//
// machine_sid, user_sid
//
//	The SID or RID of the primary group of the machine, and of the user.
//
// reset_login_hours, reset_bad_password_count
//
//	Reset the hours in which the user may log in, and the count of wrong passwords.
//
//	kaylee:
//	  pdbedit.managed:
//	    - password: A70C708517B5DD0EDB67714FE25336EB
//	    - password_hashed: True
//	    - drive: 'X:'
//	    - homedir: '\\serenity\mechanic\profile'
func (m *module) managed(ctx context.Context, a managedArgs) (change.Result, error) {
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) { return m.look(ctx, a) },
		Wants: func(now account) *data.Map {
			if now.fields == nil {
				return data.NewMap(a.Name, "created")
			}
			lacks := a.lacks(now)
			return change.When(lacks.Len() > 0, data.NewMap(a.Name, lacks))
		},
		Apply: func(ctx context.Context, _ account) error {
			return m.do(ctx, a.Name, "pdbedit.modify", a.kwargs(), "created", "updated", "unchanged")
		},
		Changed: func(before, after account) *data.Map {
			if before.fields == nil {
				return change.When(after.fields != nil, data.NewMap(a.Name, "created"))
			}
			made := compared(before.fields, after.fields)
			return change.When(made.Len() > 0, data.NewMap(a.Name, made))
		},
		Texts: change.Texts{
			Would:  "account " + a.Name + " would be created or updated",
			Failed: "account " + a.Name + " still differs",
		},
	}.Ensure(ctx)
}

// look reads an account.
func (m *module) look(ctx context.Context, a managedArgs) (account, error) {
	users, err := loader.CallAs[*data.Map](ctx, m.env, "pdbedit.list", nil, data.NewMap("hashes", true))
	if err != nil {
		return account{}, change.Raise(err)
	}
	now := account{}
	now.fields, _ = users.Value(a.Name).(*data.Map)
	switch {
	case !data.Truth(a.Password) && now.fields == nil:
		return now, change.Reason("absent")
	case data.Truth(a.Password) && data.Truth(a.PasswordHashed):
		now.hash = strings.ToUpper(data.Str(a.Password))
	case data.Truth(a.Password):
		now.hash, err = loader.CallAs[string](ctx, m.env, "pdbedit.generate_nt_hash",
			[]any{data.Str(a.Password)}, nil)
	}
	return now, change.Raise(err)
}

// hidden replaces the hashes of passwords.
const hidden = "XXX-REDACTED-XXX"

// lacks returns the fields of an account that differ from the wanted ones.
func (a managedArgs) lacks(now account) *data.Map {
	lacks := &data.Map{}
	if now.hash != "" && now.fields.Value("nt hash") != now.hash {
		lacks.Set("nt hash", change.OldNew(hidden, hidden))
	}
	want := func(label string, v any, differs bool) {
		if have, ok := now.fields.Get(label); ok && v != nil && differs {
			lacks.Set(label, change.OldNew(have, data.Str(v)))
		}
	}
	for _, one := range []struct {
		label string
		v     any
	}{
		{"domain", a.Domain},
		{"full name", a.Fullname},
		{"account desc", a.AccountDesc},
		{"home directory", a.Homedir},
		{"homedir drive", a.Drive},
		{"profile path", a.Profile},
		{"logon script", a.Script},
	} {
		want(one.label, one.v, now.fields.Text(one.label) != data.Str(one.v))
	}
	have, given := settable(now.fields.Text("account flags")), settable(data.Str(a.AccountControl))
	want("account flags", a.AccountControl, strings.Trim(have, given) != "" || strings.Trim(given, have) != "")
	want("user sid", a.UserSID, !strings.HasSuffix(now.fields.Text("user sid"), data.Str(a.UserSID)))
	want("machine sid", a.MachineSID, !strings.HasSuffix(now.fields.Text("machine sid"), data.Str(a.MachineSID)))
	if hours := now.fields.Text("logon hours"); data.Truth(a.ResetLoginHours) {
		want("logon hours", strings.Repeat("F", len(hours)), strings.Trim(hours, "F") != "")
	}
	if data.Truth(a.ResetBadPasswordCount) {
		want("bad password count", "0", now.fields.Text("bad password count") != "0")
	}
	return lacks
}

// settable returns the flags of an account that can be set.
func settable(text string) string {
	return strings.Map(func(flag rune) rune {
		if strings.ContainsRune("NDHLX", flag) {
			return flag
		}
		return -1
	}, strings.ToUpper(text))
}

// compared returns the fields that differ, without hashes.
func compared(before, after *data.Map) *data.Map {
	made := &data.Map{}
	note := func(label, old, now any) {
		if strings.HasSuffix(data.Str(label), " hash") {
			old, now = hidden, hidden
		}
		made.Set(label, change.OldNew(old, now))
	}
	for label, now := range after.All() {
		if old, ok := before.Get(label); !ok {
			note(label, "", now)
		} else if !data.Equal(old, now) {
			note(label, old, now)
		}
	}
	for label, old := range before.All() {
		if !after.Has(label) {
			note(label, old, "")
		}
	}
	return made
}
