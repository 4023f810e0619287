//go:build unix

package transport

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

// immediate writes without blocking. Connections share a few of them, since most are not writing.
type immediate struct {
	try func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

// rawOf returns access for non-blocking writes on conn, or nil if that is not possible.
func rawOf(conn net.Conn) syscall.RawConn {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// writers is a pool of immediates for outboxes.
type writers struct {
	mu   sync.Mutex
	free []*immediate
}

func (w *writers) get() *immediate {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free) - 1; n >= 0 {
		i := w.free[n]
		w.free = w.free[:n]
		return i
	}
	i := &immediate{}
	i.try = i.once
	return i
}

func (w *writers) put(i *immediate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = append(w.free, i)
}

// write writes as much of b as possible without blocking.
func (w *writers) write(raw syscall.RawConn, b []byte) (int, error) {
	i := w.get()
	defer w.put(i)
	i.b, i.n, i.err = b, 0, nil
	err := raw.Write(i.try)
	i.b = nil
	if err != nil {
		return 0, err
	}
	return i.n, i.err
}

// once writes until the kernel accepts no more. It returns true, so that the runtime does not wait
// for readiness.
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
