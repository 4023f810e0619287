package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// door is a master with one minion and a file of users, and the home of a user who cannot read
// root's key.
type door struct {
	root   string
	master *testsalt.Master
}

func openDoor(t *testing.T) *door {
	t.Helper()
	return openDoorFor(t, "fred", []any{"test.*", "sys.list_functions"})
}

// openDoorFor returns a door for users with these rights, all with the same password.
func openDoorFor(t *testing.T, rights ...any) *door {
	t.Helper()
	d := &door{root: testsalt.Dir(t)}
	users := filepath.Join(d.root, "users")
	cfg := testsalt.MasterConfig(filepath.Join(d.root, "m"))
	cfg.ExternalAuth = data.NewMap("file", data.NewMap(append([]any{"^filename", users}, rights...)...))
	cfg.TokenDir = filepath.Join(d.root, "tokens")
	if err := os.WriteFile(users, []byte("fred:secret\neve:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.master = testsalt.StartMaster(t, cfg)
	bus := d.master.Listen(t, "salt/minion/")
	testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(d.root, "n"), "web1", d.master.Address))
	testsalt.AwaitEvent(t, bus, "salt/minion/web1/start")
	for _, dir := range []string{"etc", "home", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(d.root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("interface: 127.0.0.1\nret_port: %d\npublish_port: %d\nsock_dir: %s\ncachedir: %s/elsewhere\nuser: root\n", cfg.RetPort, cfg.PublishPort, cfg.SockDir, d.root)
	if err := os.WriteFile(filepath.Join(d.root, "etc/master"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// handKey copies the key of the master's user to where salt looks for that of the running user.
func (d *door) handKey(t *testing.T) {
	t.Helper()
	key := filepath.Join(d.root, "elsewhere", "."+userName(t)+"_key")
	if err := os.Symlink(filepath.Join(d.master.Config.CacheDir, ".root_key"), key); err != nil {
		t.Fatal(err)
	}
}

// salt runs salt with typed input.
func (d *door) salt(t *testing.T, typed string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", filepath.Join(d.root, "etc"), "--no-color"},
		args...), Dir: d.root, Stdin: strings.NewReader(typed),
		Env: func(name string) string { return map[string]string{"HOME": d.root + "/home"}[name] }}
	code = cli.Salt(t.Context(), in, &out, &err)
	return out.String(), err.String(), code
}

const (
	pong    = "web1:\n    True\n"
	echoing = "Warning: Password input may be echoed.\npassword: "
)

// TestExternalAuthentication compares runs of salt -a and -T with the output of Salt 3006.0.
func TestExternalAuthentication(t *testing.T) {
	d := openDoor(t)
	for _, tt := range []struct {
		name, typed    string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a login", "", []string{"-a", "file", "--username", "fred", "--password", "secret", "web1",
			"test.ping"}, 0, pong, ""},
		{"a wrong password", "", []string{"-a", "file", "--username", "fred", "--password", "wrong",
			"web1", "test.ping"}, 0, "Authentication error occurred.\n", ""},
		{"nobody by this name", "", []string{"-a", "file", "--username", "mallory", "--password",
			"secret", "web1", "test.ping"}, 0, "Authentication error occurred.\n", ""},
		{"a system that is off", "", []string{"-a", "pam", "--username", "fred", "--password",
			"secret", "web1", "test.ping"}, 0, "Authentication error occurred.\n", ""},
		{"a function that is not allowed",
			"", []string{"-a", "file", "--username", "fred", "--password", "secret", "web1",
				"cmd.run", "id"}, 0, "Authorization error occurred.\n", ""},
		{"two functions, one not allowed",
			"", []string{"-a", "file", "--username", "fred", "--password", "secret", "web1",
				"test.ping,cmd.run", ",id"}, 0, "Authorization error occurred.\n", ""},
		{"a login that is typed", "fred\nsecret\n", []string{"-a", "file", "web1", "test.ping"}, 0,
			"username: " + pong, echoing},
		{"a password that is typed", "secret",
			[]string{"-a", "file", "--username", "fred", "web1", "test.ping"}, 0, pong, echoing},
		{"a system that nobody has", "", []string{"-a", "nosuch", "web1", "test.ping"}, 2,
			"The specified external authentication system \"nosuch\" is not available\nAvailable eauth types: file, ldap, pam, rest, sharedsecret\n",
			"ERROR: Authentication failed\n"},
		{"no login and no key", "", []string{"web1", "test.ping"}, 1, "Authentication error occurred.\n", ""},
		{"a token for a wrong login", "",
			[]string{"-a", "file", "-T", "--username", "fred", "--password", "wrong", "web1",
				"test.ping"}, 0, "Authentication error occurred.\n", ""},
		{"all at once", "", []string{"-a", "file", "--username", "fred", "--password", "secret",
			"--static", "web1", "test.ping"}, 0, pong, ""},
		{"a subset", "", []string{"-a", "file", "--username", "fred", "--password", "secret",
			"--subset", "1", "*", "test.ping"}, 0, pong, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := d.salt(t, tt.typed, tt.args...)
			if tt.name == "no login and no key" { // the log names the file of the key
				_, stderr, _ = strings.Cut(stderr, "\n")
			}
			if stdout != tt.stdout || stderr != tt.stderr || code != tt.code {
				t.Errorf("code %d\n%s%s\nwant %d\n%s%s", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// With a Salt master, one of Salt's systems is tried; with a Brine master it is reported as not
// built in.
func TestSystemOfSalts(t *testing.T) {
	d := openDoor(t)
	args := []string{"-a", "keystone", "--username", "fred", "--password", "secret", "web1", "test.ping"}
	if stdout, stderr, code := d.salt(t, "", args...); code != 0 ||
		stdout != "Authentication error occurred.\n" || stderr != "" {
		t.Errorf("beside a master that may have it: %d %s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join(d.root, "elsewhere/.master_lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "Salt's authentication system keystone is not built into this version\nERROR: Authentication failed\n"
	if stdout, stderr, code := d.salt(t, "", args...); code != 2 || stderr != want ||
		!strings.HasSuffix(stdout, "Available eauth types: file, ldap, pam, rest, sharedsecret\n") {
		t.Errorf("beside a master of ours: %d %s%s", code, stdout, stderr)
	}
}

func TestNoTokenWithoutALogin(t *testing.T) {
	d := openDoor(t)
	d.handKey(t)
	stdout, stderr, code := d.salt(t, "", "-T", "web1", "test.ping")
	if code != 0 || stdout != pong ||
		stderr != "[WARNING ] -T creates a token only with a login (-a); no token is created\n" {
		t.Errorf("salt -T: %d %s%s", code, stdout, stderr)
	}
}

// An unreadable target, which matches nobody, is reported; Salt's output is kept.
func TestTargetsThatCannotBeRead(t *testing.T) {
	d := openDoor(t)
	d.handKey(t)
	for _, tt := range []struct {
		args []string
		why  string
	}{
		{[]string{"-E", "(", "test.ping"},
			`target "(": regular expression "(": missing ), unterminated subpattern at position 0` + "\n"},
		{[]string{"-C", "web1 and (", "test.ping"},
			`compound target "web1 and (": malformed target: it ends where a condition is expected` + "\n"},
		{[]string{"-S", "10.0.0.0/99", "test.ping"},
			`malformed target: ip address or network "10.0.0.0/99": prefix length 99 is too long` + "\n"},
		{[]string{"-E", "(", "test.ping", "--static"},
			`target "(": regular expression "(": missing ), unterminated subpattern at position 0` + "\n"},
		{[]string{"-L", "ghost,spook", "test.ping"},
			"No such minion: the master has no accepted key of any of these ids\n"},
		{[]string{"zz*", "test.ping"}, ""},
	} {
		stdout, stderr, code := d.salt(t, "", tt.args...)
		if code != 2 || !strings.HasPrefix(stdout,
			"No minions matched the target. No command was sent, no jid was assigned.\n") ||
			stderr != tt.why+"ERROR: No return received\n" {
			t.Errorf("salt %q: %d\n%s%swant\n%s", tt.args, code, stdout, stderr, tt.why)
		}
	}
	if stdout, stderr, code := d.salt(t, "", "-E", "(", "test.ping", "-b", "1"); code != 0 ||
		!strings.HasPrefix(stdout, "No minions matched the target. No command") ||
		!strings.HasPrefix(stderr, `target "(": regular expression`) {
		t.Errorf("a batch: %d %s%s", code, stdout, stderr)
	}
}

func TestTokenForTheNextRun(t *testing.T) {
	d := openDoor(t)
	file := filepath.Join(d.root, "home/salt_token")
	if stdout, stderr, code := d.salt(t, "", "-a", "file", "-T", "--username", "fred", "--password",
		"secret", "web1", "test.ping"); code != 0 || stdout != pong {
		t.Fatalf("salt -T: %d %s%s", code, stdout, stderr)
	}
	token, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || len(token) != 64 {
		t.Fatalf("the token is %q, %v, %v", token, err, info.Mode())
	}
	if stdout, stderr, code := d.salt(t, "", "web1", "test.ping"); code != 0 || stdout != pong {
		t.Errorf("with the token: %d %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := d.salt(t, "", "-a", "file", "web1", "cmd.run", "id"); code != 0 ||
		stdout != "Authorization error occurred.\n" {
		t.Errorf("what its user may not: %d %s%s", code, stdout, stderr)
	}
	if err := os.Remove(filepath.Join(d.root, "tokens", string(token))); err != nil {
		t.Fatal(err)
	}
	if stdout, _, code := d.salt(t, "", "web1", "test.ping"); code != 0 ||
		stdout != "Authentication error occurred.\n" {
		t.Errorf("with a token that the master has forgotten: %d %s", code, stdout)
	}
	old := time.Now().Add(-13 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if stdout, _, _ := d.salt(t, "fred\nsecret\n", "-a", "file", "web1",
		"test.ping"); stdout != "username: "+pong {
		t.Errorf("with an old token a login is not asked for: %s", stdout)
	}
}
