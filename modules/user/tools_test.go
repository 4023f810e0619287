//go:build linux

package user_test

import (
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

// TestUsers lets the system's programs change the users below a directory. A repeated call changes
// nothing.
func TestUsers(t *testing.T) {
	r := testroot.New(t, "useradd", "usermod", "userdel")
	ann := data.NewMap("gid", int64(1000), "groups", list("ann", "games"), "home", "/home/ann",
		"name", "ann", "passwd", "x", "shell", "/bin/sh", "uid", int64(1000), "fullname", "Ann Lee",
		"roomnumber", "7", "workphone", "", "homephone", "", "other", "x,y")
	r.Check(t, []testroot.Call{
		{"user.add", list("ann", nil, nil, list("games"), nil, "/bin/sh", true, false, "Ann Lee",
			"7", "", "", "x,y"), true},
		{"user.add", list("ann"), false},
		{"user.info", list("ann"), ann},
		{"user.list_users", nil, list("ann", "root")},
		{"user.chuid", list("ann", int64(1500)), true},
		{"user.chuid", list("ann", int64(1500)), true},
		{"user.chgid", list("ann", int64(100)), true},
		{"user.chgid", list("ann", int64(100)), true},
		{"user.chgid", list("ann", "games"), false}, // compared with the ID
		{"user.chgid", list("ann", int64(1000)), true},
		{"user.chshell", list("ann", "/bin/zsh"), true},
		{"user.chshell", list("ann", "/bin/zsh"), true},
		{"user.chhome", list("ann", "/home/lee", true), true},
		{"user.chhome", list("ann", "/home/lee", true), true},
		{"user.chgroups", list("ann", "games,users"), true},
		{"user.chgroups", list("ann", list("wheel"), true), true},
		{"user.list_groups", list("ann"), list("ann", "games", "users", "wheel")},
		{"user.chgroups", list("ann", list("ann", "wheel")), true},
		{"user.chgroups", list("ann", list("ann", "wheel")), true},
		{"user.list_groups", list("ann"), list("ann", "wheel")},
		{"user.chgroups", list("ann", list("none")), false},
		{"user.chfullname", list("ann", "Ann"), true},
		{"user.chfullname", list("ann", "Ann"), true},
		{"user.chroomnumber", list("ann", int64(8)), true},
		{"user.chroomnumber", list("ann", int64(8)), true},
		{"user.chworkphone", list("ann", "1"), true},
		{"user.chworkphone", list("ann", "1"), true},
		{"user.chhomephone", list("ann", "2"), true},
		{"user.chhomephone", list("ann", "2"), true},
		{"user.chother", list("ann", nil), true},
		{"user.chother", list("ann", nil), true},
		{"user.rename", list("ann", "lee"), false},
		{"user.chloginclass", list("lee", "x"), false},
		{"user.chloginclass", list("lee", "x"), false},
		{"user.get_loginclass", list("lee"), false},
		{"user.get_loginclass", list("lee"), false},
	})
	if passwd := r.Read(t, "etc/passwd"); !strings.HasSuffix(passwd,
		"\nlee:x:1500:1000:Ann,8,1,2:/home/lee:/bin/zsh\n") {
		t.Errorf("users are\n%s", passwd)
	}
	if info, err := os.Stat(r.Path("home/lee")); err != nil || !info.IsDir() {
		t.Errorf("the home folder: %v", err)
	}
	r.Check(t, []testroot.Call{
		{"user.delete", list("lee", true), true},
		{"user.delete", list("lee", true), false},
		{"user.info", list("lee"), &data.Map{}},
	})
	if _, err := os.Stat(r.Path("home/lee")); !os.IsNotExist(err) {
		t.Errorf("the home folder is left: %v", err)
	}
}

func TestAddInOtherWays(t *testing.T) {
	r := testroot.New(t, "useradd")
	add := func(words ...any) {
		t.Helper()
		v, err := r.Functions.Invoke(t.Context(), "user.add", nil, data.NewMap(words...))
		if v != true {
			t.Errorf("user.add %v: %v, %v", words, v, err)
		}
	}
	r.Call(t, "group.add", "bob", int64(700))
	// login.defs gives each user a group of its name
	add("name", "bob", "groups", list("bob", "wheel"), "createhome", false)
	add("name", "cat", "gid", "users", "uid", int64(0), "unique", false, "nologinit", true)
	add("name", "dan", "system", true, "usergroup", false, "gid", int64(60), "home", "/srv",
		"createhome", false)
	add("name", "eve", "usergroup", true, "uid", int64(4000))
	r.Check(t, []testroot.Call{
		{"user.list_groups", list("bob"), list("bob", "wheel")},
		{"user.list_groups", list("cat"), list("users")},
		{"user.list_groups", list("dan"), list("games")},
		{"user.list_groups", list("eve"), list("eve")},
	})
	for _, line := range []string{"bob:x:1000:700::/home/bob:", "cat:x:0:100::/home/cat:",
		":60::/srv:", "eve:x:4000:4000::/home/eve:"} {
		if passwd := r.Read(t, "etc/passwd"); !strings.Contains(passwd, line) {
			t.Errorf("%q is not in\n%s", line, passwd)
		}
	}
	if _, err := os.Stat(r.Path("home/bob")); !os.IsNotExist(err) {
		t.Errorf("bob has a home folder: %v", err)
	}
}

func TestMissingUsers(t *testing.T) {
	r := testroot.Plain(t)
	for fun, want := range map[string]string{
		"user.chuid":      "salt.exceptions.CommandExecutionError: User 'ann' does not exist",
		"user.chgid":      "salt.exceptions.CommandExecutionError: User 'ann' does not exist",
		"user.chhome":     "salt.exceptions.CommandExecutionError: User 'ann' does not exist",
		"user.chshell":    "salt.exceptions.CommandExecutionError: User 'ann' does not exist",
		"user.chfullname": `KeyError: "getpwnam(): name not found: 'ann'"`,
	} {
		if v, err := r.Functions.Invoke(t.Context(), fun, list("ann", "x"), nil); calls.Text(err) != want {
			t.Errorf("%s: %v, %s, want %s", fun, v, calls.Text(err), want)
		}
	}
	if v, err := r.Functions.Invoke(t.Context(), "user.rename", list("ann", "root"),
		nil); calls.Text(err) != "salt.exceptions.CommandExecutionError: User 'root' already exists" {
		t.Errorf("%v, %v", v, err)
	}
}

// TestNamesLikeOptions checks that a name is never taken for an option.
func TestNamesLikeOptions(t *testing.T) {
	r := testroot.New(t, "useradd", "userdel", "usermod")
	before := r.Read(t, "etc/passwd")
	r.Check(t, []testroot.Call{
		{"user.add", list("--defaults"), false},
		{"user.delete", list("-f"), false},
		{"user.chgroups", list("-L", "games"), false},
	})
	if after := r.Read(t, "etc/passwd"); after != before {
		t.Errorf("users are\n%s", after)
	}
}
