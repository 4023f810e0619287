package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// places are the two ways to name a file: by its path, and below an open directory.
var places = map[string]func(t *testing.T, dir, name string, content []byte, o Options) error{
	"path": func(_ *testing.T, dir, name string, content []byte, o Options) error {
		return Write(filepath.Join(dir, name), content, o)
	},
	"root": func(t *testing.T, dir, name string, content []byte, o Options) error {
		root, err := os.OpenRoot(dir)
		must(t, err)
		defer root.Close()
		return WriteIn(root, name, content, o)
	},
}

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name    string
		old     fs.FileMode // of the file that is there; 0 for none
		options Options
		want    fs.FileMode
	}{
		{"a new file is its owner's", 0, Options{}, 0o600},
		{"a file that is replaced does not keep its mode unasked", 0o644, Options{}, 0o600},
		{"a mode is given whatever the umask", 0, Options{Mode: 0o664, Sync: true, SyncDir: true}, 0o664},
		{"a mode that the owner cannot write by", 0o600, Options{Mode: 0o400}, 0o400},
		{"the mode of the old file stays", 0o640, Options{Mode: 0o644, KeepMode: true}, 0o640},
		{"the mode of no old file", 0, Options{Mode: 0o644, KeepMode: true}, 0o644},
		{"a file where there was none", 0, Options{New: true, Mode: 0o644}, 0o644},
	} {
		for way, write := range places {
			t.Run(tt.name+"/"+way, func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, "f")
				if tt.old != 0 {
					must(t, os.WriteFile(file, []byte("old and longer"), tt.old))
				}
				must(t, write(t, dir, "f", []byte("new"), tt.options))
				checkFile(t, file, "new", tt.want)
				checkNames(t, dir, "f")
			})
		}
	}
}

func TestWriteBelowFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	must(t, places["root"](t, dir, "sub/f", []byte("x"), Options{SyncDir: true}))
	checkFile(t, filepath.Join(dir, "sub", "f"), "x", 0o600)
	checkNames(t, filepath.Join(dir, "sub"), "f")
	if err := places["root"](t, filepath.Join(dir, "sub"), "../g", nil, Options{}); err == nil {
		t.Error("a name that leads out of the folder is taken")
	}
	checkNames(t, dir, "sub")
}

// A link at the path is replaced, and its target stays unchanged, though its mode is copied.
func TestWriteReplacesLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("target"), 0o640))
	link := filepath.Join(dir, "f")
	must(t, os.Symlink(target, link))
	must(t, Write(link, []byte("new"), Options{KeepMode: true}))
	checkFile(t, target, "target", 0o640)
	checkFile(t, link, "new", 0o640)
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestNewRefusesToReplace(t *testing.T) {
	for way, write := range places {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("old"), 0o644))
		if err := write(t, dir, "f", []byte("new"), Options{New: true}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v, want ErrExist", way, err)
		}
		checkFile(t, filepath.Join(dir, "f"), "old", 0o644)
		checkNames(t, dir, "f")
	}
}

// Of many writers that create the same new file, one succeeds, with its complete content.
func TestNewHasOneWinner(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	won := make(chan byte, 16)
	for i := range byte(16) {
		all.Go(func() {
			if Write(filepath.Join(dir, "f"), bytes.Repeat([]byte{'a' + i}, 1<<16),
				Options{New: true}) == nil {
				won <- 'a' + i
			}
		})
	}
	all.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d writers have made the file", len(won))
	}
	checkFile(t, filepath.Join(dir, "f"), strings.Repeat(string(<-won), 1<<16), 0o600)
	checkNames(t, dir, "f")
}

