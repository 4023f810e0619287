package nfsexports

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

const file = `# what is exported \
/srv/comment *(rw)
/srv/a 10.0.2.0/24(rw,sync) \
	*.example.com(ro) # for all
"/srv/with blank" h(rw)
/srv/octal\040blank h(rw)
  # indented
/srv/b /srv/c -sync,ro *(rw) host
/srv/d h\
`

// Lines that end with a backslash go on, and what is a comment or quoted is read so.
func TestParse(t *testing.T) {
	want := `{'/srv/a': [{'hosts': '10.0.2.0/24', 'options': ['rw', 'sync']}, ` +
		`{'hosts': '*.example.com', 'options': ['ro']}], ` +
		`'/srv/with blank': [{'hosts': 'h', 'options': ['rw']}], ` +
		`'/srv/octal blank': [{'hosts': 'h', 'options': ['rw']}], ` +
		`'/srv/b': [{'hosts': '*', 'options': ['sync', 'ro', 'rw']}, ` +
		`{'hosts': 'host', 'options': ['sync', 'ro']}], ` +
		`'/srv/c': [{'hosts': '*', 'options': ['sync', 'ro', 'rw']}, ` +
		`{'hosts': 'host', 'options': ['sync', 'ro']}], ` +
		`'/srv/d': [{'hosts': 'h', 'options': []}]}`
	if got := data.Repr(Parse(file)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestChanges(t *testing.T) {
	for _, tt := range []struct{ got, old, new string }{
		{Without(file, "/srv/a"), "/srv/a 10.0.2.0/24(rw,sync) \\\n\t*.example.com(ro) # for all\n", ""},
		{Without(file, "/srv/c"), "/srv/b /srv/c ", "/srv/b "},
		{Without(file, "/srv/b"), "/srv/b /srv/c ", "/srv/c "},
		{Without(file, "/srv/with blank"), "\"/srv/with blank\" h(rw)\n", ""},
		{Without(file, "/srv/octal blank"), "/srv/octal\\040blank h(rw)\n", ""},
		{Without(file, "/srv/comment"), "", ""},
		{With(file, "/srv/e", "h", []string{"rw"}), "h\\\n", "h\\\n\n/srv/e h(rw)\n"},
		{With(file, "/srv/d", "g", nil), "h\\\n", "h\\\n\n/srv/d g()\n"},
		{With(file, "/srv/a", "g", nil), "h\\\n", "h\\\n\n/srv/a g()\n"},
	} {
		if want := strings.Replace(file, tt.old, tt.new, 1); tt.got != want {
			t.Errorf("got\n%s\nwant\n%s", tt.got, want)
		}
	}
	if got := With("/a h(rw)\n/b", "/a", "g", []string{"ro"}); got != "/a h(rw) g(ro)\n/b" {
		t.Errorf("one more client gives %q", got)
	}
	if got := With("\"/a", "/a", "g", nil); got != "\"/a\n/a g()\n" {
		t.Errorf("after an open quote: %q", got)
	}
	if got := With("/a h \\", "/b", "g", nil); got != "/a h \\\n\n/b g()\n" {
		t.Errorf("after an open line: %q", got)
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range [][3]string{{"/a b", "h", "rw"}, {"/a", "h(rw) *", "rw"}, {"/a", "h", "rw\n/etc *(rw)"},
		{"/a\\", "h", "rw"}, {"a", "h", "rw"}, {"/a", "-rw", "rw"}, {"/a", "/b", "rw"}, {"/a", "h", "rw)"},
		{"/a", "h#", "rw"}, {"/a\"", "h", "rw"}} {
		if Check(bad[0], bad[1], bad[2:]) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := Check("/srv/a", "*.example.com", []string{"rw", "anonuid=1"}); err != nil {
		t.Error(err)
	}
}

func FuzzExports(f *testing.F) {
	f.Add(file, "/srv/b")
	f.Add("/a\n/a (\n", "/a")
	f.Add("\"/a\\\n b\" h\n\\", "/a")
	f.Fuzz(func(t *testing.T, text, path string) {
		if Check(path, "h", nil) != nil {
			return
		}
		if left := Parse(Without(text, path)); left.Has(path) {
			t.Errorf("%q without %s has %s", text, path, data.Repr(left))
		}
		if more := Parse(With(text, path, "h", []string{"rw"})); !more.Has(path) {
			t.Errorf("%q with %s has %s", text, path, data.Repr(more))
		}
	})
}
