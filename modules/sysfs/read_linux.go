package sysfs

import (
	"errors"
	"io"
	"syscall"
)

// most is the number of bytes that are read of one attribute.
const most = 1 << 20

// readNow reads a file without waiting for more: some attributes are streams.
func readNow(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	all, chunk := []byte{}, make([]byte, 4096)
	for len(all) < most {
		n, err := syscall.Read(fd, chunk)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, err
		case n <= 0:
			return all, nil
		}
		all = append(all, chunk[:n]...)
	}
	return nil, io.ErrShortBuffer
}
