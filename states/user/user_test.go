//go:build linux

package user_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

const (
	hash     = "$6$My5alT$dX70VD1wnFof0Pl8AkakL7hHca8J0fE4V8HSJHtuOPgUuwujI0hwNTlP4iAACE8wwTGiwt/ebo8g53mAAVb7L1"
	redacted = "XXX-REDACTED-XXX"
	set      = "The following user attributes are set to be changed:\n"
)

func newRoot(t *testing.T) *testroot.Root {
	t.Helper()
	return testroot.New(t, "useradd", "usermod", "userdel", "groupadd", "chage", "passwd")
}

// described returns the result of user.info for a user that was created without arguments.
func described(words ...any) *data.Map {
	m := data.NewMap("gid", int64(1000), "groups", list("ann"), "home", "/home/ann", "name", "ann",
		"passwd", "x", "shell", "/bin/sh", "uid", int64(1000),
		"fullname", "", "roomnumber", "", "workphone", "", "homephone", "", "other", "")
	m.Update(data.NewMap(words...))
	return m
}

var (
	same  = testroot.Step{Result: true, Comment: "User ann is present and up to date"}
	added = testroot.Step{Comment: "User ann set to be added"}
)

func made(changes *data.Map) testroot.Step {
	return testroot.Step{Result: true, Changes: changes, Comment: "New user ann created"}
}

func TestNewUsers(t *testing.T) {
	for _, c := range []struct{ args, changes *data.Map }{
		{data.NewMap("shell", "/bin/sh"), described()},
		{data.NewMap("shell", "/bin/sh", "createhome", false), described("home", "")},
		{data.NewMap("uid", int64(1500), "gid", "users", "home", "/srv/ann", "shell", "/bin/zsh",
			"fullname", "Ann Lee", "homephone", int64(7)),
			described("uid", int64(1500), "gid", int64(100), "groups", list("users"), "home",
				"/srv/ann", "shell", "/bin/zsh", "fullname", "Ann Lee", "homephone", "7")},
		{data.NewMap("shell", "/bin/sh", "groups", list("wheel", "games"),
			"optional_groups", list("users", "none")),
			described("groups", list("ann", "games", "users", "wheel"))},
		{data.NewMap("shell", "/bin/sh", "usergroup", false, "gid", int64(60)),
			described("gid", int64(60), "groups", list("games"))},
		{data.NewMap("shell", "/bin/sh", "password", hash, "mindays", int64(2),
			"maxdays", int64(90), "warndays", int64(3), "inactdays", int64(9), "expire",
			"2030-01-01", "date", int64(19000)),
			described("password", redacted, "mindays", int64(2), "maxdays", int64(90), "warndays",
				int64(3), "inactdays", int64(9), "expire", int64(21915), "date", int64(19000))},
		{data.NewMap("shell", "/bin/sh", "empty_password", true), described("password", "")},
		{data.NewMap("shell", "/bin/sh", "password", hash, "password_lock", true),
			described("password", redacted)},
		{data.NewMap("shell", "/bin/sh", "mindays", int64(0), "unique", false, "uid", int64(0)),
			described("uid", int64(0), "gid", int64(1000))},
	} {
		r := newRoot(t)
		r.Make(t, "srv")
		c.args.Set("name", "ann")
		r.Converges(t, "user.present", c.args, added, made(c.changes), same)
	}
}

// TestPersistHome checks that persist_home moves the content of the home directory.
func TestPersistHome(t *testing.T) {
	r := newRoot(t)
	r.Call(t, "user.add", "ann", nil, nil, nil, "/home/ann", "/bin/sh")
	r.Write(t, "home/ann/kept", "text")
	r.Converges(t, "user.present", data.NewMap("name", "ann", "home", "/home/new", "persist_home", true),
		testroot.Step{Comment: set + "home: /home/new\nhomeDoesNotExist: /home/new\n"},
		testroot.Step{Result: true, Comment: "Updated user ann",
			Changes: data.NewMap("home", "/home/new", "homeDoesNotExist", "/home/new")}, same)
	if text := r.Read(t, "home/new/kept"); text != "text" {
		t.Errorf("the new home directory has %q, the old one %q", text, r.Read(t, "home/ann/kept"))
	}
}

