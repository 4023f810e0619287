package loader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/atomicfile"
)

func TestOSErrorIsPythons(t *testing.T) {
	for number, want := range map[syscall.Errno]string{
		syscall.ENOENT: "FileNotFoundError", syscall.EACCES: "PermissionError",
		syscall.EISDIR: "IsADirectoryError", syscall.ENOTDIR: "NotADirectoryError", syscall.ENOSPC: "OSError",
	} {
		err := OSError(&fs.PathError{Op: "open", Path: "/a'b", Err: number})
		known, ok := errors.AsType[*Error](err)
		if !ok || known.Class != want || known.Text != OSErrorText(number, "/a'b") {
			t.Errorf("%v: got %#v, want %s", number, err, want)
		}
	}
	if got := OSErrorText(syscall.Errno(2),
		"/a'b"); got != `[Errno 2] No such file or directory: "/a'b"` && syscall.ENOENT == 2 {
		t.Errorf("the text is %s", got)
	}
	other := errors.New("other")
	if OSError(nil) != nil || !errors.Is(OSError(other), other) {
		t.Error("what is no error of a file has changed")
	}
}

// A write to a path that is a directory fails with Python's text.
func TestOSErrorOfReplacedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "motd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := OSError(atomicfile.Write(dir, nil, atomicfile.Options{}))
	if want := OSErrorText(syscall.EISDIR, dir); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
