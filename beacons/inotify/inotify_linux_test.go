package inotify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// A probe calls a beacon for a directory.
type probe struct {
	t      *testing.T
	r      *loader.Registry
	name   string
	dir    string
	config string // DIR is the directory
	ctx    context.Context
}

func newProbe(t *testing.T, name, config string) *probe {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(), Watchdog()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	t.Cleanup(func() { _ = scope.Close() })
	return &probe{t, r, name, t.TempDir(), config, ctx}
}

func (p *probe) value() any {
	p.t.Helper()
	v, err := yaml.Load([]byte(strings.ReplaceAll(p.config, "DIR", p.dir)), yaml.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// expect runs a turn and compares its events: lines of a path below the directory and a change.
func (p *probe) expect(want ...string) {
	p.t.Helper()
	got, err := p.r.Invoke(p.ctx, p.name+".beacon", []any{p.value()}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	var lines []string
	for _, e := range data.ListOf(got) {
		m, _ := e.(*data.Map)
		rel := strings.TrimPrefix(strings.TrimPrefix(m.Text("path"), p.dir), "/")
		lines = append(lines, rel+" "+m.Text("change"))
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		p.t.Errorf("got  %q\nwant %q", lines, want)
	}
}

func (p *probe) path(name string) string { return filepath.Join(p.dir, name) }

func (p *probe) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *probe) create(name string) {
	p.t.Helper()
	f, err := os.Create(p.path(name))
	p.must(err)
	p.must(f.Close())
}

func (p *probe) open(name string) {
	p.t.Helper()
	f, err := os.Open(p.path(name))
	p.must(err)
	p.must(f.Close())
}

func (p *probe) mkdir(name string) { p.t.Helper(); p.must(os.MkdirAll(p.path(name), 0o755)) }

// The cases up to exclude are those of Salt (tests/pytests/unit/beacons/test_inotify.py).

func TestOpenedFile(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/f: {mask: [open]}}}]")
	p.create("f")
	p.expect()
	p.open("f")
	p.expect("f IN_OPEN")
}

func TestDirectoryWithoutAutoAdd(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [create]}}}]")
	p.expect()
	p.create("f")
	p.expect("f IN_CREATE")
	p.open("f")
	p.expect()
}

func TestDirectoryWithAutoAdd(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [create, open], auto_add: true}}}]")
	p.expect()
	p.create("f")
	p.expect("f IN_CREATE", "f IN_OPEN")
	p.open("f")
	p.expect("f IN_OPEN")
}

func TestRecurse(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [open], recurse: true}}}]")
	p.mkdir("a/b")
	p.create("a/b/f")
	p.expect()
	p.open("a/b/f")
	p.expect("a IN_OPEN|IN_ISDIR", "a/b IN_OPEN|IN_ISDIR", "a/b/f IN_OPEN") // the first two are its own
}

func TestRecurseAndAutoAdd(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [create, delete], recurse: true, auto_add: true}}}]")
	p.mkdir("a")
	p.expect()
	p.mkdir("a/b")
	p.expect("a/b IN_CREATE|IN_ISDIR")
	p.create("a/b/f")
	p.expect("a/b/f IN_CREATE")
	p.must(os.Remove(p.path("a/b/f")))
	p.expect("a/b/f IN_DELETE")
	p.mkdir("a/c/d") // what is in a new directory counts as created
	p.create("a/c/f")
	p.expect("a/c IN_CREATE|IN_ISDIR", "a/c/d IN_CREATE|IN_ISDIR", "a/c/f IN_CREATE")
}

func TestExclude(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/a: {mask: [create, delete], recurse: true, auto_add: true, "+
		"exclude: [{'DIR/a/*tmpfile*$': {regex: true}}]}}}, {files: {DIR/b: {mask: [create], "+
		"exclude: [DIR/b/secret, '*.swp']}}}]")
	p.mkdir("a")
	p.mkdir("b")
	p.expect() // as in Salt the second files replaces the first
	for _, name := range []string{"b/secret1", "b/x.swp", "b/seen", "a/tmpfile"} {
		p.create(name)
	}
	p.expect("b/seen IN_CREATE")
}

