package inotify

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/yaml"
)

// A probe calls a beacon for a directory.
type probe struct {
	t      *testing.T
	log    *logtest.Hook
	r      *loader.Registry
	name   string
	dir    string
	config string // DIR is the directory
	ctx    context.Context
}

func newProbe(t *testing.T, name, config string) *probe {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	r, err := loader.NewRegistry(&loader.Env{Log: log}, []loader.Plugin{Plugin(), Watchdog()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, scope := loader.WithScope(t.Context())
	t.Cleanup(func() { _ = scope.Close() })
	return &probe{t, hook, r, name, t.TempDir(), config, ctx}
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

// logged compares the lines of the log, in which DIR is the directory.
func (p *probe) logged(want ...string) {
	p.t.Helper()
	var lines []string
	for _, e := range p.log.AllEntries() {
		lines = append(lines, strings.ReplaceAll(e.Message, p.dir, "DIR"))
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		p.t.Errorf("log  %q\nwant %q", lines, want)
	}
}

// TestPathThatCannotBeWatched watches a path with an invalid mask beside another one.
func TestPathThatCannotBeWatched(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/bad: {mask: []}, DIR/good: {mask: [create]}}}]")
	p.mkdir("bad")
	p.mkdir("good")
	p.expect()
	p.create("good/f")
	p.expect("good/f IN_CREATE")
	p.create("good/g")
	p.expect("good/g IN_CREATE")
	p.logged("inotify: cannot watch DIR/bad: invalid argument")
}

// TestNoMoreWatches lets the kernel refuse all watches but two.
func TestNoMoreWatches(t *testing.T) {
	for _, c := range []struct{ name, config, event string }{
		{"inotify", "[{files: {DIR/a: {mask: [create], recurse: true}, DIR/z: {mask: [create]}}}]",
			"a/f IN_CREATE"},
		{"watchdog", "[{directories: {DIR/a: {mask: [create]}, DIR/a/b: {}, DIR/a/c: {}, DIR/z: {}}}]",
			"a/f created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProbe(t, c.name, c.config)
			for _, name := range []string{"a/b", "a/c", "a/d", "z"} {
				p.mkdir(name)
			}
			n, _, err := beacons.State[notifier](p.ctx)
			p.must(err)
			log, hook := logtest.NewNullLogger()
			p.log = hook
			n.kernel, err = newKernel(log)
			p.must(err)
			calls := 0
			n.addWatch = func(fd int, path string, mask uint32) (int, error) {
				if calls++; calls > 2 {
					return 0, unix.ENOSPC
				}
				return unix.InotifyAddWatch(fd, path, mask)
			}
			p.expect()
			p.create("a/f")
			p.expect(c.event)
			p.expect()
			if calls != 5 { // three in the first turn, and one in each of the others
				t.Errorf("%d calls of the kernel", calls)
			}
			if n := len(p.log.AllEntries()); n != 1 {
				t.Errorf("%d lines in the log", n)
			}
		})
	}
}

func TestMasksOfWhatTheKernelOnlySends(t *testing.T) {
	for _, mask := range []string{"ignored", "unmount"} {
		p := newProbe(t, "inotify", "[{files: {DIR/f: {mask: ["+mask+"]}}}]")
		p.create("f")
		p.expect()
		p.must(os.Remove(p.path("f")))
		p.expect("f IN_IGNORED")
		p.logged()
	}
}

func TestEmptyMask(t *testing.T) {
	const want = "Configuration for inotify beacon mask must not be empty."
	for config, want := range map[string]string{"{mask: []}": want, "{mask: [], auto_add: false}": want,
		"{mask: [], auto_add: true}": "", "{auto_add: true}": ""} {
		p := newProbe(t, "inotify", "[{files: {/a: "+config+"}}]")
		if got := fault(p.value()); got != want {
			t.Errorf("%s: %q", config, got)
		}
	}
}

func TestLostEvents(t *testing.T) {
	for _, name := range []string{"inotify", "watchdog"} {
		p := newProbe(t, name, "[{files: {DIR: {mask: [create]}}}, {directories: {DIR: {mask: [create]}}}]")
		p.expect()
		n, err := queueLength()
		p.must(err)
		a, b, c := p.path("a"), p.path("b"), p.path("c")
		p.must(os.WriteFile(a, nil, 0o600))
		for range n/2 + 1 { // two equal events in a row would be one
			for _, name := range []string{b, c} {
				p.must(os.Link(a, name))
			}
			for _, name := range []string{b, c} {
				p.must(os.Remove(name))
			}
		}
		if _, err := p.r.Invoke(p.ctx, name+".beacon", []any{p.value()}, nil); err != nil {
			t.Fatal(err)
		}
		p.logged("inotify: too many events at once; some are lost")
	}
}

