// Package pam authenticates users with the host's Pluggable Authentication Modules
// (salt/auth/pam.py). It checks the password and then the account, so locked and expired accounts
// are refused (CVE-2022-22967).
//
// PAM modules are C libraries, and Brine is not linked with any, so a helper program makes the
// calls:
//
//   - By default the system's Python, like Salt itself: auth.pam.python (/usr/bin/python3) runs a
//     script of 80 lines in this package, which calls libpam. Debian, Ubuntu, Fedora, SUSE and RHEL
//     (there /usr/libexec/platform-python) provide both.
//   - auth.pam.helper: PATH runs another program instead. It reads service, name and password, each
//     followed by a NUL, from standard input, and exits with 0 to accept and 1 to refuse.
//   - auth.pam.helper: unix_chkpwd runs the helper of pam_unix, for hosts without Python. It
//     supports only passwords in /etc/shadow and no other PAM modules; the master must run as root.
//
// The option auth.pam.service sets the service (login). Passwords are never passed on a command
// line or in an environment. As in Salt, root is refused.
package pam

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strings"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

//go:embed helper.py
var script string

// patience is the timeout of PAM; some modules pause after a wrong password.
const patience = 15 * time.Second

// A host authenticates with one PAM service.
type host struct {
	service string
	// nil means accepted, errNo refused
	ask func(ctx context.Context, service string, l auth.Login) error
}

var (
	_ auth.System  = (*host)(nil)
	_ auth.Grouper = (*host)(nil)
)

var errNo = errors.New("no")

// Open returns the system described by the options auth.pam.service, auth.pam.python and
// auth.pam.helper. The error names a missing helper program.
func Open(opts *data.Map) (auth.System, error) {
	h := &host{service: textOr(opts, "auth.pam.service", "login")}
	if h.service == "" || strings.ContainsAny(h.service, "/\x00") {
		return nil, fmt.Errorf("auth.pam.service: %q is not a valid service name", h.service)
	}
	helper := textOr(opts, "auth.pam.helper", "")
	name := helper
	switch helper {
	case "":
		name = textOr(opts, "auth.pam.python", "/usr/bin/python3")
	case "unix_chkpwd":
		name = chkpwd()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("the program that asks PAM: %w (options auth.pam.python and auth.pam.helper)", err)
	}
	switch helper {
	case "":
		h.ask = func(ctx context.Context, service string, l auth.Login) error {
			return run(ctx, service+"\x00"+l.Name+"\x00"+l.Password+"\x00", path, "-I",
				"-c", script)
		}
	case "unix_chkpwd":
		h.ask = func(ctx context.Context, _ string, l auth.Login) error { return askChkpwd(ctx, path, l) }
	default:
		h.ask = func(ctx context.Context, service string, l auth.Login) error {
			return run(ctx, service+"\x00"+l.Name+"\x00"+l.Password+"\x00", path)
		}
	}
	return h, nil
}

func textOr(opts *data.Map, name, otherwise string) string {
	if s, ok := opts.Value(name).(string); ok && s != "" {
		return s
	}
	return otherwise
}

// chkpwd returns the path of unix_chkpwd, which depends on the distribution.
func chkpwd() string {
	for _, path := range []string{"/usr/sbin/unix_chkpwd", "/sbin/unix_chkpwd",
		"/usr/bin/unix_chkpwd"} {
		if _, err := exec.LookPath(path); err == nil {
			return path
		}
	}
	return "unix_chkpwd"
}

// Login reports whether PAM accepts the password and the account.
func (h *host) Login(ctx context.Context, l auth.Login) (bool, error) {
	if l.Name == "root" {
		return false, errors.New("PAM is not asked about root")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := h.ask(ctx, h.service, l)
	if errors.Is(err, errNo) {
		return false, nil
	}
	return err == nil, err
}

// askChkpwd checks the account and then the password: the program checks one of them per call.
func askChkpwd(ctx context.Context, path string, l auth.Login) error {
	if strings.HasPrefix(l.Name, "-") {
		return errNo
	}
	if err := run(ctx, "", path, l.Name, "chkexpiry"); err != nil {
		return errNo // its exit codes are PAM's: expired, password change required, unknown user
	}
	if err := run(ctx, l.Password+"\x00", path, l.Name, "nonull"); err != nil {
		return errNo
	}
	return nil
}

// run runs a helper with input. It returns nil for exit code 0 and errNo for 1.
func run(ctx context.Context, input, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	var tail tail
	cmd.Stderr = &tail
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", path, ctx.Err())
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return errNo
	case err != nil:
		return fmt.Errorf("%s: %w: %s", path, err, tail.text())
	}
	return nil
}

// A tail keeps the last bytes written to it.
type tail struct{ b []byte }

const tailSize = 512

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if n := len(t.b) - tailSize; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(p), nil
}

func (t *tail) text() string { return strings.ToValidUTF8(strings.TrimSpace(string(t.b)), "?") }

// Groups returns the system groups of a user. It uses the program id if available, which also knows
// groups from LDAP and other sources (salt/utils/user.py, get_group_list).
func (h *host) Groups(ctx context.Context, l auth.Login) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "id", "-Gn", "-z", "--", l.Name)
	out, err := cmd.Output()
	if err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	return groupsHere(l.Name)
}

// groupsHere returns the groups in /etc/group only.
func groupsHere(name string) ([]string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			names = append(names, g.Name)
		}
	}
	return names, nil
}
