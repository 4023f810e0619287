package auth

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestCheckRights has rights that can never allow anything, with what is said about them, and others.
func TestCheckRights(t *testing.T) {
	m := func(name string, list ...any) *data.Map { return data.NewMap(name, list) }
	for _, c := range []struct {
		right any
		want  string // "" if it may allow something
	}{
		{".*", ""}, {"test.*", ""}, {"test.ping", ""}, {`test\.(ping|echo)`, ""}, {"(?i)TEST.*", ""}, {"[a-z]+.ping", ""},
		{"pkg.(list_pkgs|a b)", ""}, {"test[.]ping( x)?", ""}, {"test.x{2}", ""},
		{"@runner", ""}, {"@wheels", ""}, {"@events", ""}, {"@hooks", ""}, {"@jobs", ""}, {"@key", ""},
		{m("web*", "state.apply", "test.*"), ""}, {m("@jobs", "list_jobs"), ""}, {m("@runner", "jobs.list_jobs"), ""},
		{m("G@os:Debian and web*", ".*"), ""}, {m("N@web", ".*"), ""},
		{m("*", m("cmd.run", data.NewMap("args", []any{"uptime"}))), ""},

		{"test ping", "write 'test', or at a target {'test': [{args: ['ping']}]}"},
		{"cmd.run uptime -p", "write 'cmd.run', or at a target {'cmd.run': [{args: ['uptime -p']}]}"},
		{"test.ping, test.echo", "write each function as an entry of its own"},
		{"test.(a b|c d)", "matches no function"},
		{"test.*!", "matches no function"},
		{"test.[ ,]+", "matches no function"},
		{"test", "write 'test.*' for all functions of a module"},
		{"*", "'*' is no regular expression that can be used"},
		{"test.(", "is no regular expression that can be used"},
		{int64(5), "expected a function, or a target with its functions"},
		{"@runer", "there is no '@runer'; is '@runner' meant?"},
		{"@runner.jobs.list_jobs", "write {'@jobs': ['list_jobs']}"},
		{"@jobs.list_jobs", "write {'@jobs': ['list_jobs']}"},
		{"@", "write '@runner', '@wheel', '@events', '@hooks' or '@MODULE'"},
		{m("web*"), "web*: names no functions, so that it allows nothing; write {'web*': ['test.ping']}"},
		{m("@jobs"), "@jobs: names no functions, so that it allows nothing; write {'@jobs': ['ping']}"},
		{m("@job", "list_jobs"), "is '@jobs' meant?"},
		{m("@jobs", "jobs.list_jobs"), "the module is named already: write 'list_jobs'"},
		{m("@runner", "jobs"), "write 'jobs.*'"},
		{m("web* and", "test.ping"), "is no target"},
		{m("web*", "test.ping", "a b"), "web*: entry 2: matches no function"},
		{m("web*", m("cmd.run")), "has no conditions, so that it allows nothing; write 'cmd.run'"},
		{data.NewMap("a", []any{".*"}, "b", []any{".*"}), "expected one name"},
	} {
		err := CheckRights([]any{".*", c.right}, []string{"jobs", "manage", "key"})
		switch {
		case err == nil && c.want != "":
			t.Errorf("%s is taken, want %q", data.Repr(c.right), c.want)
		case err != nil && (c.want == "" || !strings.HasPrefix(err.Error(), "entry 2: ") || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", data.Repr(c.right), err, c.want)
		}
	}
}
