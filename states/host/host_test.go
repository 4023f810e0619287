package host_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(words ...any) []any { return words }

const hosts = "# hosts\n127.0.0.1 localhost\n\n192.0.2.1\tweb1 web2 # old\n192.0.2.9 web1\n"

// The comments and the files are those of Salt 3006.0.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		fun               string
		args              *data.Map
		would, done, same testroot.Step
		file              string
	}{
		{"host.present", data.NewMap("name", "db", "ip", "192.0.2.5"),
			testroot.Step{Changes: data.NewMap("added", data.NewMap("192.0.2.5", list("db"))),
				Comment: "Host db (192.0.2.5) would be added"},
			testroot.Step{Result: true, Changes: data.NewMap("added",
				data.NewMap("192.0.2.5", list("db"))), Comment: "Added host db (192.0.2.5)"},
			testroot.Step{Result: true, Comment: "Host db (192.0.2.5) already present"},
			"# hosts\n127.0.0.1\t\tlocalhost\n192.0.2.1\t\tweb1 web2\t\t# old\n192.0.2.9\t\tweb1\n192.0.2.5\t\tdb\n"},
		{"host.present", data.NewMap("name", "web1", "ip", list("192.0.2.1", "127.0.0.1"),
			"comment", "new", "clean", true),
			testroot.Step{Changes: data.NewMap("added", data.NewMap("127.0.0.1", list("web1")),
				"comment_added", data.NewMap("127.0.0.1", list("new"), "192.0.2.1", list("new")),
				"removed", data.NewMap("192.0.2.9", list("web1"))),
				Comment: "Host web1 (127.0.0.1) would be added\nComment for 127.0.0.1 (new) would be added\nComment for 192.0.2.1 (new) would be added\nHost web1 (192.0.2.9) would be removed"},
			testroot.Step{Result: true, Changes: data.NewMap("added",
				data.NewMap("127.0.0.1", list("web1")), "comment_added",
				data.NewMap("127.0.0.1", list("new"), "192.0.2.1", list("new")),
				"removed", data.NewMap("192.0.2.9", list("web1"))),
				Comment: "Added host web1 (127.0.0.1)\nSet comment for host 127.0.0.1 (new)\nSet comment for host 192.0.2.1 (new)\nRemoved host web1 (192.0.2.9)"},
			testroot.Step{Result: true, Comment: "Host web1 (127.0.0.1) already present\nHost web1 (192.0.2.1) already present"},
			"# hosts\n127.0.0.1\t\tlocalhost web1\t\t# new\n192.0.2.1\t\tweb1 web2\t\t# new\n"},
		{"host.absent", data.NewMap("name", "web1", "ip", list("192.0.2.1", "127.0.0.1")),
			testroot.Step{Comment: "Host web1 (192.0.2.1) needs to be removed\nHost web1 (127.0.0.1) already absent"},
			testroot.Step{Result: true, Changes: data.NewMap("host", "web1"),
				Comment: "Removed host web1 (192.0.2.1)\nHost web1 (127.0.0.1) already absent"},
			testroot.Step{Result: true, Comment: "Host web1 (192.0.2.1) already absent\nHost web1 (127.0.0.1) already absent"},
			"# hosts\n127.0.0.1 localhost\n\n192.0.2.1\t\tweb2 # old\n192.0.2.9 web1\n"},
		{"host.only", data.NewMap("name", "192.0.2.1", "hostnames", list("a ", "b")),
			testroot.Step{Comment: `Would change 192.0.2.1 from "web1 web2" to "a b"`},
			testroot.Step{Result: true, Changes: data.NewMap("192.0.2.1",
				data.NewMap("old", "web1 web2", "new", "a b")),
				Comment: `successfully changed 192.0.2.1 from "web1 web2" to "a b"`},
			testroot.Step{Result: true, Comment: `IP address 192.0.2.1 already set to "a b"`},
			"# hosts\n127.0.0.1 localhost\n\n192.0.2.1\t\ta b\n192.0.2.9 web1\n"},
		{"host.only", data.NewMap("name", "192.0.2.9", "hostnames", list()),
			testroot.Step{Comment: `Would change 192.0.2.9 from "web1" to ""`},
			testroot.Step{Result: true, Changes: data.NewMap("192.0.2.9",
				data.NewMap("old", "web1", "new", "")),
				Comment: `successfully changed 192.0.2.9 from "web1" to ""`},
			testroot.Step{Result: true, Comment: `IP address 192.0.2.9 already set to ""`},
			"# hosts\n127.0.0.1 localhost\n\n192.0.2.1\tweb1 web2 # old\n"},
	} {
		r := testroot.Plain(t)
		r.Write(t, "etc/hosts", hosts)
		r.Converges(t, c.fun, c.args, c.would, c.done, c.same)
		if got := r.Read(t, "etc/hosts"); got != c.file {
			t.Errorf("%s: the file is\n%s\nwant\n%s", c.fun, got, c.file)
		}
	}
}

func TestWarning(t *testing.T) {
	r := testroot.Plain(t)
	r.Write(t, "etc/hosts", hosts)
	got := r.Apply(t, false, "host.present", data.NewMap("name", "web1", "ip", "192.0.2.1"))
	want := list("Host web1 present for IP address 192.0.2.9. To get rid of this warning, either run this state with 'clean' set to True to remove web1 " +
		"from 192.0.2.9, or add 192.0.2.9 to the 'ip' argument.")
	if got.Value("result") != true || !data.Equal(got.Value("warnings"), want) {
		t.Errorf("got %s", data.Repr(got))
	}
}

// Each function of the module runs twice.
func TestFunctions(t *testing.T) {
	r := testroot.Plain(t)
	r.Check(t, []testroot.Call{
		{"hosts.list_hosts", nil, &data.Map{}}, {"hosts.get_ip", list("a"), ""},
		{"hosts.get_alias", list("192.0.2.1"), list()},
		{"hosts.has_pair", list("192.0.2.1", "a"), false}, {"hosts.rm_host", list("192.0.2.1", "a"),
			true}, {"hosts.set_comment", list("192.0.2.1", "x"), false},
		{"hosts.set_host", list("192.0.2.1", "a b", "why"), true},
		{"hosts.set_host", list("192.0.2.1", "a b", "why"), true},
		{"hosts.add_host", list("192.0.2.1", "c"), true}, {"hosts.add_host", list("192.0.2.1", "c"), true},
		{"hosts.add_host", list("::1", "v6"), true}, {"hosts.add_host", list("::1", "v6"), true},
		{"hosts.set_comment", list("192.0.2.1", "because"), true},
		{"hosts.set_comment", list("192.0.2.1", "because"), true},
		{"hosts.has_pair", list("192.0.2.1", list("a", "c")), true}, {"hosts.get_ip", list("v6"),
			"::1"}, {"hosts.get_alias", list("192.0.2.1"), list("a", "b", "c")},
		{"hosts.list_hosts", nil, data.NewMap("192.0.2.1",
			data.NewMap("aliases", list("a", "b", "c"), "comment", "because"), "::1",
			data.NewMap("aliases", list("v6")))},
		{"hosts.rm_host", list("192.0.2.1", "a"), true}, {"hosts.rm_host", list("192.0.2.1", "a"), true},
		{"hosts.set_host", list("::1", ""), true}, {"hosts.set_host", list("::1", ""), true},
	})
	if got := r.Read(t, "etc/hosts"); got != "192.0.2.1\t\tb c # because\n" {
		t.Errorf("the file is %q", got)
	}
}
