package eventbus

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// peerOf returns the user id of the process at the other end.
func peerOf(conn net.Conn) (uid int, ok bool) {
	cred, ok := credentials(conn)
	if !ok {
		return 0, false
	}
	return int(cred.Uid), true
}

// maxHolderWords is the number of command line words shown in errors: enough for an interpreter,
// its script and its role. Later words may contain a password.
const maxHolderWords = 3

// holderOf returns the process that started listening on the socket to which conn is connected.
// gone is true if that process has ended; the socket may then still be open in a process that it
// forked, such as a job of Salt's minion. A process in another container never counts as gone.
func holderOf(conn net.Conn) holder {
	cred, ok := credentials(conn)
	if !ok || cred.Pid <= 0 {
		return holder{}
	}
	if errors.Is(syscall.Kill(int(cred.Pid), 0), syscall.ESRCH) {
		return holder{gone: true}
	}
	pid := strconv.Itoa(int(cred.Pid))
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil || len(line) == 0 {
		return holder{text: ": process " + pid}
	}
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if len(words) > maxHolderWords {
		words = append(words[:maxHolderWords], "...")
	}
	return holder{text: ": process " + pid + ", " + strconv.Quote(strings.Join(words, " "))}
}

func credentials(conn net.Conn) (cred *syscall.Ucred, ok bool) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, false
	}
	if e := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil || err != nil {
		return nil, false
	}
	return cred, true
}