// queueLength returns how many events the kernel keeps for an instance.
func queueLength() (int, error) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// TestDirectoryMadeAgain makes a directory under the name of one that was moved away, which the beacon
// is told of only with moved_from in the mask.
func TestDirectoryMadeAgain(t *testing.T) {
	for _, c := range []struct {
		mask string
		more []string
	}{{"create", nil}, {"create, moved_from", []string{"a/d IN_MOVED_FROM|IN_ISDIR"}}} {
		p := newProbe(t, "inotify", "[{files: {DIR/a: {mask: ["+c.mask+"], auto_add: true}}}]")
		p.mkdir("a")
		p.expect()
		p.mkdir("a/d/e")
		p.expect("a/d IN_CREATE|IN_ISDIR", "a/d/e IN_CREATE|IN_ISDIR")
		p.must(os.Rename(p.path("a/d"), p.path("away")))
		p.mkdir("a/d/e")
		p.expect(append(c.more, "a/d IN_CREATE|IN_ISDIR", "a/d/e IN_CREATE|IN_ISDIR")...)
		p.create("a/d/f")
		p.create("a/d/e/f")
		p.create("away/g")
		p.create("away/e/g")
		p.expect("a/d/f IN_CREATE", "a/d/e/f IN_CREATE")
	}
}

// TestRenamedDirectory checks the paths of what happens in a directory before the rename is read.
func TestRenamedDirectory(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/a: {mask: [create, moved_from, moved_to], recurse: true, "+
		"auto_add: true}}}]")
	p.mkdir("a/b/c")
	p.expect()
	p.must(os.Rename(p.path("a/b"), p.path("a/z")))
	p.create("a/z/c/f")
	p.expect("a/b IN_MOVED_FROM|IN_ISDIR", "a/z IN_MOVED_TO|IN_ISDIR", "a/z/c/f IN_CREATE")
	p.mkdir("a/b/c")
	p.create("a/z/c/g")
	p.expect("a/b IN_CREATE|IN_ISDIR", "a/b/c IN_CREATE|IN_ISDIR", "a/z/c/g IN_CREATE")
}

// TestFileInThePlaceOfAnother rotates a watched file.
func TestFileInThePlaceOfAnother(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/f: {mask: [modify]}}}]")
	write := func(name string) { t.Helper(); p.must(os.WriteFile(p.path(name), []byte("x"), 0o600)) }
	p.create("f")
	p.expect()
	p.must(os.Rename(p.path("f"), p.path("f.1")))
	p.create("f")
	write("f.1") // is still the watched one
	p.expect("f IN_MODIFY")
	write("f.1")
	write("f")
	p.expect("f IN_MODIFY")
	write("f.1")
	p.expect()
}

// TestFileWithTwoNames watches a file under two names until it goes.
func TestFileWithTwoNames(t *testing.T) {
	p := newProbe(t, "inotify", "[{files: {DIR/f: {mask: [modify]}, DIR/g: {mask: [modify]}}}]")
	write := func(name string) { t.Helper(); p.must(os.WriteFile(p.path(name), []byte("x"), 0o600)) }
	p.create("f")
	p.must(os.Link(p.path("f"), p.path("g")))
	p.expect()
	p.expect()
	write("f")
	p.expect("g IN_MODIFY")
	p.must(os.Remove(p.path("f")))
	p.must(os.Remove(p.path("g")))
	p.create("f")
	p.create("g")
	p.expect("g IN_IGNORED")
	write("f")
	write("g")
	p.expect("f IN_MODIFY", "g IN_MODIFY")
}

// TestWatchdogFollowsItsPath moves a watched directory away and makes another one.
func TestWatchdogFollowsItsPath(t *testing.T) {
	p := newProbe(t, "watchdog", "[{directories: {DIR/a: {mask: [create]}}}]")
	p.mkdir("a")
	p.expect()
	p.must(os.Rename(p.path("a"), p.path("b")))
	p.mkdir("a")
	p.expect()
	p.create("a/f")
	p.create("b/g")
	p.expect("a/f created")
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