// TestExistingUser changes a user repeatedly.
func TestExistingUser(t *testing.T) {
	r := newRoot(t)
	r.Call(t, "user.add", "ann", nil, nil, list("games"), nil, "/bin/sh")
	r.Call(t, "group.add", "staff", int64(1700))
	today := time.Now().Unix() / 86400
	r.Call(t, "shadow.set_date", "ann", int64(19000))
	for _, c := range []struct {
		args    *data.Map
		lines   string
		changes *data.Map
	}{
		{data.NewMap("shell", "/bin/zsh", "fullname", "Ann", "other", "a,b"),
			"shell: /bin/zsh\nfullname: Ann\nother: a,b\n",
			data.NewMap("shell", "/bin/zsh", "fullname", "Ann", "other", "a,b")},
		{data.NewMap("groups", list("wheel")),
			"groups: ['wheel']\n", data.NewMap("groups", list("ann", "wheel"))},
		{data.NewMap("groups", list("users"), "remove_groups", false),
			"groups: ['users', 'wheel']\n", data.NewMap("groups", list("ann", "users", "wheel"))},
		{data.NewMap("optional_groups", list("games", "none")),
			"groups: ['games']\n", data.NewMap("groups", list("ann", "games"))},
		{data.NewMap("groups", list()), "groups: []\n", data.NewMap("groups", list("ann"))},
		{data.NewMap("uid", int64(1400), "allow_uid_change", true),
			"uid: 1400\n", data.NewMap("uid", int64(1400))},
		{data.NewMap("gid", "staff", "allow_gid_change", true),
			"gid: staff\n", data.NewMap("gid", int64(1700), "groups", list("staff"))},
		{data.NewMap("gid", int64(60), "groups", list("staff"), "allow_gid_change", true),
			"gid: 60\ngroups: ['staff']\n",
			data.NewMap("gid", int64(60), "groups", list("games", "staff"))},
		{data.NewMap("home", "/home/lee"), "home: /home/lee\nhomeDoesNotExist: /home/lee\n",
			data.NewMap("home", "/home/lee", "homeDoesNotExist", "/home/lee")},
		{data.NewMap("home", "/srv/none", "createhome", false),
			"home: /srv/none\n", data.NewMap("home", "/srv/none")},
		{data.NewMap("createhome", false, "password", hash), "passwd: " + redacted +
			"\n", data.NewMap("passwd", redacted, "lstchg", today)},
		{data.NewMap("createhome", false, "password_lock", true, "password", hash),
			"password_lock: True\n", data.NewMap("passwd", redacted)},
		{data.NewMap("createhome", false, "password_lock", false), "password_lock: False\n",
			data.NewMap("passwd", redacted)},
		{data.NewMap("createhome", false, "password", hash, "maxdays", int64(60),
			"expire", int64(20000)), "maxdays: 60\nexpire: 20000\n",
			data.NewMap("max", int64(60), "expire", int64(20000))},
		{data.NewMap("createhome", false, "password", "$1$a$b", "enforce_password", false,
			"date", int64(0)), "date: 0\n", data.NewMap("lstchg", int64(0))},
		{data.NewMap("createhome", false, "empty_password", true, "password", hash),
			"empty_password: True\n", data.NewMap("passwd", redacted)},
	} {
		c.args.Set("name", "ann")
		r.Converges(t, "user.present", c.args, testroot.Step{Comment: set + c.lines},
			testroot.Step{Result: true, Changes: c.changes, Comment: "Updated user ann"}, same)
	}
	if info, err := os.Stat(r.Path("home/lee")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the home directory that was made: %v, %v", info, err)
	}
	none := data.NewMap("name", "ann", "createhome", false)
	r.Call(t, "user.chgroups", "ann", "wheel")
	r.Expect(t, false, "user.present", none, same) // unmentioned groups are kept
}

