//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/internal/test/need"
)

// stranger is a user that the host need not know.
func stranger() Account {
	return Account{Name: "stranger", UID: 12345, GID: 12345, Other: true, groups: []int{12345}}
}

func ownerOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestGivingIsNotLedElsewhere swaps a directory for a link to one of root while root gives the
// directory away.
func TestGivingIsNotLedElsewhere(t *testing.T) {
	need.Root(t, "to change owners")
	dir := t.TempDir()
	target, cache := filepath.Join(dir, "of root"), filepath.Join(dir, "cache")
	sub, away, link := filepath.Join(cache, "sub"), filepath.Join(cache, "away"), filepath.Join(cache, "link")
	must(t, os.Mkdir(target, 0o755), os.MkdirAll(sub, 0o755), os.Symlink(target, link))
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprint("file", i)
		must(t, os.WriteFile(filepath.Join(target, names[i]), nil, 0o600),
			os.WriteFile(filepath.Join(sub, names[i]), nil, 0o600))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				swap(sub, link, away)
			}
		}
	}()
	for try := range 300 {
		who := stranger()
		who.UID += try % 2 // so that there is something to do each time
		if err := (Folder{Option: "cachedir", Path: cache}).prepare(who, false); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-stopped
	for _, name := range append(names, "") {
		if owner := ownerOf(t, filepath.Join(target, name)); owner != 0 {
			t.Fatalf("%q of root is given to %d", name, owner)
		}
	}
}

// swap puts a link in the place of a directory, and the directory back.
func swap(folder, link, away string) {
	_ = os.Rename(folder, away)
	_ = os.Rename(link, folder)
	_ = os.Rename(folder, link)
	_ = os.Rename(away, folder)
}

func TestWhatIsNotGiven(t *testing.T) {
	need.Root(t, "to change owners")
	dir := t.TempDir()
	cache, outside := filepath.Join(dir, "cache"), filepath.Join(dir, "outside")
	at := func(name string) string { return filepath.Join(cache, name) }
	must(t, os.MkdirAll(at("jobs/ab"), 0o755), os.MkdirAll(at("sub/deep"), 0o755),
		os.WriteFile(outside, nil, 0o600), os.WriteFile(at("sub/deep/file"), nil, 0o600),
		os.Link(outside, at("second name")), os.Symlink(outside, at("link")),
		unix.Mkfifo(at("pipe"), 0o600))
	given := map[string]bool{"": true, "jobs": true, "jobs/ab": false, "sub": true,
		"sub/deep": true, "sub/deep/file": true, "second name": false, "link": false, "pipe": false,
		"../outside": false}
	if unix.Mknod(at("device"), unix.S_IFCHR|0o600, 1<<8|3) == nil { // not in every container
		given["device"] = false
	}
	who := stranger()
	must(t, (Folder{Option: "cachedir", Path: cache}).prepare(who, false))
	for name, want := range given {
		if got := ownerOf(t, at(name)) == who.UID; got != want {
			t.Errorf("%q is given: %v, want %v", name, got, want)
		}
	}
}

// TestPathOfAFolder has links in the path of a directory.
func TestPathOfAFolder(t *testing.T) {
	need.Root(t, "to change owners")
	for _, tt := range []struct {
		name     string
		folder   int // whose the directory of the link is
		mode     os.FileMode
		link     int // whose the link is
		followed bool
		rest     string // of the path
		relative bool
	}{
		{name: "all root's", mode: 0o755, followed: true},
		{name: "relative", mode: 0o755, followed: true, relative: true},
		{name: "in the middle", mode: 0o755, followed: true, rest: "pki"},
		{name: "folder of the user", folder: 12345, mode: 0o755},
		{name: "folder of the user, in the middle", folder: 12345, mode: 0o755, rest: "pki"},
		{name: "link of the user", mode: 0o1777, link: 12345},
		{name: "link of root in a sticky folder", mode: 0o1777, followed: true},
		{name: "everybody may write", mode: 0o777},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			parent, target := filepath.Join(dir, "parent"), filepath.Join(dir, "target")
			link, to := filepath.Join(parent, "link"), target
			if tt.relative {
				to = "../target"
			}
			must(t, os.Mkdir(parent, 0o755), os.Mkdir(target, 0o755), os.Symlink(to, link),
				os.Lchown(link, tt.link, 0), os.Chown(parent, tt.folder, 0), syscall.Chmod(parent,
					uint32(tt.mode.Perm()|tt.mode&0o1000)))
			err := (Folder{Option: "pki_dir", Path: filepath.Join(link, tt.rest),
				Private: true}).prepare(stranger(), false)
			made := filepath.Join(target, tt.rest)
			if !tt.followed {
				if err == nil || !strings.HasPrefix(err.Error(), "pki_dir: "+link+": root does not follow") {
					t.Errorf("err = %v", err)
				}
				if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o755 ||
					ownerOf(t, target) != 0 {
					t.Errorf("the target has changed: %v %v", info.Mode(), err)
				}
				return
			}
			must(t, err)
			if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 ||
				ownerOf(t, made) != 12345 {
				t.Errorf("%s: %v %v, owner %d", made, info.Mode(), err, ownerOf(t, made))
			}
		})
	}
}

