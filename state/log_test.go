package state_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
)

// TestLogTellsWhatIsWrong looks for what Salt's answers leave out.
func TestLogTellsWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, top, sls, function, want string }{
		{"a tab", "", "a:\n\t- b\n", "state.show_sls", "Rendering SLS 'base:p' failed: found character that cannot start any token; line 2"},
		{"a top file that is a list", "- a\n", "", "state.show_top", "is not a dictionary"},
		{"targets beside their environment", "base:\n'*':\n  - p\n", "", "state.show_top",
			"Below base a top file has nothing where targets should stand, each with a list of SLS"},
		{"a list of targets", "base:\n  - p\n", "", "state.show_highstate", "Below base a top file has a list where targets"},
		{"text for targets", "base: p\n", "", "state.show_top", "Below base a top file has a single value where targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, filepath.Join(dir, "srv"), data.NewMap("base", data.NewMap("top.sls", tt.top, "p.sls", tt.sls)))
			m := &testMinion{grains: baseGrains(), pillar: data.NewMap(), opts: data.NewMap("id", "web1", "file_client", "local",
				"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"}, "hash_type", "sha256",
				"file_roots", data.NewMap("base", []any{filepath.Join(dir, "srv", "base")}), "file_buffer_size", int64(262144),
				"renderer", "jinja|yaml", "state_top", "top.sls", "top_file_merging_strategy", "merge", "default_top", "base")}
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
