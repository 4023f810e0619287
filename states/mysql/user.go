package mysql

import (
	"cmp"
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state mysql_user.
//
// Differences from Salt: a user that could not be removed is a failure. So is a password that
// differs after it was set. Errors never show passwords.
func User() loader.Plugin {
	return state("mysql_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("connection_pass"),
			loader.F("present", m.presentUser).Secret("password", "password_hash",
				"connection_pass"),
		}
	})
}

type userArgs struct {
	Name              string
	Host              any       `default:"'localhost'"`
	Password          any       `default:"None"`
	PasswordHash      any       `default:"None"`
	AllowPasswordless any       `default:"False"`
	UnixSocket        any       `default:"False"`
	PasswordColumn    any       `default:"None"`
	AuthPlugin        any       `default:"'mysql_native_password'"`
	Conn              *data.Map `kwargs:"connection_args"`
}

func (a userArgs) who() string { return a.Name + "@" + data.Str(a.Host) }

func (a userArgs) passwordless() bool {
	return !data.Truth(a.Password) && !data.Truth(a.PasswordHash)
}

// isTrue reports whether an argument is true.
func isTrue(v any) bool {
	return v == "true" || v == "True" || v != "false" && v != "False" && data.Truth(v)
}

// presentUser creates a user, or changes how the user logs in.
//
// host
//
//	The host, or list of hosts, that the user connects from.
//
// password, password_hash
//
//	The password, or its hash as stored by the server.
//
// allow_passwordless
//
//	True: without a password the user needs none.
//
// unix_socket
//
//	True: the system user of the same name needs no password.
//
// auth_plugin
//
//	The authentication plugin of a new user (MySQL 8).
//
//	frank:
//	  mysql_user.present:
//	    - host: localhost
//	    - password: bobcat
func (m *module) presentUser(ctx context.Context, a userArgs) (change.Result, error) {
	if a.passwordless() && !isTrue(a.AllowPasswordless) && !data.Truth(a.UnixSocket) {
		return change.Refuse(a.Name,
			"Either password or password_hash must be specified, unless allow_passwordless is True")
	}
	return change.Thing[account]{
		Name: a.Name,
		Look: func(ctx context.Context) (account, error) { return m.look(ctx, a) },
		Wants: func(now account) *data.Map {
			word := map[account]string{missing: "Present", other: "Updated"}[now]
			return change.When(now != asWanted, data.NewMap(a.Name, word))
		},
		Apply: func(ctx context.Context, now account) error {
			if now == missing {
				return m.createUser(ctx, a)
			}
			return m.changePassword(ctx, a)
		},
		Silent: true,
		Say:    a.comment,
		Trust:  true, // what can be read depends on how the user logs in
	}.Ensure(ctx)
}

// An account is the current state of a user on the server.
type account int

const (
	missing account = iota
	other           // with another password
	asWanted
)

// look returns the current state of the user. An error of the server is returned.
func (m *module) look(ctx context.Context, a userArgs) (account, error) {
	v, err := m.userAsWanted(ctx, a)
	if ok, err := seen(ctx, v, err); ok || err != nil {
		return asWanted, err
	}
	v, err = m.call(ctx, "user_exists", a.Conn, data.NewMap("unix_socket", a.UnixSocket),
		a.Name, a.Host)
	switch there, err := seen(ctx, v, err); {
	case err != nil || !there:
		return missing, err
	// Salt only fails in test mode
	case change.Test(ctx) && a.passwordless() && !isTrue(a.AllowPasswordless):
		return other, change.Reason(a.cleared() + ", but allow_passwordless != True")
	}
	return other, nil
}

// cleared describes in test mode what happens to the password.
func (a userArgs) cleared() string {
	_, done := a.verb()
	return fmt.Sprintf("Password for user %s is set to be %s", a.who(), done)
}

// verb returns the verbs for what happens to the password of an existing user.
func (a userArgs) verb() (do, done string) {
	if a.passwordless() {
		return "clear", "cleared"
	}
	return "change", "changed"
}

