package mysql

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// User returns the state mysql_user.
//
// What differs from Salt: a user that could not be removed is a failure, and so is a password that
// is another after it was set. Errors never show passwords.
func User() loader.Plugin {
	return state("mysql_user", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUser).Secret("connection_pass"),
			loader.F("present", m.presentUser).Secret("password", "password_hash", "connection_pass"),
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

// asked reports whether an argument says yes.
func asked(v any) bool {
	return v == "true" || v == "True" || v != "false" && v != "False" && data.Truth(v)
}

// presentUser keeps a user who logs in with a password.
//
// host
//
//	The host, or the hosts, from where the user comes.
//
// password, password_hash
//
//	The password, or how the server stores it.
//
// allow_passwordless
//
//	True: without either of them the user needs no password.
//
// unix_socket
//
//	True: the user of the system of that name needs no password.
//
// auth_plugin
//
//	By which means a new user logs in (MySQL 8).
//
//	frank:
//	  mysql_user.present:
//	    - host: localhost
//	    - password: bobcat
func (m *module) presentUser(ctx context.Context, a userArgs) (any, error) {
	if a.passwordless() && !asked(a.AllowPasswordless) && !data.Truth(a.UnixSocket) {
		return change.Failed(a.Name, "Either password or password_hash must be specified, unless allow_passwordless is True"), nil
	}
	for _, look := range []func(context.Context, userArgs) (bool, error){m.userAsWanted, m.userThere} {
		ok, err := look(ctx, a)
		if err != nil {
			return nil, err
		}
		if text := said(ctx); text != "" {
			return change.Failed(a.Name, text), nil
		}
		if ok {
			return m.foundUser(ctx, a)
		}
	}
	return m.createUser(ctx, a)
}

// userAsWanted reports whether there is the user with the password.
func (m *module) userAsWanted(ctx context.Context, a userArgs) (bool, error) {
	kwargs := data.NewMap("unix_socket", a.UnixSocket, "password_column", a.PasswordColumn)
	if a.passwordless() {
		kwargs.Set("passwordless", true)
	} else {
		kwargs.Set("password", a.Password)
		kwargs.Set("password_hash", a.PasswordHash)
	}
	v, err := m.call(ctx, "user_exists", a.Conn, kwargs, a.Name, a.Host)
	return data.Truth(v), err
}

// userThere reports whether there is the user.
func (m *module) userThere(ctx context.Context, a userArgs) (bool, error) {
	v, err := m.call(ctx, "user_exists", a.Conn, data.NewMap("unix_socket", a.UnixSocket), a.Name, a.Host)
	return data.Truth(v), err
}

// foundUser is the result for a user that is there: as wanted, or with another password.
func (m *module) foundUser(ctx context.Context, a userArgs) (any, error) {
	ok, err := m.userAsWanted(ctx, a)
	if err != nil {
		return nil, err
	}
	if !ok {
		return m.changePassword(ctx, a)
	}
	comment := fmt.Sprintf("User %s is already present", a.who())
	switch {
	case a.passwordless() && data.Truth(a.AllowPasswordless):
		comment += " with passwordless login"
	case a.passwordless():
	case a.AuthPlugin != "mysql_native_password":
		comment += ". Unable to verify password."
	case data.Truth(a.Password):
		comment += " with the desired password"
	default:
		comment += " with the desired password hash"
	}
	return change.Done(a.Name, comment), nil
}

func (m *module) changePassword(ctx context.Context, a userArgs) (any, error) {
	verb, done := "change", "changed"
	if a.passwordless() {
		verb, done = "clear", "cleared"
	}
	if change.Test(ctx) {
		comment := fmt.Sprintf("Password for user %s is set to be %s", a.who(), done)
		if a.passwordless() && !asked(a.AllowPasswordless) {
			return change.Failed(a.Name, comment+", but allow_passwordless != True"), nil
		}
		return change.Would(a.Name, nil, comment), nil
	}
	v, err := m.call(ctx, "user_chpass", a.Conn, nil, a.Name, a.Host, a.Password, a.PasswordHash, a.AllowPasswordless, a.UnixSocket)
	if err != nil {
		return nil, err
	}
	text, now := said(ctx), false
	if data.Truth(v) {
		if now, err = m.userAsWanted(ctx, a); err != nil {
			return nil, err
		}
		text = said(ctx)
	}
	if now {
		return change.New(a.Name, true, data.NewMap(a.Name, "Updated"), fmt.Sprintf("Password for user %s has been %s", a.who(), done)), nil
	}
	comment := fmt.Sprintf("Failed to %s password for user %s", verb, a.who())
	if text != "" {
		comment += " (" + text + ")"
	}
	if a.passwordless() && !asked(a.AllowPasswordless) {
		comment += ". Note: allow_passwordless must be True to permit passwordless login."
	}
	return change.Failed(a.Name, comment), nil
}

func (m *module) createUser(ctx context.Context, a userArgs) (any, error) {
	with := ""
	if data.Truth(a.AllowPasswordless) {
		with = " with passwordless login"
	}
	if data.Truth(a.UnixSocket) {
		with += " using unix_socket"
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("User %s is set to be added", a.who())+with), nil
	}
	v, err := m.call(ctx, "user_create", a.Conn, data.NewMap("unix_socket", a.UnixSocket, "password_column", a.PasswordColumn, "auth_plugin", a.AuthPlugin),
		a.Name, a.Host, a.Password, a.PasswordHash, a.AllowPasswordless)
	if err != nil {
		return nil, err
	}
	if data.Truth(v) {
		return change.New(a.Name, true, data.NewMap(a.Name, "Present"), fmt.Sprintf("The user %s has been added", a.who())+with), nil
	}
	return change.Failed(a.Name, because(ctx, fmt.Sprintf("Failed to create user %s", a.who()))), nil
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
func (m *module) absentUser(ctx context.Context, a absentUserArgs) (any, error) {
	who := a.Name + "@" + data.Str(a.Host)
	there, err := m.call(ctx, "user_exists", a.Conn, nil, a.Name, a.Host)
	if err != nil {
		return nil, err
	}
	if !data.Truth(there) {
		if text := said(ctx); text != "" {
			return change.Failed(a.Name, text), nil
		}
		return change.Done(a.Name, fmt.Sprintf("User %s is not present, so it cannot be removed", who)), nil
	}
	if change.Test(ctx) {
		return change.Would(a.Name, nil, fmt.Sprintf("User %s is set to be removed", who)), nil
	}
	gone, err := m.call(ctx, "user_remove", a.Conn, nil, a.Name, a.Host)
	if err != nil {
		return nil, err
	}
	if data.Truth(gone) {
		return change.New(a.Name, true, data.NewMap(a.Name, "Absent"), fmt.Sprintf("User %s has been removed", who)), nil
	}
	text := said(ctx)
	if text == "" {
		text = fmt.Sprintf("User %s could not be removed", who)
	}
	return change.Failed(a.Name, text), nil
}
