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

// An SLS that there is not is told in Salt's words, and the log has what is meant, who includes it, and directories that do not exist.
func TestMissingSLS(t *testing.T) {
	const none = "Specified SLS %s in saltenv base is not available on the salt master or through a configured fileserver"
	for _, tt := range []struct{ name, asked, srv, want, log string }{
		{"a wrong letter", "wbe", "base", "No matching sls found for 'wbe' in env 'base'", "SLS 'base:wbe' is not there: is 'web' meant?"},
		{"nothing like it", "nosuch", "base", "No matching sls found for 'nosuch' in env 'base'", ""},
		{"an include", "parent", "base", fmt.Sprintf(none, "wob"),
			"SLS 'base:wob' is not there: is 'web' meant?\nSLS 'base:parent' includes SLS 'base:wob', which is not there"},
		{"no folder", "web", "nothere", "No matching sls found for 'web' in env 'base'",
			"SLS 'base:web' is not there: file_roots: base: entry 1: the directory DIR/nothere does not exist; make it, or mend the path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, data.NewMap("base", data.NewMap("web.sls", "a: test.nop\n", "parent.sls", "include: [wob]\nb: test.nop\n")))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(), opts: localOptions(dir, filepath.Join(dir, tt.srv))}
			c := m.compiler(t)
			hook := logtest.NewLocal(m.env.Log.(*logrus.Logger))
			_, problems, err := show(t.Context(), c, "state.show_sls", []string{tt.asked}, "base")
			if got := strings.Join(problems, "\n"); err != nil || got != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.want)
			}
			var told []string
			for _, e := range hook.AllEntries() {
				told = append(told, strings.ReplaceAll(e.Message, dir, "DIR"))
			}
			if got := strings.Join(told, "\n"); got != tt.log {
				t.Errorf("the log has\n%s\nwant\n%s", got, tt.log)
			}
		})
	}
}

// localOptions are those of a minion that takes its files from a directory.
func localOptions(dir, srv string) *data.Map {
	return data.NewMap("id", "web1", "file_client", "local", "cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
		"hash_type", "sha256", "file_roots", data.NewMap("base", []any{srv}), "file_buffer_size", int64(262144), "renderer", "jinja|yaml",
		"state_top", "top.sls", "top_file_merging_strategy", "merge", "default_top", "base")
}

// TestLogTellsWhatIsWrong looks for what Salt's answers leave out.
func TestLogTellsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, top, sls, function, want string }{
		{"a tab", "", "a:\n\t- b\n", "state.show_sls", "Rendering SLS 'base:p' failed: found character that cannot start any token; line 2; indent with spaces, not tabs"},
		{"a column", "", "a:\n  b.c:\n    - d: e\n   - f: g\n", "state.show_sls", "; line 4; what belongs together begins in the same column"},
		{"a top file that is a list", "- a\n", "", "state.show_top", "is not a dictionary"},
		{"targets beside their environment", "base:\n'*':\n  - p\n", "", "state.show_top",
			"Below base a top file has nothing where targets should stand, each with a list of SLS"},
		{"a list of targets", "base:\n  - p\n", "", "state.show_highstate", "Below base a top file has a list where targets"},
		{"text for targets", "base: p\n", "", "state.show_top", "Below base a top file has a single value where targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, filepath.Join(dir, "srv"), data.NewMap("base", data.NewMap("top.sls", tt.top, "p.sls", tt.sls)))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(), opts: localOptions(dir, filepath.Join(dir, "srv", "base"))}
			c := m.compiler(t)
			hook := logtest.NewLocal(m.env.Log.(*logrus.Logger))
			_, problems, err := show(t.Context(), c, tt.function, []string{"p"}, "base")
			if len(problems) == 0 && err == nil {
				t.Error("nothing is told")
			}
			if strings.Contains(strings.Join(problems, ""), "; line") {
				t.Errorf("problems %q, which Salt does not tell so", problems)
			}
			if e := hook.LastEntry(); e == nil || !strings.Contains(e.Message, tt.want) {
				t.Errorf("the log ends with %v, want %s", e, tt.want)
			}
		})
	}
}
