package webutil_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/teststate"
)

// compared is equal to Salt's results, except for the path of the program in its errors, and that
// test mode returns True for a user that is absent.
func compared(got, want *data.Map) bool {
	want = want.Clone()
	if want.Text("comment") == "User already not in file" {
		want.Set("result", true)
	}
	if _, rest, ok := strings.Cut(want.Text("comment"), "/htpasswd: "); ok {
		_, text, _ := strings.Cut(got.Text("comment"), "htpasswd: ")
		got = got.Clone()
		got.Set("comment", text)
		want.Set("comment", rest)
	}
	return data.Equal(got, want)
}

// TestRuns replays results of Salt 3006.18 with htpasswd: test mode, real runs, and test mode again.
func TestRuns(t *testing.T) {
	need.Program(t, "htpasswd")
	dir := t.TempDir()
	shelf := teststate.NewShelf(t, data.NewMap("id", "web1"))
	shelf.Replay(t, "testdata/runs.json", dir, compared)
	text, err := os.ReadFile(filepath.Join(dir, "htpasswd"))
	if want := "bob:{SHA}"; err != nil || !strings.HasPrefix(string(text), want) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestTestMode checks that test mode creates no file.
func TestTestMode(t *testing.T) {
	need.Program(t, "htpasswd")
	file := filepath.Join(t.TempDir(), "htpasswd")
	shelf := teststate.NewShelf(t, data.NewMap("id", "web1"))
	for _, fun := range []string{"webutil.user_exists", "webutil.user_absent"} {
		shelf.Run(t, true, fun, "larry", data.NewMap("htpasswd_file", file))
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file exists: %v", err)
	}
}

// TestNoPassword checks that a user without a password is refused, unless none has to be set.
func TestNoPassword(t *testing.T) {
	need.Program(t, "htpasswd")
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, []byte("bob:x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shelf := teststate.NewShelf(t, data.NewMap("id", "web1"))
	for _, c := range []struct {
		name   string
		more   *data.Map
		result bool
	}{
		{"larry", data.NewMap(), false}, {"bob", data.NewMap("force", true), false},
		{"bob", data.NewMap("update", true), false}, {"bob", data.NewMap(), true},
	} {
		for _, test := range []bool{true, false, false, true} {
			c.more.Set("htpasswd_file", file)
			got := shelf.Run(t, test, "webutil.user_exists", c.name, c.more)
			if got.Value("result") != c.result || data.Truth(got.Value("changes")) {
				t.Errorf("%s %s: %s", c.name, data.Repr(c.more), data.Repr(got))
			}
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "bob:x\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