func TestFailureLeavesPlace(t *testing.T) {
	broken := errors.New("broken")
	fail := func(*os.File) error { return broken }
	fill := func(f *os.File) error { _, err := f.WriteString("part"); return err }
	for name, write := range map[string]func(path string) error{
		"content": func(p string) error { return Fill(p, Options{}, fail) },
		"owner":   func(p string) error { return Fill(p, Options{Own: fail}, fill) },
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("old"), 0o644))
		if err := write(filepath.Join(dir, "f")); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		checkFile(t, filepath.Join(dir, "f"), "old", 0o644)
		checkNames(t, dir, "f")
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "f", "full"), 0o700))
	err := Write(filepath.Join(dir, "f"), nil, Options{})
	p, _ := errors.AsType[*fs.PathError](err)
	if p == nil || p.Path != filepath.Join(dir, "f") || !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory is to be replaced by a file: %v", err)
	}
	checkNames(t, dir, "f")
	if err := Write(filepath.Join(dir, "none", "f"), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no folder: %v", err)
	}
}

// The file has its owner and mode before its final name, and the temporary name is the requested
// one.
func TestOwnIsCalledBeforeThePlaceIsTaken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	own := func(f *os.File) error {
		if !strings.HasPrefix(filepath.Base(f.Name()), ".token-") {
			t.Errorf("on its way the file is called %s", f.Name())
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is in place before it has its owner: %v", err)
		}
		return nil
	}
	must(t, Write(file, []byte("x"), Options{Own: own, Prefix: ".token-"}))
	checkFile(t, file, "x", 0o600)
}

// A reader sees one of the complete contents while writers alternate.
func TestReadersSeeCompleteFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	must(t, Write(file, contents[0], Options{}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			if err := Write(file, contents[i%2], Options{}); err != nil {
				t.Errorf("write: %v", err)
			}
		}
	}()
	for {
		got, err := os.ReadFile(file)
		must(t, err)
		if !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Fatalf("a reader saw %d bytes that nobody wrote", len(got))
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func checkFile(t *testing.T, file, content string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(file)
	must(t, err)
	info, err := os.Stat(file)
	must(t, err)
	if string(got) != content || info.Mode().Perm() != mode {
		t.Errorf("%s holds %.20q with mode %v; want %.20q with %v", file, got, info.Mode().Perm(),
			content, mode)
	}
}

func checkNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("in the folder: %q, want %q", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWriteFollowsLinks writes to links of several kinds: each stays, and the file that it names is written.
func TestWriteFollowsLinks(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		links      [][2]string // name and target
	}{
		{"no link", "f", nil},
		{"a link", "real", [][2]string{{"f", "real"}}},
		{"a link to a link", "real", [][2]string{{"f", "g"}, {"g", "DIR/real"}}},
		{"through a directory that is a link", "sub/deep/up", [][2]string{{"l", "sub/deep/deeper"}, {"f", "l/../up"}}},
		{"a relative link beside the target of a link", "sub/real", [][2]string{{"sub/g", "real"}, {"f", "sub/g"}}},
	} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/file is there %v", tt.name, there), func(t *testing.T) {
				dir := t.TempDir()
				must(t, os.MkdirAll(filepath.Join(dir, "sub/deep/deeper"), 0o700))
				for _, l := range tt.links {
					must(t, os.Symlink(strings.ReplaceAll(l[1], "DIR", dir), filepath.Join(dir, l[0])))
				}
				file := filepath.Join(dir, tt.file)
				if there {
					must(t, os.WriteFile(file, []byte("old"), 0o640))
				}
				must(t, Write(filepath.Join(dir, "f"), []byte("new"), Options{Follow: true, Mode: 0o640, KeepMode: true}))
				checkFile(t, file, "new", 0o640)
				for _, l := range tt.links {
					if _, err := os.Readlink(filepath.Join(dir, l[0])); err != nil {
						t.Errorf("link %s: %v", l[0], err)
					}
				}
			})
		}
	}
}

// TestWriteRefusesALoopOfLinks has a link that leads to itself.
func TestWriteRefusesALoopOfLinks(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("g", filepath.Join(dir, "f")))
	must(t, os.Symlink("f", filepath.Join(dir, "g")))
	if err := Write(filepath.Join(dir, "f"), nil, Options{Follow: true}); err == nil {
		t.Error("no error for a loop")
	}
	checkNames(t, dir, "f", "g")
}
