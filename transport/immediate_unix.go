//go:build unix

package transport

import (
	"errors"
	"net"
	"syscall"
)

// immediate writes what the kernel takes without waiting. It is used under the lock of its outbox.
type immediate struct {
	raw syscall.RawConn
	try func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func newImmediate(conn net.Conn) *immediate {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	i := &immediate{raw: raw}
	i.try = i.once
	return i
}

func (i *immediate) write(b []byte) (int, error) {
	i.b, i.n, i.err = b, 0, nil
	err := i.raw.Write(i.try)
	i.b = nil
	if err != nil {
		return 0, err
	}
	return i.n, i.err
}

// once writes until the kernel takes no more; it returns true, because there is nothing to wait for.
func (i *immediate) once(fd uintptr) bool {
	for i.n < len(i.b) {
		n, err := syscall.Write(int(fd), i.b[i.n:])
		switch {
		case err == nil:
			i.n += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		default:
			i.err = err
			return true
		}
	}
	return true
}