// A plain text password is hashed with the method and salt of the current one.
func TestHashPassword(t *testing.T) {
	r := newRoot(t)
	args := data.NewMap("name", "ann", "password", "MyP@asswd", "hash_password", true, "createhome", false)
	r.Apply(t, false, "user.present", args)
	first := r.Call(t, "shadow.info", "ann").(*data.Map).Text("passwd")
	if !strings.HasPrefix(first, "$6$") {
		t.Fatalf("the hash is %q", first)
	}
	for _, kept := range []string{first, hash, "$5$rounds=2000$saltsalt$"} {
		if strings.HasSuffix(kept, "$") {
			kept = r.Call(t, "shadow.gen_password", "MyP@asswd", "rounds=2000$saltsalt", "sha256").(string)
		}
		r.Call(t, "shadow.set_password", "ann", kept)
		r.Expect(t, false, "user.present", args, same)
		if now := r.Call(t, "shadow.info", "ann").(*data.Map).Text("passwd"); now != kept {
			t.Errorf("%q became %q", kept, now)
		}
	}
	args.Set("password", "another")
	got := r.Apply(t, false, "user.present", args)
	if got.Value("result") != true || got.Value("changes").(*data.Map).Value("passwd") != redacted {
		t.Errorf("another password: %s", data.Repr(got))
	}
	if now := r.Call(t, "shadow.info", "ann").(*data.Map).Text("passwd"); !strings.HasPrefix(now,
		"$5$rounds=2000$saltsalt$") {
		t.Errorf("the hash is %q", now)
	}
}

func TestRefusals(t *testing.T) {
	r := newRoot(t)
	r.Call(t, "user.add", "ann")
	for _, c := range []struct {
		args *data.Map
		want string
	}{
		{data.NewMap("fullname", "a,b"), "Unsupported char ',' in a,b"},
		{data.NewMap("workphone", "1,2"), "Unsupported char ',' in 1,2"},
		{data.NewMap("groups", list("wheel", "none", "some")),
			"The following group(s) are not present: none,some"},
		{data.NewMap("uid", int64(7), "gid", "wheel"),
			"Encountered error checking for needed changes. Additional info follows:\n\n" +
				"- Changing uid (1000 -> 7) not permitted, set allow_uid_change to True to force this change. Note that this will not change file ownership.\n" +
				"- Changing gid (1000 -> wheel) not permitted, set allow_gid_change to True to force this change. Note that this will not change file ownership."},
	} {
		c.args.Set("name", "ann")
		for _, test := range []bool{true, false} {
			r.Expect(t, test, "user.present", c.args, testroot.Step{Result: false, Comment: c.want})
		}
	}
	r.Expect(t, false, "user.present", data.NewMap("name", "ann", "uid", int64(-5), "allow_uid_change", true),
		testroot.Step{Result: false, Comment: "These values could not be changed: {'uid': -5}"})
	r.Expect(t, false, "user.present", data.NewMap("name", "bob:x"),
		testroot.Step{Result: false, Comment: "Failed to create new user bob:x"})
	broken := data.NewMap("name", "cat", "createhome", false, "maxdays", "many", "password", hash)
	got := r.Apply(t, false, "user.present", broken)
	if got.Value("result") != false ||
		got.Value("comment") != "User cat created but failed to set maximum days to many" ||
		strings.Contains(data.Repr(got), hash) {
		t.Errorf("got %s", data.Repr(got))
	}
	got = r.Apply(t, false, "user.present", broken)
	if got.Value("result") != false ||
		got.Value("comment") != "These values could not be changed: {'maxdays': 'many'}" {
		t.Errorf("got %s", data.Repr(got))
	}
}

func TestAbsent(t *testing.T) {
	r := newRoot(t)
	r.Call(t, "user.add", "ann", nil, nil, list("games"))
	gone := testroot.Step{Result: true, Comment: "User ann is not present"}
	r.Converges(t, "user.absent", data.NewMap("name", "ann", "purge", true),
		testroot.Step{Comment: "User ann set for removal"},
		testroot.Step{Result: true, Changes: data.NewMap("ann group", "removed", "ann", "removed"),
			Comment: "Removed user ann"}, gone)
	if _, err := os.Stat(r.Path("home/ann")); !os.IsNotExist(err) {
		t.Errorf("the home directory is left: %v", err)
	}
	r.Expect(t, false, "user.absent", data.NewMap("name", "-r"),
		testroot.Step{Result: true, Comment: "User -r is not present"})
}

// If the user database cannot be read, no user counts as absent.
func TestUnreadableUsers(t *testing.T) {
	r := testroot.Plain(t)
	if err := os.Remove(r.Path("etc/passwd")); err != nil {
		t.Fatal(err)
	}
	for _, fun := range []string{"user.present", "user.absent"} {
		if v, err := r.States.Invoke(t.Context(), fun, nil, data.NewMap("name", "ann")); err == nil {
			t.Errorf("%s: %s", fun, data.Repr(v))
		}
	}
}