// comment returns the comment, nil for the text of an error.
func (a userArgs) comment(o change.Outcome[account]) any {
	_, done := a.verb()
	switch {
	case o.Stage == change.StageSame:
		return fmt.Sprintf("User %s is already present", a.who()) + a.login()
	case o.Stage == change.StageWould && o.Before == missing:
		return fmt.Sprintf("User %s is set to be added", a.who()) + a.with()
	case o.Stage == change.StageWould:
		return a.cleared()
	case o.Stage == change.StageDone && o.Before == missing:
		return fmt.Sprintf("The user %s has been added", a.who()) + a.with()
	case o.Stage == change.StageDone:
		return fmt.Sprintf("Password for user %s has been %s", a.who(), done)
	}
	return nil
}

// login describes how an existing user logs in.
func (a userArgs) login() string {
	switch {
	case a.passwordless() && data.Truth(a.AllowPasswordless):
		return " with passwordless login"
	case a.passwordless():
		return ""
	case a.AuthPlugin != "mysql_native_password":
		return ". Unable to verify password."
	case data.Truth(a.Password):
		return " with the desired password"
	}
	return " with the desired password hash"
}

// with describes how a new user logs in.
func (a userArgs) with() string {
	with := ""
	if data.Truth(a.AllowPasswordless) {
		with = " with passwordless login"
	}
	if data.Truth(a.UnixSocket) {
		with += " using unix_socket"
	}
	return with
}

// userAsWanted reports whether the user exists and has the password.
func (m *module) userAsWanted(ctx context.Context, a userArgs) (any, error) {
	kwargs := data.NewMap("unix_socket", a.UnixSocket, "password_column", a.PasswordColumn)
	if a.passwordless() {
		kwargs.Set("passwordless", true)
	} else {
		kwargs.Set("password", a.Password)
		kwargs.Set("password_hash", a.PasswordHash)
	}
	return m.call(ctx, "user_exists", a.Conn, kwargs, a.Name, a.Host)
}

func (m *module) changePassword(ctx context.Context, a userArgs) error {
	ok, err := m.call(ctx, "user_chpass", a.Conn, nil,
		a.Name, a.Host, a.Password, a.PasswordHash, a.AllowPasswordless, a.UnixSocket)
	if err == nil && data.Truth(ok) {
		ok, err = m.userAsWanted(ctx, a)
	}
	if err != nil || data.Truth(ok) {
		return change.Raise(err)
	}
	do, _ := a.verb()
	comment := because(ctx, fmt.Sprintf("Failed to %s password for user %s", do, a.who()))
	if a.passwordless() && !isTrue(a.AllowPasswordless) {
		comment += ". Note: allow_passwordless must be True to permit passwordless login."
	}
	return change.Reason(comment)
}

func (m *module) createUser(ctx context.Context, a userArgs) error {
	kwargs := data.NewMap("unix_socket", a.UnixSocket, "password_column", a.PasswordColumn,
		"auth_plugin", a.AuthPlugin)
	made, err := m.call(ctx, "user_create", a.Conn, kwargs,
		a.Name, a.Host, a.Password, a.PasswordHash, a.AllowPasswordless)
	return refusal(ctx, "Failed to create user "+a.who(), made, err)
}

type absentUserArgs struct {
	Name string
	Host any       `default:"'localhost'"`
	Conn *data.Map `kwargs:"connection_args"`
}

// absentUser removes a user.
//
//	frank:
//	  mysql_user.absent:
//	    - host: localhost
func (m *module) absentUser(ctx context.Context, a absentUserArgs) (change.Result, error) {
	who := a.Name + "@" + data.Str(a.Host)
	return desired{
		name: a.Name,
		there: func(ctx context.Context) (bool, error) {
			there, err := m.call(ctx, "user_exists", a.Conn, nil, a.Name, a.Host)
			return seen(ctx, there, err)
		},
		make: func(ctx context.Context) error {
			gone, err := m.call(ctx, "user_remove", a.Conn, nil, a.Name, a.Host)
			if err != nil || data.Truth(gone) {
				return change.Raise(err)
			}
			return change.Reason(cmp.Or(serverError(ctx),
				fmt.Sprintf("User %s could not be removed", who)))
		},
		texts: change.Texts{
			Same:  fmt.Sprintf("User %s is not present, so it cannot be removed", who),
			Would: fmt.Sprintf("User %s is set to be removed", who),
			Done:  fmt.Sprintf("User %s has been removed", who),
		},
	}.ensure(ctx)
}
