//go:build linux

package group_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

const set = "The following group attributes are set to be changed:\n"

// The comments are those of Salt 3006.0.
func TestPresent(t *testing.T) {
	r := testroot.New(t, "groupadd", "groupmod", "groupdel", "gpasswd", "useradd")
	r.Call(t, "user.add", "ann", int64(1200), int64(100))
	r.Call(t, "user.add", "bob", int64(1201), int64(100))
	same := testroot.Step{Result: true, Comment: "Group staff is present and up to date"}
	done := func(lines string) testroot.Step {
		return testroot.Step{Result: true,
			Changes: data.NewMap("Final", "All changes applied successfully"), Comment: set + lines}
	}
	would := func(lines string) testroot.Step { return testroot.Step{Comment: set + lines} }
	group := data.NewMap("name", "staff", "passwd", "x", "gid", int64(1500), "members", list("ann"))
	r.Converges(t, "group.present", data.NewMap("name", "staff", "gid", int64(1500),
		"addusers", list("ann")), testroot.Step{Comment: "Group staff set to be added"},
		testroot.Step{Result: true, Changes: group, Comment: "New group staff created"}, same)
	for _, c := range []struct {
		key   string
		value any
		lines string
	}{
		{"gid", "1600", "gid: 1600\n"},
		{"addusers", list("ann", "bob"), "addusers: ['bob']\n"},
		{"delusers", list("ann", "root"), "delusers: ['ann']\n"},
		{"members", list("root", "ann"), "members: ['root', 'ann']\n"},
		{"members", list(), "delusers: {'root', 'ann'}\n"},
	} {
		r.Converges(t, "group.present", data.NewMap("name", "staff", c.key, c.value),
			would(c.lines), done(c.lines), same)
	}
	both := data.NewMap("name", "staff", "addusers", list("ann"), "delusers", list("bob"))
	r.Call(t, "group.members", "staff", "bob")
	r.Converges(t, "group.present", both, would("addusers: ['ann']\ndelusers: ['bob']\n"),
		done("addusers: ['ann']\ndelusers: ['bob']\n"), same)
	r.Converges(t, "group.absent", data.NewMap("name", "staff"),
		testroot.Step{Comment: "Group staff is set for removal"},
		testroot.Step{Result: true, Changes: data.NewMap("staff", ""), Comment: "Removed group staff"},
		testroot.Step{Result: true, Comment: "Group not present"})
}

func TestPresentWithTakenID(t *testing.T) {
	r := testroot.New(t, "groupadd", "groupmod")
	args := data.NewMap("name", "staff", "gid", int64(100))
	r.Expect(t, false, "group.present", args,
		testroot.Step{Result: false, Comment: "Group staff is not present but gid 100 is already taken by group users"})
	args.Set("non_unique", true)
	r.Converges(t, "group.present", args, testroot.Step{Comment: "Group staff set to be added"},
		testroot.Step{Result: true, Changes: data.NewMap("name", "staff", "passwd", "x",
			"gid", int64(100), "members", list()), Comment: "New group staff created"},
		testroot.Step{Result: true, Comment: "Group staff is present and up to date"})
	args = data.NewMap("name", "staff", "gid", int64(60))
	r.Expect(t, false, "group.present", args,
		testroot.Step{Result: false, Changes: data.NewMap("Failed", data.NewMap("gid", int64(60))),
			Comment: set + "gid: 60\nSome changes could not be applied"})
}

func TestPresentFails(t *testing.T) {
	r := testroot.New(t, "groupadd", "gpasswd", "useradd")
	r.Expect(t, false, "group.present",
		data.NewMap("name", "users", "members", list("a"), "addusers", list("b")),
		testroot.Step{Comment: `Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together. `})
	r.Expect(t, false, "group.present",
		data.NewMap("name", "users", "addusers", list("a"), "delusers", list("a")),
		testroot.Step{Comment: "Error. Same user(s) can not be added and deleted simultaneously"})
	r.Expect(t, false, "group.present", data.NewMap("name", "users", "gid", "x"), testroot.Step{Result: false,
		Changes: data.NewMap("Failed", data.NewMap("result", false, "comment", "Invalid gid")),
		Comment: set + "result: False\ncomment: Invalid gid\nSome changes could not be applied"})
	r.Expect(t, false, "group.present", data.NewMap("name", "users", "addusers", list("none")),
		testroot.Step{Result: false,
			Changes: data.NewMap("Failed", data.NewMap("addusers", list("none"))), Comment: set +
				"addusers: ['none']\nSome changes could not be applied"})
	r.Expect(t, false, "group.present", data.NewMap("name", "staff", "addusers", list("none"),
		"gid", int64(1500)), testroot.Step{Result: false,
		Changes: data.NewMap("Failed", data.NewMap("addusers", list("none"))),
		Comment: "Group staff has been created but, some changes could not be applied"})
	r.Expect(t, false, "group.present", data.NewMap("name", "-x"),
		testroot.Step{Result: false, Comment: "Failed to create new group -x"})
	r.Call(t, "user.add", "ann", nil, "users")
	r.Expect(t, false, "group.absent", data.NewMap("name", "users"),
		testroot.Step{Result: false, Comment: "Failed to remove group users"})
}
