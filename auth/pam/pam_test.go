//go:build linux

package pam

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
)

// inside is set where TestInside finds the users and services of TestCVE2022_22967.
const inside = "BRINE_PAM_INSIDE"

// hash is what crypt(3) makes of the word secret.
const hash = "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG."

// TestCVE2022_22967 runs TestInside in a mount name space of its own, in which /etc/passwd,
// /etc/shadow, /etc/group and /etc/pam.d are those of the test.
func TestCVE2022_22967(t *testing.T) {
	need.Have(t, "root", os.Geteuid() == 0)
	need.Have(t, "unshare --mount", exec.Command("unshare", "--mount", "true").Run() == nil)
	need.Have(t, "/usr/bin/python3 with libpam", exec.Command("/usr/bin/python3", "-c",
		"import ctypes; ctypes.CDLL('libpam.so.0')").Run() == nil)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pam.d"), 0o755); err != nil {
		t.Fatal(err)
	}
	var passwd, shadow strings.Builder
	passwd.WriteString("root:x:0:0::/root:/bin/sh\n")
	for i, u := range []struct{ name, shadow string }{
		{"good", hash + ":19000:0:99999:7:::"}, {"locked", "!" + hash + ":19000:0:99999:7:::"},
		{"expired", hash + ":19000:0:99999:7::1:"},
		{"stale", hash + ":1:0:10:7:1::"}, {"open", ":19000:0:99999:7:::"}, {"none",
			"*:19000:0:99999:7:::"}, {"root", hash + ":19000:0:99999:7:::"},
	} {
		if u.name != "root" {
			passwd.WriteString(u.name + ":x:" + string(rune('1'+i)) + "000:100::/nonexistent:/bin/false\n")
		}
		shadow.WriteString(u.name + ":" + u.shadow + "\n")
	}
	for file, text := range map[string]string{
		"passwd": passwd.String(), "shadow": shadow.String(),
		"group":       "root:x:0:\nusers:x:100:\nweb:x:5001:good,other\n",
		"pam.d/brine": "auth required pam_unix.so nodelay\naccount required pam_unix.so\n",
		"pam.d/shut":  "auth required pam_unix.so nodelay\naccount required pam_deny.so\n",
		"pam.d/weak":  "auth required pam_permit.so\naccount required pam_permit.so\n",
		"pam.d/other": "auth required pam_deny.so\naccount required pam_deny.so\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "sh", "-c", `set -e
for f in passwd shadow group pam.d; do mount --bind "$1/$f" "/etc/$f"; done
exec "$2" -test.run '^TestInside$' -test.v`, "sh", dir, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: TestInside") {
		t.Error(err)
	}
}

// TestInside asks the real PAM about users in all states; a locked account and one that has expired
// are refused though the password is right (CVE-2022-22967).
func TestInside(t *testing.T) {
	if os.Getenv(inside) == "" {
		return // TestCVE2022_22967 runs it
	}
	for _, tt := range []struct {
		service, helper, name, password string
		want                            bool
	}{
		{"brine", "", "good", "secret", true},
		{"brine", "", "good", "Secret", false},
		{"brine", "", "good", "", false},
		{"brine", "", "locked", "secret", false},
		{"brine", "", "expired", "secret", false},
		{"brine", "", "stale", "secret", false},
		{"brine", "", "open", "", false},
		{"brine", "", "none", "secret", false},
		{"brine", "", "nobody-here", "secret", false},
		{"brine", "", "root", "secret", false},
		{"shut", "", "good", "secret", false},
		{"weak", "", "good", "anything", true},
		{"nosuch", "", "good", "secret", false},
		{"brine", "unix_chkpwd", "good", "secret", true},
		{"brine", "unix_chkpwd", "good", "Secret", false},
		{"brine", "unix_chkpwd", "locked", "secret", false},
		{"brine", "unix_chkpwd", "expired", "secret", false},
		{"brine", "unix_chkpwd", "stale", "secret", false},
		{"brine", "unix_chkpwd", "open", "", false},
		{"brine", "unix_chkpwd", "nobody-here", "secret", false},
	} {
		s, err := Open(data.NewMap("auth.pam.service", tt.service, "auth.pam.helper", tt.helper))
		if err != nil {
			t.Fatal(err)
		}
		ok, err := s.Login(t.Context(), auth.Login{Name: tt.name, Password: tt.password})
		if ok != tt.want || err != nil && tt.name != "root" {
			t.Errorf("%s %s: %s with %q: %v, %v, want %v", tt.service, tt.helper, tt.name,
				tt.password, ok, err, tt.want)
		}
	}
	s, err := Open(data.NewMap())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.(auth.Grouper).Groups(t.Context(), auth.Login{Name: "good"})
	slices.Sort(groups)
	if err != nil || !slices.Equal(groups, []string{"users", "web"}) {
		t.Errorf("groups %v, %v", groups, err)
	}
	if groups, err = groupsHere("good"); err != nil || len(groups) != 2 {
		t.Errorf("groups without id: %v, %v", groups, err)
	}
}

// helper writes a helper program, in shell.
func helper(t *testing.T, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestHelperGetsNothingByTheWay asks a helper of the operator's, which sees service, name and
// password on its input, and the password nowhere else.
func TestHelperGetsNothingByTheWay(t *testing.T) {
	h := helper(t, `in=$(tr '\0' '|')
[ "$in" = "sshd|fred|se cret|" ] || exit 1
case "$*$(env)" in *cret*) exit 2;; esac
exit 0
`)
	s, err := Open(data.NewMap("auth.pam.helper", h, "auth.pam.service", "sshd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_OF_THE_MASTER", "cret")
	if ok, err := s.Login(t.Context(), auth.Login{Name: "fred", Password: "se cret"}); !ok || err != nil {
		t.Errorf("Login = %v, %v", ok, err)
	}
	if ok, err := s.Login(t.Context(), auth.Login{Name: "fred", Password: "other"}); ok || err != nil {
		t.Errorf("with another password: %v, %v", ok, err)
	}
}

func TestHelpersThatFail(t *testing.T) {
	for name, body := range map[string]string{"another code": "echo broken >&2; exit 3",
		"a signal": "kill -9 $$", "much text": "head -c 100000 /dev/zero >&2; exit 2"} {
		s, err := Open(data.NewMap("auth.pam.helper", helper(t, body)))
		if err != nil {
			t.Fatal(err)
		}
		ok, err := s.Login(t.Context(), auth.Login{Name: "fred", Password: "x"})
		if ok || err == nil || len(err.Error()) > 2000 {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	s, err := Open(data.NewMap("auth.pam.helper", helper(t, "exec sleep 1000")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if ok, err := s.Login(ctx, auth.Login{Name: "fred", Password: "x"}); ok ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a helper that hangs: %v, %v", ok, err)
	}
	for _, opts := range []*data.Map{data.NewMap("auth.pam.helper", "/nosuch"),
		data.NewMap("auth.pam.python", "/nosuch"), data.NewMap("auth.pam.service", "../x")} {
		if _, err := Open(opts); err == nil {
			t.Errorf("%s opens", data.Repr(opts))
		}
	}
}
