package eventbus

import (
	"net"
	"os"
	"syscall"
)

// prepare sets poll, a non-blocking accept on the listener's descriptor, and wait.
func (l *listener) prepare() {
	u, ok := l.Listener.(*unixListener)
	if !ok {
		return
	}
	// a duplicate of the descriptor, since that of net.Listener cannot be waited on
	file, err := u.File()
	if err != nil {
		return
	}
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return
	}
	l.file = file
	fd := -1
	accept := func(listening uintptr) {
		n, _, err := syscall.Accept4(int(listening), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if fd = n; err != nil {
			fd = -1
		}
	}
	l.poll = func() net.Conn {
		if err := raw.Control(accept); err != nil || fd < 0 {
			return nil
		}
		return connOf(fd)
	}
	l.wait = func(admit func()) error {
		return raw.Read(func(uintptr) bool {
			admit()
			return false
		})
	}
}

// connOf returns a net.Conn for a descriptor and takes ownership of it, or nil on error.
func connOf(fd int) net.Conn {
	f := os.NewFile(uintptr(fd), "event reader")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil
	}
	return conn
}
