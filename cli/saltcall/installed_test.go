package saltcall

import (
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/python"
)

// installedSalt returns the value of python_salt for the Salt of this machine: that of
// BRINE_TEST_SALT, or the one that auto finds.
func installedSalt(t *testing.T) string {
	t.Helper()
	need.Program(t, "python3")
	if path := os.Getenv("BRINE_TEST_SALT"); path != "" {
		return path
	}
	salt, err := python.FindLibrary(t.Context(), "auto", "python3")
	if err != nil {
		t.Fatal(err)
	}
	if salt == nil { // not a failure where all is required: Salt is not ours to install
		t.Skip("there is no installed Salt; BRINE_TEST_SALT may name one")
	}
	return "auto"
}

// TestInstalledSalt calls what Brine has not: a module and a state of an installed Salt.
func TestInstalledSalt(t *testing.T) {
	need.Time(t, "it loads all modules of Salt")
	s := newSite(t, "color: false\npython_salt: "+installedSalt(t)+"\n")
	table := "--out raw state.single sqlite3.table_present people db=" + s.dir + "/db schema=CREATE_TABLE_people_(n_INT)"
	for _, c := range []struct{ args, want string }{
		{"--out raw test.ping", "{'local': True}"},
		{"--out raw sqlite3.sqlite_version", "{'local': '3."},
		{"--out raw sqlite3.fetch " + s.dir + "/none SELECT_1", "{'local': [(1,)]}"},
		{table + " test=True", "'comment': \"'people' will be created\""},
		{table, "'comment': \"Created table 'people'\""},
		{table, "'changes': {}"},
		{"sys.doc sqlite3.version", "which is installed beside Brine (python_salt)."},
		{"--out raw sys.list_modules", "'sqlite3'"},
		{"--versions-report", "python_salt: 3"},
	} {
		words := strings.Fields(c.args)
		for i, w := range words {
			if strings.Contains(w, "CREATE") || strings.Contains(w, "SELECT") {
				words[i] = strings.ReplaceAll(w, "_", " ")
			}
		}
		stdout, stderr, _ := s.call(t, append([]string{"--local"}, words...)...)
		if !strings.Contains(stdout, c.want) {
			t.Errorf("%s prints no %q:\n%s%s", c.args, c.want, stdout, stderr)
		}
	}
}

// TestNoInstalledSalt checks what a wrong path says, and that auto needs none.
func TestNoInstalledSalt(t *testing.T) {
	need.Program(t, "python3")
	for value, want := range map[string]string{
		"/no/such":     "option python_salt: there is no Salt at /no/such",
		"relative":     "option python_salt is relative: give off, auto or an absolute path",
		"/usr/bin/env": "option python_salt: there is no Salt at /usr/bin/env",
		"off":          "",
		"auto":         "",
	} {
		s := newSite(t, "color: false\npython_salt: "+value+"\n")
		stdout, stderr, code := s.call(t, "--local", "test.ping")
		if (code == 0) != (want == "") || !strings.Contains(stderr, want) {
			t.Errorf("python_salt: %s: %d %s%s", value, code, stdout, stderr)
		}
	}
}
