package loader

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestOSErrorIsPythons(t *testing.T) {
	for number, want := range map[syscall.Errno]string{
		syscall.ENOENT: "FileNotFoundError", syscall.EACCES: "PermissionError", syscall.EISDIR: "IsADirectoryError",
		syscall.ENOTDIR: "NotADirectoryError", syscall.ENOSPC: "OSError",
	} {
		err := OSError(&fs.PathError{Op: "open", Path: "/a'b", Err: number})
		known, ok := errors.AsType[*Error](err)
		if !ok || known.Class != want || known.Text != OSErrorText(number, "/a'b") {
			t.Errorf("%v: got %#v, want %s", number, err, want)
		}
	}
	if got := OSErrorText(syscall.Errno(2), "/a'b"); got != `[Errno 2] No such file or directory: "/a'b"` && syscall.ENOENT == 2 {
		t.Errorf("the text is %s", got)
	}
	other := errors.New("other")
	if OSError(nil) != nil || !errors.Is(OSError(other), other) {
		t.Error("what is no error of a file has changed")
	}
}