func TestExcludedByRegex(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [create], exclude: ['DIR/no', {'tmp[a-m]*$': {regex: true}}, "+
		"{'(': {regex: true}}], recurse: true}}}]")
	p.mkdir("no")
	p.expect()
	for _, name := range []string{"tmpab", "tmpz", "xtmp", "no/f"} {
		p.create(name)
	}
	p.expect("tmpz IN_CREATE")
}

func TestDeletedAndMadeAgain(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/f: {mask: [delete_self, modify]}}}]")
	p.expect() // it does not exist yet
	p.create("f")
	p.expect()
	p.must(os.WriteFile(p.path("f"), []byte("x"), 0o600))
	p.must(os.Remove(p.path("f")))
	p.expect("f IN_MODIFY", "f IN_DELETE_SELF", "f IN_IGNORED")
	p.create("f")
	p.expect()
	p.must(os.WriteFile(p.path("f"), []byte("x"), 0o600))
	p.expect("f IN_MODIFY")
}

func TestCoalesce(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [open]}}}, {coalesce: true}]")
	p.create("f")
	p.create("g")
	p.expect()
	for range 3 {
		p.open("f")
		p.open("g")
	}
	p.expect("f IN_OPEN", "g IN_OPEN")
}

func TestMoves(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/a: {mask: [moved_from, moved_to, create], auto_add: true}}}]")
	p.mkdir("a")
	p.mkdir("b/c")
	p.create("a/f")
	p.expect()
	p.must(os.Rename(p.path("a/f"), p.path("a/g")))
	p.must(os.Rename(p.path("b"), p.path("a/b")))
	p.expect("a/f IN_MOVED_FROM", "a/g IN_MOVED_TO", "a/b IN_MOVED_TO|IN_ISDIR")
	p.create("a/b/c/f") // directories that are moved in are watched as a whole
	p.expect("a/b/c/f IN_CREATE")
}

func TestClose(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR: {mask: [create]}}}]")
	p.expect()
	if _, err := p.r.Invoke(p.ctx, "inotify.close", []any{p.value()}, nil); err != nil {
		t.Fatal(err)
	}
	p.create("f") // not seen
	p.expect()
	p.create("g")
	p.expect("g IN_CREATE")
}

// TestWatchdog has the cases of Salt (tests/pytests/unit/beacons/test_watchdog.py).
func TestWatchdog(t *testing.T) {
	p := newProbe(t, "watchdog", "[{directories: {DIR: {mask: [create]}}}]")
	p.expect()
	p.create("f")
	p.expect("f created")

	p = newProbe(t, "watchdog", "[{directories: {DIR: {mask: [modify]}}}]")
	p.create("f")
	p.expect()
	p.must(os.WriteFile(p.path("f"), []byte("x"), 0o600))
	// opening truncates and writing modifies; closing modifies the directory. Equal events in a row
	// are one event of the kernel.
	p.expect("f modified", " modified")

	p = newProbe(t, "watchdog", "[{directories: {DIR: {mask: [delete]}}}]")
	p.create("f")
	p.expect()
	p.must(os.Remove(p.path("f")))
	p.expect("f deleted")

	p = newProbe(t, "watchdog", "[{directories: {DIR: {mask: [move]}}}]")
	p.create("f")
	p.expect()
	p.must(os.Rename(p.path("f"), p.path("g")))
	p.expect("f moved")

	p = newProbe(t, "watchdog", "[{directories: {DIR: {}}}]")
	p.expect()
	p.mkdir("d")
	p.must(os.Rename(p.path("d"), filepath.Join(t.TempDir(), "d")))
	p.expect("d created", " modified", "d deleted", " modified")
}

// FuzzParse parses any events of a kernel.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00name\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range parse(b) {
			if strings.Contains(e.name, "\x00") || len(e.name) > len(b) {
				t.Errorf("name %q", e.name)
			}
		}
	})
}
