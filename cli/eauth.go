package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/master/presence"
)

// NoToken is the warning for -T without -a, which Salt ignores.
const NoToken = "-T creates a token only with a login (-a); no token is created"

// exitUnauthenticated is the exit code if the authentication system does not exist.
const exitUnauthenticated = 2

// logIn authenticates the client's user by the token in token_file or by the login of -a; -T stores
// a token of that login in the file (salt/cli/salt.py, run). If a user can read root's key and
// there is a token, neither is needed. ok is false if the run ends with code.
//
// Salt sends a refused login a second time, with the job; this ends at once with the same text.
func (s *saltRun) logIn(ctx context.Context) (code int, ok bool) {
	token := s.opts.Text("token")
	s.warnUnusedLogin()
	switch {
	case token != "" && s.readsRootKey():
		return 0, true
	case token != "":
		s.local.LogIn(data.NewMap("token", token))
		return 0, true
	case s.o.EAuth == "":
		if s.o.MakeToken {
			s.out.Log("WARNING", NoToken)
		}
		return 0, true
	case !s.hasSystem():
		e := s.noSystem()
		s.out.Printf("%s", e.Stdout)
		_ = s.out.Flush() // before the text on the other stream
		s.out.PrintErr("%s", e.Stderr)
		return e.Code, false
	}
	login, err := s.prompt()
	if err == nil && s.o.MakeToken {
		login, err = s.makeToken(ctx, login)
	}
	if err != nil {
		return s.fail(err), false
	}
	s.local.LogIn(login)
	return 0, true
}

// noSystem reports that the system of -a does not exist, and lists the available ones
// (salt/auth/__init__.py, Resolver.cli).
func (s *saltRun) noSystem() *Exit {
	e := &Exit{Code: exitUnauthenticated, Stderr: "ERROR: Authentication failed\n"}
	e.Stdout = fmt.Sprintf("The specified external authentication system %q is not available\nAvailable eauth types: %s\n",
		s.o.EAuth, strings.Join(auth.PasswordSystems(), ", "))
	if slices.Contains(auth.ForeignSystems(), s.o.EAuth) {
		e.Stderr = fmt.Sprintf("Salt's authentication system %s is not built into this version\n",
			s.o.EAuth) + e.Stderr
	}
	return e
}

// warnUnusedLogin warns that a login on the command line is ignored because a stored token takes
// precedence, as in Salt.
func (s *saltRun) warnUnusedLogin() {
	if s.o.EAuth == "" || s.opts.Text("token") == "" || !s.opts.Has("username") &&
		!s.opts.Has("password") {
		return
	}
	s.out.Log("WARNING", fmt.Sprintf("The token in %s is used; --username and --password are ignored. Remove the file to log in with them",
		s.opts.Text("token_file")))
}

// hasSystem reports whether the master may have the system of -a. A Salt master may have others,
// which also ask for a name and a password.
func (s *saltRun) hasSystem() bool {
	if slices.Contains(auth.PasswordSystems(), s.o.EAuth) || ownSystem(s.opts, s.o.EAuth) {
		return true
	}
	// only a Brine master has it
	_, err := os.Stat(filepath.Join(s.opts.Text("cachedir"), presence.LockName))
	return slices.Contains(auth.ForeignSystems(), s.o.EAuth) && errors.Is(err, os.ErrNotExist)
}

// ownSystem reports whether a system is users' own code on the master's host. It does not load the
// file.
func ownSystem(opts *data.Map, name string) bool {
	dirs := append(data.TextsOf(opts.Value("auth_dirs")),
		filepath.Join(opts.Text("extension_modules"), "auth"))
	return slices.ContainsFunc(dirs, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.Base(name)+".py"))
		return err == nil
	})
}

func (s *saltRun) readsRootKey() bool {
	f, err := os.Open(filepath.Join(s.opts.Text("cachedir"), ".root_key"))
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// prompt returns the login and asks for what the command line lacks. An empty name means the
// running user's.
func (s *saltRun) prompt() (*data.Map, error) {
	in := bufio.NewReader(io.LimitReader(s.in.Stdin, maxAnswer))
	name, password := s.opts.Text("username"), s.opts.Text("password")
	var err error
	if !s.opts.Has("username") {
		s.out.Printf("username: ")
		_ = s.out.Flush()
		if name, err = typedLine(in); err != nil {
			return nil, fmt.Errorf("read the user name: %w", err)
		}
	}
	if !s.opts.Has("password") {
		if password, err = s.askPassword(in); err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
	}
	if name == "" {
		name = userName()
	}
	return data.NewMap("username", name, "password", password, "eauth", s.o.EAuth), nil
}

func typedLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// askPassword reads a password from the terminal without showing it, or from standard input if
// there is no terminal.
func (s *saltRun) askPassword(in *bufio.Reader) (string, error) {
	f, isFile := s.in.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		s.out.PrintErr("Warning: Password input may be echoed.\npassword: ")
		return typedLine(in)
	}
	s.out.PrintErr("password: ")
	typed, err := term.ReadPassword(int(f.Fd()))
	s.out.PrintErr("\n")
	return string(typed), err
}

// makeToken asks the master for a token and stores it in token_file. If that fails the login
// applies to this run only.
func (s *saltRun) makeToken(ctx context.Context, login *data.Map) (*data.Map, error) {
	token, err := s.local.MakeToken(ctx, login)
	if errors.Is(err, client.ErrNoToken) {
		return login, nil
	}
	if err != nil {
		return nil, err
	}
	if err := keepToken(s.opts.Text("token_file"), token); err != nil {
		s.out.Log("WARNING", "The token could not be stored: "+err.Error())
	}
	return data.NewMap("token", token), nil
}

// keepToken stores a token in a file that only its user can read (salt/auth/__init__.py,
// token_cli).
func keepToken(file, token string) error {
	return atomicfile.Write(file, []byte(token), atomicfile.Options{Prefix: ".salt_token-"})
}
