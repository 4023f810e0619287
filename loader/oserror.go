package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
)

// OSError converts an error about a file to Python's exception. Other errors, and nil, are returned
// unchanged.
func OSError(err error) error {
	number, ok := errors.AsType[syscall.Errno](err)
	p, isPath := errors.AsType[*fs.PathError](err)
	if !ok || !isPath {
		return err
	}
	class := "OSError"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		class = "FileNotFoundError"
	case errors.Is(err, fs.ErrPermission):
		class = "PermissionError"
	case number == syscall.EEXIST:
		class = "FileExistsError"
	case number == syscall.EISDIR:
		class = "IsADirectoryError"
	case number == syscall.ENOTDIR:
		class = "NotADirectoryError"
	}
	return Exception(class, "%s", OSErrorText(number, p.Path))
}

// OSErrorText returns the text of Python's OSError about a path.
func OSErrorText(number syscall.Errno, path string) string {
	text := number.Error()
	r, n := utf8.DecodeRuneInString(text)
	return fmt.Sprintf("[Errno %d] %s: %s", int(number), string(unicode.ToUpper(r))+text[n:],
		data.Repr(path))
}
