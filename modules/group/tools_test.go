//go:build linux

package group_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

// TestGroups changes the groups below a directory with the system's programs.
func TestGroups(t *testing.T) {
	r := testroot.New(t, "groupadd", "groupmod", "groupdel", "gpasswd", "useradd")
	r.Call(t, "user.add", "ann", int64(1200), int64(100))
	r.Call(t, "user.add", "bob", int64(1201), int64(100))
	members := func(names ...any) *data.Map {
		return data.NewMap("name", "staff", "passwd", "x", "gid", int64(1500), "members", names)
	}
	r.Check(t, []testroot.Call{
		{"group.add", list("staff", int64(1400)), true},
		{"group.add", list("staff", int64(1400)), false},
		{"group.add", list("other", int64(1400)), false},
		{"group.add", list("other", int64(1400), false, nil, true), true},
		{"group.add", list("own", nil, true), true},
		{"group.chgid", list("staff", int64(1500)), true},
		{"group.chgid", list("staff", int64(1500)), true},
		{"group.chgid", list("other", int64(1500)), false},
		{"group.chgid", list("other", int64(1500), nil, true), true},
		{"group.chgid", list("none", int64(1500)), false},
		{"group.adduser", list("staff", "ann"), true},
		{"group.adduser", list("staff", "ann"), true},
		{"group.info", list("staff"), members("ann")},
		{"group.adduser", list("staff", "none"), false},
		{"group.members", list("staff", "bob,root"), true},
		{"group.members", list("staff", "bob,root"), true},
		{"group.info", list("staff"), members("bob", "root")},
		{"group.deluser", list("staff", "root"), true},
		{"group.deluser", list("staff", "root"), true},
		{"group.deluser", list("none", "root"), true},
		{"group.info", list("staff"), members("bob")},
		{"group.members", list("staff", ""), true},
		{"group.info", list("staff"), members()},
		{"group.delete", list("staff"), true},
		{"group.delete", list("staff"), false},
		{"group.delete", list("-f"), false},
		{"group.info", list("staff"), &data.Map{}},
	})
	if gid := r.Call(t, "group.info", "own").(*data.Map).Value("gid").(int64); gid < 100 || gid > 999 {
		t.Errorf("a group of the system has the id %d", gid)
	}
}

// The root directory can be given with each call.
func TestGroupsInOtherRoot(t *testing.T) {
	r, other := testroot.New(t, "groupadd", "groupdel", "gpasswd"), testroot.Plain(t)
	r.Check(t, []testroot.Call{
		{"group.add", list("staff", int64(1400), false, other.Dir), true},
		{"group.adduser", list("staff", "root", other.Dir), true},
		{"group.info", list("staff", other.Dir),
			data.NewMap("name", "staff", "passwd", "x", "gid", int64(1400), "members", list("root"))},
		{"group.info", list("staff"), &data.Map{}},
		{"group.delete", list("staff", other.Dir), true},
		{"group.info", list("staff", other.Dir), &data.Map{}},
	})
}
