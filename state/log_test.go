package state_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
)

// For a missing SLS the result has Salt's message. The log adds the likely name, the including SLS,
// and directories that do not exist.
func TestMissingSLS(t *testing.T) {
	const none = "Specified SLS %s in saltenv base is not available on the salt master or through a configured fileserver"
	for _, tt := range []struct{ name, asked, srv, want, log string }{
		{"a wrong letter", "wbe", "base", "No matching sls found for 'wbe' in env 'base'",
			"SLS 'base:wbe' not found: is 'web' meant?"},
		{"nothing like it", "nosuch", "base", "No matching sls found for 'nosuch' in env 'base'", ""},
		{"an include", "parent", "base", fmt.Sprintf(none, "wob"),
			"SLS 'base:wob' not found: is 'web' meant?\nSLS 'base:parent' includes SLS 'base:wob', which does not exist"},
		{"no directory", "web", "nothere", "No matching sls found for 'web' in env 'base'",
			"SLS 'base:web' not found: file_roots: base: entry 1: the directory DIR/nothere does not exist; create it, or correct the path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, data.NewMap("base", data.NewMap("web.sls", "a: test.nop\n",
				"parent.sls", "include: [wob]\nb: test.nop\n")))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(),
				opts: localOptions(dir, filepath.Join(dir, tt.srv))}
			c := m.compiler(t)
			hook := logtest.NewLocal(m.env.Log.(*logrus.Logger))
			_, problems, err := show(t.Context(), c, "state.show_sls", []string{tt.asked}, "base")
			if got := strings.Join(problems, "\n"); err != nil || got != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.want)
			}
			var logged []string
			for _, e := range hook.AllEntries() {
				logged = append(logged, strings.ReplaceAll(e.Message, dir, "DIR"))
			}
			if got := strings.Join(logged, "\n"); got != tt.log {
				t.Errorf("the log has\n%s\nwant\n%s", got, tt.log)
			}
		})
	}
}

// localOptions returns the options of a minion that reads its files from a directory.
func localOptions(dir, srv string) *data.Map {
	return data.NewMap("id", "web1", "file_client", "local",
		"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
		"hash_type", "sha256", "file_roots", data.NewMap("base", []any{srv}), "file_buffer_size",
		int64(262144), "renderer", "jinja|yaml", "state_top", "top.sls",
		"top_file_merging_strategy", "merge", "default_top", "base")
}

// TestLogDetails checks that the log has the details that Salt's results leave out.
func TestLogDetails(t *testing.T) {
	for _, tt := range []struct{ name, top, sls, function, want string }{
		{"a tab", "", "a:\n\t- b\n", "state.show_sls",
			"Rendering SLS 'base:p' failed: found character that cannot start any token; line 2; indent with spaces, not tabs"},
		{"a column", "", "a:\n  b.c:\n    - d: e\n   - f: g\n", "state.show_sls",
			"; line 4; start items of the same level in the same column"},
		{"a top file that is a list", "- a\n", "", "state.show_top", "is not a dictionary"},
		{"targets beside their environment", "base:\n'*':\n  - p\n", "", "state.show_top",
			"Below base a top file has nothing instead of targets, each with a list of SLS"},
		{"a list of targets", "base:\n  - p\n", "", "state.show_highstate",
			"Below base a top file has a list instead of targets"},
		{"text for targets", "base: p\n", "", "state.show_top",
			"Below base a top file has a single value instead of targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, filepath.Join(dir, "srv"),
				data.NewMap("base", data.NewMap("top.sls", tt.top, "p.sls", tt.sls)))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(),
				opts: localOptions(dir, filepath.Join(dir, "srv", "base"))}
			c := m.compiler(t)
			hook := logtest.NewLocal(m.env.Log.(*logrus.Logger))
			_, problems, err := show(t.Context(), c, tt.function, []string{"p"}, "base")
			if len(problems) == 0 && err == nil {
				t.Error("neither a problem nor an error was returned")
			}
			if strings.Contains(strings.Join(problems, ""), "; line") {
				t.Errorf("problems %q, which Salt words differently", problems)
			}
			if e := hook.LastEntry(); e == nil || !strings.Contains(e.Message, tt.want) {
				t.Errorf("the log ends with %v, want %s", e, tt.want)
			}
		})
	}
}
