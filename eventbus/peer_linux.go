package eventbus

import (
	"net"
	"syscall"
)

// peerOf returns the user who connected.
func peerOf(conn net.Conn) (uid int, ok bool) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return 0, false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *syscall.Ucred
	if e := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil || err != nil {
		return 0, false
	}
	return int(cred.Uid), true
}
