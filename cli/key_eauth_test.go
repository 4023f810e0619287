package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// key runs salt-key with a login.
func (d *door) key(t *testing.T, typed, user string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", filepath.Join(d.root, "etc"), "--no-color",
		"--eauth", "file", "--username", user, "--password", "secret"}, args...),
		Dir: d.root, Stdin: strings.NewReader(typed),
		Env: func(name string) string { return map[string]string{"HOME": d.root + "/home"}[name] }}
	code = cli.Key(t.Context(), in, &out, &err)
	return out.String(), err.String(), code
}

// TestKeysThroughMaster manages keys as a user of external_auth, who cannot read the master's
// files.
func TestKeysThroughMaster(t *testing.T) {
	d := openDoorFor(t, "fred", []any{"@wheel"}, "eve", []any{"test.*"})
	tree := pki.Visit(d.master.Config.PKIDir, pki.Options{})
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	for id, s := range map[string]pki.State{"new1": pki.Pending, "new2": pki.Pending, "bad": pki.Rejected} {
		if err := tree.Put(s, id, key.Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	finger := pki.KeyName(key.Public())
	for _, tt := range []struct {
		name, typed, user string
		args              []string
		code              int
		stdout            string
	}{
		{"list", "", "fred", []string{"-L"}, 0,
			"Accepted Keys:\nweb1\nDenied Keys:\nUnaccepted Keys:\nnew1\nnew2\nRejected Keys:\nbad\n"},
		{"list of one state", "", "fred", []string{"-l", "un"}, 0, "Unaccepted Keys:\nnew1\nnew2\n"},
		{"fingerprint", "", "fred", []string{"-f", "new1"}, 0, "Unaccepted Keys:\nnew1:  " + finger + "\n"},
		{"text", "", "fred", []string{"-p", "new1"}, 0, "Unaccepted Keys:\nnew1:  " +
			key.Public().PEM() + "\n"},
		{"accept, and no", "n\n", "fred", []string{"-a", "new*"}, 0,
			"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\nnew2\nProceed? [n/Y] "},
		{"accept", "", "fred", []string{"-y", "-a", "new1"}, 0,
			"The following keys are going to be accepted:\nUnaccepted Keys:\nnew1\nKey for minion new1 accepted.\n"},
		{"reject", "\n", "fred", []string{"-r", "new2"}, 0,
			"The following keys are going to be rejected:\nUnaccepted Keys:\nnew2\nProceed? [n/Y] Key for minion new2 rejected.\n"},
		{"accept what is rejected", "", "fred", []string{"-y", "-a", "bad", "--include-rejected"}, 0,
			"The following keys are going to be accepted:\nRejected Keys:\nbad\nKey for minion bad accepted.\n"},
		{"delete", "", "fred", []string{"-y", "-d", "new1"}, 0,
			"The following keys are going to be deleted:\nAccepted Keys:\nnew1\nKey for minion new1 deleted.\n"},
		{"nothing", "", "fred", []string{"-a", "nobody"}, 0,
			"The key glob 'nobody' does not match any unaccepted keys.\n"},
		{"without the right", "", "eve", []string{"-y", "-d", "bad"}, 1, ""},
		{"nobody", "", "mallory", []string{"-L"}, 1, ""},
		{"a system that is not there", "", "fred", []string{"--eauth", "wrongeauth", "-L"}, 2,
			"The specified external authentication system \"wrongeauth\" is not available\nAvailable eauth types: file, ldap, pam, rest, sharedsecret\n"},
		{"files of its own", "", "fred", []string{"--gen-keys", "x"}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := d.key(t, tt.typed, tt.user, tt.args...)
			if stdout != tt.stdout || code != tt.code || (stderr != "") != (tt.code != 0) {
				t.Errorf("salt-key %q: code %d, stdout %q, stderr %q\nwant code %d, stdout %q",
					tt.args, code, stdout, stderr, tt.code, tt.stdout)
			}
		})
	}
	for id, want := range map[string]pki.State{"new1": pki.Unknown, "new2": pki.Rejected,
		"bad": pki.Accepted} {
		if got, _, err := tree.Find(id); got != want || err != nil {
			t.Errorf("in the end %s is %s, %v, want %s", id, got, err, want)
		}
	}
}

// A stored token takes precedence over a login on the command line, and the run warns that the
// login is ignored.
func TestATokenInPlaceOfALogin(t *testing.T) {
	d := openDoorFor(t, "fred", []any{"@wheel", "test.*"})
	login := []string{"-a", "file", "--username", "fred", "--password"}
	if stdout, stderr, code := d.salt(t,
		"", append(login, "secret", "-T", "web1", "test.ping")...); code != 0 || stdout != pong ||
		stderr != "" {
		t.Fatalf("make a token: %d %s%s", code, stdout, stderr)
	}
	const want = "salt_token is used; --username and --password are ignored"
	if _, stderr, code := d.key(t, "", "mallory", "-L"); code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("salt-key: %d, %q, want %q", code, stderr, want)
	}
	if stdout, stderr, code := d.salt(t,
		"", append(login, "wrong", "web1", "test.ping")...); code != 0 || stdout != pong ||
		!strings.Contains(stderr, want) {
		t.Errorf("salt: %d %s%q, want %q", code, stdout, stderr, want)
	}
}