func TestOpenFileOfRoot(t *testing.T) {
	need.Root(t, "to change owners")
	for _, tt := range []struct {
		name  string
		owner int // of the directory
		make  func(outside, path string) error
		want  string // in the error; "" is none
	}{
		{"missing", 12345, func(string, string) error { return nil }, ""},
		{"link in a folder of the user", 12345, os.Symlink, "root does not follow a link"},
		{"link of root", 0, os.Symlink, ""},
		{"second name in a folder of the user", 12345, os.Link, "no file with a second name"},
		{"second name in a folder of root", 0, os.Link, ""},
		{"pipe in a folder of the user", 12345,
			func(_, path string) error { return unix.Mkfifo(path, 0o600) }, noReader},
		{"folder", 12345, func(_, path string) error { return os.Mkdir(path, 0o755) }, "is a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			outside, folder := filepath.Join(dir, "outside"), filepath.Join(dir, "folder")
			path := filepath.Join(folder, "file")
			must(t, os.WriteFile(outside, nil, 0o600), os.Mkdir(folder, 0o755),
				tt.make(outside, path), os.Chown(folder, tt.owner, 0))
			f, err := OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
			if err == nil {
				must(t, f.Close())
			}
			if (err == nil) != (tt.want == "") || err != nil &&
				!(strings.Contains(err.Error(), tt.want) && strings.Contains(err.Error(), path)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
	for _, path := range []string{os.DevNull, "/dev/stderr", "/proc/self/fd/2"} {
		f, err := OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		must(t, f.Close())
	}
}

// noReader is what the system says of a pipe that nobody reads.
const noReader = "no such device or address"

func TestGivenFiles(t *testing.T) {
	need.Root(t, "to change owners")
	dir := t.TempDir()
	made, outside, second := filepath.Join(dir, "log", "made"), filepath.Join(dir, "outside"),
		filepath.Join(dir, "second")
	pipe := filepath.Join(dir, "pipe")
	must(t, os.WriteFile(outside, nil, 0o600), os.Link(outside, second), unix.Mkfifo(pipe, 0o600))
	owners := map[string]int{made: 12345, second: 0, pipe: 0}
	// not in every container
	if device := filepath.Join(dir, "device"); unix.Mknod(device, unix.S_IFCHR|0o600, 1<<8|3) == nil {
		owners[device] = 0
	}
	for path, want := range owners {
		must(t, giveFile(path, stranger()))
		if got := ownerOf(t, path); got != want {
			t.Errorf("%s: owner %d, want %d", path, got, want)
		}
	}
}

func TestPIDFileStaysRoots(t *testing.T) {
	need.Root(t, "to change owners")
	dir := t.TempDir()
	path, outside := filepath.Join(dir, "pid"), filepath.Join(dir, "outside")
	must(t, os.WriteFile(path, []byte("1"), 0o644), os.Chown(path, 12345, 12345)) // as older versions left it
	p, err := TakePIDFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if owner := ownerOf(t, path); owner != 0 {
		t.Errorf("owner %d", owner)
	}
	p.Close()
	must(t, os.WriteFile(outside, []byte("text"), 0o600), os.Link(outside, path), os.Chown(dir, 12345, 12345))
	if _, err := TakePIDFile(path); err == nil {
		t.Error("a pid file with a second name is taken")
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
}
