// Package webutil is Salt's state webutil: users of a file of passwords for web servers
// (salt/states/webutil.py). It uses the module webutil.
//
// Differences from Salt: test mode returns True for a user that is absent already, and a file that
// does not exist has no users. A user without a password is refused, whereas Salt sets the password
// None. After a change, the state reads the file again.
package webutil

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state webutil. It is available on hosts with the module webutil.
func Plugin() loader.Plugin { return loader.Plugin{Name: "webutil", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if !env.Functions.Has("webutil.useradd") {
		return nil, errors.New("Command not found: htpasswd") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("user_absent", m.userAbsent),
		loader.F("user_exists", m.userExists).Secret("password"),
	}}, nil
}

// has reports whether a file of passwords has a user.
func has(file, user string) (bool, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return false, lines.Err()
		}
		if strings.HasPrefix(lines.Text(), user+":") {
			return true, nil
		}
	}
}

type existsArgs struct {
	Name         string
	Password     any    `default:"None"`
	HtpasswdFile string `default:"None"`
	Options      any    `default:"''"`
	Force        bool   `default:"False"`
	Runas        any    `default:"None"`
	Update       bool   `default:"False"`
}

// userExists keeps a user in a file of passwords.
//
// htpasswd_file
//
//	The path of the file.
//
// options
//
//	Letters that choose the form of the password, as for webutil.useradd.
//
// force
//
//	Set the password in every run.
//
// update
//
//	Set the password if the user has another one.
//
// runas
//
//	The user to run htpasswd as.
//
//	larry:
//	  webutil.user_exists:
//	    - password: secret
//	    - htpasswd_file: /etc/nginx/htpasswd
func (m *module) userExists(ctx context.Context, a existsArgs) (change.Result, error) {
	set, output := false, ""
	args := []any{a.HtpasswdFile, a.Name, a.Password}
	more := data.NewMap("opts", a.Options, "runas", a.Runas)
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			there, err := has(a.HtpasswdFile, a.Name)
			if err == nil && a.Password == nil && (!there || a.Update || a.Force) {
				return false, change.Reason("User '" + a.Name + "' needs a password")
			}
			if there && a.Update && !a.Force {
				return change.Ask[bool](ctx, m.env, "webutil.verify", args, more)
			}
			return there, err
		},
		Wants: func(right bool) *data.Map {
			return change.When(!right || a.Force && !set, data.NewMap(a.Name, true))
		},
		Apply: func(ctx context.Context, _ bool) error {
			ran, err := change.Ask[*data.Map](ctx, m.env, "webutil.useradd", args, more)
			return finish(ran, err, &set, &output)
		},
		Texts: change.Texts{
			Same:  "User already known",
			Would: "User '" + a.Name + "' is set to be added to htpasswd file",
		},
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageDone {
				return output
			}
			return nil
		},
	}.Ensure(ctx)
}

// finish keeps the program's error output, which is the comment of both results, and returns a
// failure of the program as an error.
func finish(ran *data.Map, err error, done *bool, output *string) error {
	*done, *output = true, ran.Text("stderr")
	if err == nil && data.Truth(ran.Value("retcode")) {
		err = change.Reason(*output)
	}
	return err
}

type absentArgs struct {
	Name         string
	HtpasswdFile string `default:"None"`
	Runas        any    `default:"None"`
}

// userAbsent keeps a user out of a file of passwords. The arguments are those of
// webutil.user_exists.
//
//	larry:
//	  webutil.user_absent:
//	    - htpasswd_file: /etc/nginx/htpasswd
func (m *module) userAbsent(ctx context.Context, a absentArgs) (change.Result, error) {
	removed, output := false, ""
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  func(context.Context) (bool, error) { return has(a.HtpasswdFile, a.Name) },
		Wants: func(there bool) *data.Map { return change.When(there, data.NewMap(a.Name, true)) },
		Apply: func(ctx context.Context, _ bool) error {
			ran, err := change.Ask[*data.Map](ctx, m.env, "webutil.userdel", []any{a.HtpasswdFile, a.Name},
				data.NewMap("runas", a.Runas, "all_results", true))
			return finish(ran, err, &removed, &output)
		},
		Texts: change.Texts{
			Same:  "User already not in file",
			Would: "User '" + a.Name + "' is set to be removed from htpasswd file",
		},
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageDone {
				return output
			}
			return nil
		},
	}.Ensure(ctx)
}
