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
)

// NoToken is told of -T without -a, which Salt passes over.
const NoToken = "-T makes a token only with a login, by -a; none is made"

// exitUnauthenticated is the code of a run that asks for a system that there is not.
const exitUnauthenticated = 2

// logIn makes the client prove its user by the token in token_file, or by a login of -a, of which -T keeps a token there
// (salt/cli/salt.py, run). Who can read the key of root needs neither when there is a token. ok is false when the run ends with code.
//
// Where Salt sends a refused login a second time, with the job, this ends at once with the same text.
func (s *saltRun) logIn(ctx context.Context) (code int, ok bool) {
	token := s.opts.Text("token")
	s.tellUnusedLogin()
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
		_ = s.out.Flush() // before what stands on the other stream
		s.out.Tell("%s", e.Stderr)
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

// noSystem tells that the system of -a is not there, and which are (salt/auth/__init__.py, Resolver.cli).
func (s *saltRun) noSystem() *Exit {
	e := &Exit{Code: exitUnauthenticated, Stderr: "ERROR: Authentication failed\n"}
	e.Stdout = fmt.Sprintf("The specified external authentication system %q is not available\nAvailable eauth types: %s\n",
		s.o.EAuth, strings.Join(auth.SystemNames(), ", "))
	if slices.Contains(auth.ForeignSystems(), s.o.EAuth) {
		e.Stderr = fmt.Sprintf("Salt's authentication system %s is not built into this version\n", s.o.EAuth) + e.Stderr
	}
	return e
}

// tellUnusedLogin says that a login on the command line is not looked at, since a token is kept, which comes first in Salt too.
func (s *saltRun) tellUnusedLogin() {
	if s.o.EAuth == "" || s.opts.Text("token") == "" || !s.opts.Has("username") && !s.opts.Has("password") {
		return
	}
	s.out.Log("WARNING", fmt.Sprintf("The token in %s is used; --username and --password are not looked at. Remove the file to log in with them",
		s.opts.Text("token_file")))
}

// hasSystem reports whether the master may have the system of -a. One of Salt's may have more, which ask for a name and a password
// too.
func (s *saltRun) hasSystem() bool {
	if slices.Contains(auth.SystemNames(), s.o.EAuth) {
		return true
	}
	_, err := os.Stat(filepath.Join(s.opts.Text("cachedir"), ".master_lock")) // of a master of ours alone
	return slices.Contains(auth.ForeignSystems(), s.o.EAuth) && errors.Is(err, os.ErrNotExist)
}

func (s *saltRun) readsRootKey() bool {
	f, err := os.Open(filepath.Join(s.opts.Text("cachedir"), ".root_key"))
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// prompt returns the login, and asks for what the command line does not say of it. No name means that of the user.
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

// askPassword reads a password from the terminal without showing it, or from standard input where there is none.
func (s *saltRun) askPassword(in *bufio.Reader) (string, error) {
	f, isFile := s.in.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		s.out.Tell("Warning: Password input may be echoed.\npassword: ")
		return typedLine(in)
	}
	s.out.Tell("password: ")
	typed, err := term.ReadPassword(int(f.Fd()))
	s.out.Tell("\n")
	return string(typed), err
}

// makeToken asks the master for a token and keeps it in token_file. Without one the login is good for this run.
func (s *saltRun) makeToken(ctx context.Context, login *data.Map) (*data.Map, error) {
	token, err := s.local.MakeToken(ctx, login)
	if errors.Is(err, client.ErrNoToken) {
		return login, nil
	}
	if err != nil {
		return nil, err
	}
	if err := keepToken(s.opts.Text("token_file"), token); err != nil {
		s.out.Log("WARNING", "The token is not kept: "+err.Error())
	}
	return data.NewMap("token", token), nil
}

// keepToken writes a token where its user alone can read it (salt/auth/__init__.py, token_cli).
func keepToken(file, token string) error {
	return atomicfile.Write(file, []byte(token), atomicfile.Options{Prefix: ".salt_token-"})
}
