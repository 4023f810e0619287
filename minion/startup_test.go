package minion_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// writeStates makes two SLS, and a top file for each of them.
func writeStates(t *testing.T) (dir string) {
	t.Helper()
	dir = testsalt.Dir(t)
	for name, text := range map[string]string{
		"a.sls": "one:\n  test.succeed_with_changes\n", "b.sls": "two:\n  test.fail_without_changes\n",
		"top.sls": "base:\n  '*': [a]\n", "other.sls": "base:\n  web1: [b]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestStartupStates starts minions that are to apply states at once, and waits for what they tell
// the master.
func TestStartupStates(t *testing.T) {
	for _, tt := range []struct {
		options, fun, args, ids string
		retcode                 int64
	}{
		{"startup_states: highstate\n", "state.highstate", "[]", "one", 0},
		{"startup_states: sls\nsls_list: [a, b]\n", "state.sls", "[['a', 'b']]", "one two", 2},
		{"startup_states: top\ntop_file: other.sls\n", "state.top", "['other.sls']", "two", 2},
	} {
		t.Run(tt.fun, func(t *testing.T) {
			f := startConfigured(t, "file_client: local\nfile_roots: {base: ["+writeStates(t)+
				"]}\n"+tt.options)
			load := f.await(t, "salt/job/")
			for !load.Has("return") {
				load = f.await(t, "salt/job/")
			}
			var ids []string
			result, _ := load.Value("return").(*data.Map)
			for _, v := range result.All() {
				one, _ := v.(*data.Map)
				ids = append(ids, one.Text("__id__"))
			}
			if load.Text("fun") != tt.fun || data.Repr(load.Value("fun_args")) != tt.args ||
				strings.Join(ids, " ") != tt.ids || load.Value("retcode") != tt.retcode ||
				load.Has("schedule") {
				t.Errorf("%s\ngives the return %s", tt.options, data.Repr(load))
			}
		})
	}
}
