package beacons

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// errIrregular is wrapped by OpenFile.
var errIrregular = errors.New("it is no regular file")

// OpenFile opens a regular file to read, and returns what it is. Anything else is an error, such as a
// named pipe, which could keep a beacon waiting without end.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: %w", path, errIrregular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
