// Package webutil is Salt's module webutil: files of users and passwords for web servers, by the
// program htpasswd (salt/modules/webutil.py).
//
// Differences from Salt: the password reaches htpasswd on its standard input and not as an
// argument, which needs the htpasswd of Apache 2.4. A user without a password is refused, and so are
// options other than the forms of a password.
package webutil

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module webutil. It is available on hosts with the program htpasswd.
func Plugin() loader.Plugin { return loader.Plugin{Name: "webutil", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if process.Find("htpasswd") == "" {
		return nil, errors.New("The htpasswd execution mdule cannot be loaded: htpasswd binary not in path.") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("useradd", m.useradd).Secret("password"),
		loader.F("userdel", m.userdel),
		loader.F("verify", m.verify).Secret("password"),
	}}, nil
}

type passwordArgs struct {
	Pwfile   string
	User     string
	Password any
	Opts     string `default:"''"`
	Runas    any    `default:"None"`
}

// run runs htpasswd with single-letter options, and the password on its standard input.
func (m *module) run(ctx context.Context, options string, a passwordArgs) (calls.Ran, error) {
	password := data.Str(a.Password)
	switch err := process.PlainOperands(a.Pwfile, a.User); {
	case err != nil:
		return calls.Ran{}, loader.Execution("%w", err)
	case a.Password == nil:
		return calls.Ran{}, loader.Execution("user %s has no password", a.User)
	case strings.ContainsAny(password, "\n\r\x00"):
		return calls.Ran{}, loader.Execution("the password of %s has more than one line", a.User)
	case strings.Contains(a.User, ":"):
		return calls.Ran{}, loader.Execution("the user name %s contains a colon", a.User)
	}
	for _, letter := range a.Opts {
		if !strings.ContainsRune("mdpsB25", letter) {
			return calls.Ran{}, loader.Execution("'%s' are not options of htpasswd", a.Opts)
		}
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"htpasswd", "-i" + options, a.Pwfile, a.User},
		Stdin: password + "\n", As: calls.Text(a.Runas)})
}

// useradd sets the password of a user in a file, which it creates if needed, and returns the result
// of the program.
//
// pwfile
//
//	The path of the file.
//
// opts
//
//	Letters that choose the form of the password: m (MD5, the default), d (crypt), s (SHA), p
//	(plain).
//
// runas
//
//	The user to run htpasswd as.
//
// CLI Example:
//
//	salt '*' webutil.useradd /etc/httpd/htpasswd larry badpassword
//	salt '*' webutil.useradd /etc/httpd/htpasswd larry badpass opts=s
func (m *module) useradd(ctx context.Context, a passwordArgs) (any, error) {
	options := a.Opts
	if !exists(a.Pwfile) {
		options += "c"
	}
	ran, err := m.run(ctx, options, a)
	return ran.Map, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

type deleteArgs struct {
	Pwfile     string
	User       string
	Runas      any  `default:"None"`
	AllResults bool `default:"False"`
}

// userdel removes a user from a file, and returns the lines of the program's output or, with
// all_results, its whole result.
//
// CLI Example:
//
//	salt '*' webutil.userdel /etc/httpd/htpasswd larry
func (m *module) userdel(ctx context.Context, a deleteArgs) (any, error) {
	if err := process.PlainOperands(a.Pwfile, a.User); err != nil {
		return nil, loader.Execution("%w", err)
	}
	if !exists(a.Pwfile) {
		return "Error: The specified htpasswd file does not exist", nil
	}
	run := calls.Run{Argv: []string{"htpasswd", "-D", a.Pwfile, a.User}, As: calls.Text(a.Runas)}
	if a.AllResults {
		ran, err := calls.RunAll(ctx, m.env, run)
		return ran.Map, err
	}
	text, err := calls.RunOutput(ctx, m.env, run)
	if err != nil || text == "" {
		return []any{}, err
	}
	return data.Values(strings.Split(strings.TrimSuffix(text, "\n"), "\n")), nil
}

// verify returns whether a file has a user with a password. The arguments are those of
// webutil.useradd.
//
// CLI Example:
//
//	salt '*' webutil.verify /etc/httpd/htpasswd larry maybepassword
//	salt '*' webutil.verify /etc/httpd/htpasswd larry maybepassword opts=s
func (m *module) verify(ctx context.Context, a passwordArgs) (any, error) {
	if !exists(a.Pwfile) {
		return false, nil
	}
	ran, err := m.run(ctx, "v"+a.Opts, a)
	return err == nil && ran.Retcode == 0, err
}
