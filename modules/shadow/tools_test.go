//go:build linux

package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
	"github.com/brineproject/brine/loader"
)

func list(words ...any) []any { return words }

const hash = "$6$My5alT$dX70VD1wnFof0Pl8AkakL7hHca8J0fE4V8HSJHtuOPgUuwujI0hwNTlP4iAACE8wwTGiwt/ebo8g53mAAVb7L1"

// TestPasswords lets the system's programs change the passwords below a directory.
func TestPasswords(t *testing.T) {
	r := testroot.New(t, "useradd", "chage", "passwd", "chpasswd")
	r.Call(t, "user.add", "ann")
	today := time.Now().Unix() / 86400
	entry := func(words ...any) *data.Map {
		m := data.NewMap("name", "ann", "passwd", "!", "lstchg", today, "min", int64(0),
			"max", int64(99999), "warn", int64(7), "inact", int64(-1), "expire", int64(-1))
		m.Update(data.NewMap(words...))
		return m
	}
	none := data.NewMap("name", "", "passwd", "", "lstchg", "", "min", "", "max", "", "warn", "",
		"inact", "", "expire", "")
	r.Check(t, []testroot.Call{
		{"shadow.default_hash", nil, "!"},
		{"shadow.info", list("ann"), entry()},
		{"shadow.info", list("none"), none},
		{"shadow.list_users", nil, list("ann", "root")},
		{"shadow.set_password", list("ann", hash), true},
		{"shadow.set_password", list("ann", hash), true},
		{"shadow.set_password", list("none", hash), false},
		{"shadow.lock_password", list("ann"), true},
		{"shadow.lock_password", list("ann"), true},
		{"shadow.info", list("ann"), entry("passwd", "!"+hash)},
		{"shadow.unlock_password", list("ann"), true},
		{"shadow.unlock_password", list("ann"), true},
		{"shadow.info", list("ann"), entry("passwd", hash)},
		{"shadow.set_password", list("ann", "$1$x$y", true), true},
		{"shadow.set_password", list("ann", "$1$x$y", true), true},
		{"shadow.set_mindays", list("ann", int64(3)), true},
		{"shadow.set_mindays", list("ann", int64(3)), true},
		{"shadow.set_maxdays", list("ann", int64(90)), true},
		{"shadow.set_maxdays", list("ann", int64(90)), true},
		{"shadow.set_warndays", list("ann", int64(5)), true},
		{"shadow.set_warndays", list("ann", int64(5)), true},
		{"shadow.set_inactdays", list("ann", int64(30)), true},
		{"shadow.set_inactdays", list("ann", int64(30)), true},
		{"shadow.set_date", list("ann", int64(0)), true},
		{"shadow.set_date", list("ann", int64(0)), true},
		{"shadow.set_expire", list("ann", int64(20000)), true},
		{"shadow.set_expire", list("ann", "2030-01-01"), true},
		{"shadow.info", list("ann"), data.NewMap("name", "ann", "passwd", "$1$x$y",
			"lstchg", int64(0), "min", int64(3), "max", int64(90),
			"warn", int64(5), "inact", int64(30), "expire", int64(21915))},
		{"shadow.set_expire", list("ann", int64(-1)), true},
		{"shadow.set_expire", list("ann", int64(-1)), true},
		{"shadow.set_maxdays", list("ann", "many"), false},
		{"shadow.set_maxdays", list("none", int64(1)), false},
		{"shadow.lock_password", list("none"), false},
		{"shadow.unlock_password", list("none"), false},
		{"shadow.del_password", list("ann"), true},
		{"shadow.del_password", list("ann"), true},
		{"shadow.del_password", list("none"), false},
	})
}

// TestSetPasswordKeepsTheRest checks that the other fields, broken lines and the mode of the file
// stay.
func TestSetPasswordKeepsTheRest(t *testing.T) {
	r := testroot.Plain(t)
	r.Write(t, "etc/shadow", "# no entry\nroot:*:19000:0:99999:7:::\nodd\n")
	if err := os.Chmod(r.Path("etc/shadow"), 0o640); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.Check(t, []testroot.Call{{"shadow.set_password", list("root", hash), true}})
	}
	want := fmt.Sprintf("# no entry\nroot:%s:%d:0:99999:7:::\nodd\n", hash, time.Now().Unix()/86400)
	if got := r.Read(t, "etc/shadow"); got != want {
		t.Errorf("passwords are\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat(r.Path("etc/shadow")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	for _, bad := range []string{"a:b", "a\nroot::0:0:99999:7:::"} {
		if v, err := r.Functions.Invoke(t.Context(), "shadow.set_password", list("root", bad),
			nil); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("the hash %q: %v, %v", bad, v, err)
		}
	}
	if err := os.Remove(r.Path("etc/shadow")); err != nil {
		t.Fatal(err)
	}
	r.Check(t, []testroot.Call{{"shadow.set_password", list("root", hash), &data.Map{}}})
}

// TestSetPasswordWaitsForTheLock checks that set_password waits for a program that changes
// passwords.
func TestSetPasswordWaitsForTheLock(t *testing.T) {
	r := testroot.Plain(t)
	f, err := os.OpenFile(r.Path("etc/.pwd.lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, over)
	defer cancel()
	before := r.Read(t, "etc/shadow")
	if v, err := r.Functions.Invoke(ctx, "shadow.set_password", list("root", hash),
		nil); !errors.Is(err, over) || r.Read(t, "etc/shadow") != before {
		t.Errorf("with the lock taken: %v, %v", v, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r.Check(t, []testroot.Call{{"shadow.set_password", list("root", hash), true}})
}

func TestGenPassword(t *testing.T) {
	r := testroot.Plain(t)
	r.Check(t, []testroot.Call{
		{"shadow.gen_password", list("MyP@asswd", "My5alT"), hash},
		{"shadow.gen_password", list("MyP@asswd", "My5alT"), hash},
		{"shadow.gen_password", list("p", "rounds=2000$saltsalt", "sha256"),
			"$5$rounds=2000$saltsalt$1/CuieEZB83erTNemaYWkc8iuDtc86zDWq3c4yKq9qA"},
		{"shadow.gen_password", list("p", "saltsalt", "md5"), "$1$saltsalt$oVkV3EDq8KTkLj17vu4OM0"},
		{"shadow.gen_password", list("secret", "05$......................", "blowfish"),
			"$2b$05$......................35w9tBXOiWEqF4YNx8Fn9rPUbxS7RTu"},
		{"shadow.gen_password", list("p", "rounds=1$x"), "*0"},
	})
	if a, b := r.Call(t, "shadow.gen_password", "p"), r.Call(t, "shadow.gen_password", "p"); a == b {
		t.Errorf("%v comes twice", a)
	}
	if v, err := r.Functions.Invoke(t.Context(), "shadow.gen_password", list("p", nil, "rot13"),
		nil); loader.KindOf(err) != loader.KindInvocation {
		t.Errorf("%v, %v", v, err)
	}
}
