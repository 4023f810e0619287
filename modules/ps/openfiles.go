//go:build linux

package ps

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ioClass returns the I/O class and priority of the process, nil if they cannot be read.
func (p *process) ioClass() any {
	const whoProcess, classShift = 1, 13 // from linux/ioprio.h
	if p.m.env.Root != "" {
		return nil
	}
	n, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, whoProcess, uintptr(p.pid), 0)
	if errno != 0 {
		return nil
	}
	return []any{int64(n >> classShift), int64(n & (1<<classShift - 1))}
}

// descriptors returns the numbers and the link targets of the open files. It returns an error if
// they cannot be read.
func (p *process) descriptors() (numbers []int64, targets map[int64]string, err error) {
	entries, err := os.ReadDir(p.dir("fd"))
	if err != nil {
		return nil, nil, err
	}
	targets = map[int64]string{}
	for _, e := range entries {
		n, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			continue
		}
		to, err := os.Readlink(p.dir("fd", e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.EINVAL):
			continue // closed meanwhile, or not a link
		case err != nil:
			return nil, nil, err
		}
		numbers = append(numbers, n)
		targets[n] = to
	}
	slices.Sort(numbers)
	return numbers, targets, nil
}

// openFiles returns path, number, position, mode and flags of the open regular files. It returns
// nil if they cannot be read.
func (p *process) openFiles() any {
	numbers, targets, err := p.descriptors()
	if err != nil {
		return nil
	}
	list := []any{}
	for _, n := range numbers {
		s, err := os.Stat(p.m.path(targets[n]))
		if !strings.HasPrefix(targets[n], "/") || err != nil || !s.Mode().IsRegular() {
			continue
		}
		if position, flags, ok := openedAt(p.file("fdinfo/" + strconv.FormatInt(n, 10))); ok {
			list = append(list, []any{targets[n], n, position, openMode(flags), flags})
		}
	}
	return list
}

// openedAt parses the first lines of /proc/PID/fdinfo/N.
func openedAt(text string) (position, flags int64, ok bool) {
	words := strings.Fields(text)
	if len(words) < 4 || words[0] != "pos:" || words[2] != "flags:" {
		return 0, 0, false
	}
	position, err1 := strconv.ParseInt(words[1], 10, 64)
	flags, err2 := strconv.ParseInt(words[3], 8, 64)
	return position, flags, err1 == nil && err2 == nil
}

// openMode converts flags to the mode of Python's open.
func openMode(flags int64) string {
	appends := flags&unix.O_APPEND != 0
	switch {
	case flags&unix.O_ACCMODE == unix.O_RDONLY:
		return "r"
	case flags&unix.O_ACCMODE == unix.O_WRONLY && appends:
		return "a"
	case flags&unix.O_ACCMODE == unix.O_WRONLY:
		return "w"
	case appends:
		return "a+"
	}
	return "r+"
}

// connections returns number, family, type, both addresses and state of the internet sockets. It
// returns nil if they cannot be read.
func (p *process) connections() any {
	numbers, targets, err := p.descriptors()
	if err != nil {
		return nil
	}
	fds := map[string]int64{} // inode → number
	for _, n := range numbers {
		if inode, ok := strings.CutPrefix(targets[n], "socket:["); ok {
			fds[strings.TrimSuffix(inode, "]")] = n
		}
	}
	list := []any{}
	for _, table := range []struct {
		name         string
		family, kind int64
	}{{"tcp", unix.AF_INET, unix.SOCK_STREAM}, {"tcp6", unix.AF_INET6, unix.SOCK_STREAM},
		{"udp", unix.AF_INET, unix.SOCK_DGRAM}, {"udp6", unix.AF_INET6, unix.SOCK_DGRAM}} {
		for line := range strings.Lines(p.file("net/" + table.name)) {
			w := strings.Fields(line)
			if len(w) < 10 {
				continue
			}
			n, mine := fds[w[9]]
			near, err := endpoint(w[1])
			far, err2 := endpoint(w[2])
			if mine && err == nil && err2 == nil {
				list = append(list, []any{n, table.family, table.kind, near, far,
					socketState(table.kind, w[3])})
			}
		}
	}
	return list
}

// socketState returns the state of a socket by psutil's name. UDP sockets have none.
func socketState(kind int64, text string) string {
	names := []string{"ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
		"CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING"}
	n, err := strconv.ParseUint(text, 16, 8)
	if err != nil || kind != unix.SOCK_STREAM || n < 1 || int(n) > len(names) {
		return "NONE"
	}
	return names[n-1]
}

// endpoint parses an address and a port in the kernel's form: 32-bit words in its own byte order.
// Port 0 means no address.
func endpoint(text string) ([]any, error) {
	host, rest, _ := strings.Cut(text, ":")
	port, err := strconv.ParseInt(rest, 16, 32)
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return nil, err
	}
	if len(raw)%4 != 0 {
		return nil, fmt.Errorf("address %q has %d bytes", text, len(raw))
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return nil, fmt.Errorf("address %q has %d bytes", text, len(raw))
	}
	if port == 0 {
		return []any{}, nil
	}
	return []any{ip.String(), port}, nil
}
