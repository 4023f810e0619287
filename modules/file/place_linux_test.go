package file

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/internal/test/need"
)

// TestPlantedHardLinksAreNotWrittenThrough replaces text in a file with two names. In a directory
// that only its owner may write to, both names show the new text. In a directory where another user
// may have planted the second name, the first keeps its own text.
func TestPlantedHardLinksAreNotWrittenThrough(t *testing.T) {
	r := withCmd(t)
	for _, tt := range []struct {
		name   string
		mode   os.FileMode
		inode  bool
		shared bool
	}{
		{"a directory of its owner", 0o755, true, true},
		{"a directory of its owner, without preserve_inode", 0o755, false, false},
		{"a directory that all may write to", 0o777, true, false},
		{"a directory like /tmp", 0o777 | os.ModeSticky, true, false},
		{"a directory of a group", 0o775, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			first, second := filepath.Join(dir, "first"), filepath.Join(dir, "d", "second")
			for _, err := range []error{os.WriteFile(first, []byte("old\n"), 0o644),
				os.Mkdir(filepath.Dir(second), 0o755), os.Chmod(filepath.Dir(second), tt.mode),
				os.Link(first, second)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				invoke(t, r, "replace", []any{second, "old", "new"}, "preserve_inode", tt.inode,
					"backup", false)
			}
			want := "old\n"
			if tt.shared {
				want = "new\n"
			}
			if got := lines(t, first); got != want || lines(t, second) != "new\n" {
				t.Errorf("first has %q, want %q; second has %q", got, want, lines(t, second))
			}
		})
	}
}

// TestMountedFile changes a file that is a mount point, such as /etc/hosts in a container: nothing
// can be renamed over it.
func TestMountedFile(t *testing.T) {
	need.Root(t, "to mount a file over another")
	dir := t.TempDir()
	outer, inner := filepath.Join(dir, "outer"), filepath.Join(dir, "inner")
	for _, file := range []string{outer, inner} {
		if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := withCmd(t)
	done := make(chan error)
	go func() { // a thread with mounts of its own, which ends with it
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount(outer, inner, "", unix.MS_BIND, "")
		}
		if err == nil {
			_, err = r.Invoke(t.Context(), "file.replace", []any{inner, "old", "new", int64(0)}, nil)
		}
		if err == nil {
			_, err = r.Invoke(t.Context(), "file.append", []any{inner, "more"}, nil)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := lines(t, outer); got != "new\nmore\n" {
		t.Errorf("the mounted file has %q", got)
	}
	if got := lines(t, inner); got != "old\n" {
		t.Errorf("the file below it has %q", got)
	}
}
