package network

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// netstat returns the sockets of the host with their states, users and programs. They come from
// netstat, or from ss if netstat is missing.
//
// CLI Example:
//
//	salt '*' network.netstat
func (m *module) netstat(ctx context.Context, _ loader.NoArgs) (any, error) {
	if err := m.onLinux(); err != nil {
		return nil, err
	}
	command, read := "netstat -tulpnea", netstatLine
	if m.find("netstat") == "" {
		command, read = "ss -tulpnea", ssLine
	}
	lines, err := m.lines(ctx, command, calls.CmdDecides)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, w := range lines {
		if entry := read(w); entry != nil {
			list = append(list, entry)
		}
	}
	return list, nil
}

// netstatLine parses a line of netstat. It returns nil if the line describes no socket. UDP sockets
// have no state.
func netstatLine(w []string) *data.Map {
	tcp, udp := strings.HasPrefix(w[0], "tcp"), strings.HasPrefix(w[0], "udp")
	if tcp && len(w) < 9 || udp && len(w) < 8 || !tcp && !udp {
		return nil
	}
	entry := data.NewMap("proto", w[0], "recv-q", w[1], "send-q", w[2], "local-address", w[3],
		"remote-address", w[4])
	rest := w[5:]
	if tcp {
		entry.Set("state", w[5])
		rest = w[6:]
	}
	entry.Set("user", rest[0])
	entry.Set("inode", rest[1])
	entry.Set("program", rest[2])
	return entry
}

// ssLine parses a line of ss. As in Salt, it ignores the last word.
func ssLine(w []string) *data.Map {
	tcp := strings.HasPrefix(w[0], "tcp")
	if len(w) < 6 || !tcp && !strings.HasPrefix(w[0], "udp") {
		return nil
	}
	entry := data.NewMap("proto", w[0], "recv-q", w[2], "send-q", w[3], "local-address", w[4],
		"remote-address", w[5])
	if tcp {
		state := w[1]
		if state == "ESTAB" {
			state = "ESTABLISHED"
		}
		entry.Set("state", state)
	}
	entry.Set("user", int64(0))
	entry.Set("inode", int64(0))
	entry.Set("program", "")
	for _, word := range w[6:max(6, len(w)-1)] {
		ssField(entry, word)
	}
	return entry
}

// ssField copies the values of a word such as users:(("sshd",pid=7,fd=3)) to an entry.
func ssField(entry *data.Map, word string) {
	name, value, _ := strings.Cut(word, ":")
	switch name {
	case "users":
		if parts := strings.Split(value, `"`); len(parts) > 1 {
			entry.Set("program", parts[1])
		}
	case "uid":
		entry.Set("user", value)
	case "ino":
		entry.Set("inode", value)
	}
}

// activeTcp returns the established TCP connections by their number in the list.
//
// CLI Example:
//
//	salt '*' network.active_tcp
func (m *module) activeTcp(context.Context, loader.NoArgs) (any, error) {
	all := data.NewMap()
	for _, name := range []string{"tcp", "tcp6"} {
		src, err := os.ReadFile(filepath.Join(m.env.Root, "/proc/net", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, loader.Execution("list connections: %w", err)
		}
		for line := range strings.Lines(string(src)) {
			if entry := connection(strings.Fields(line)); entry != nil {
				all.Set(int64(all.Len()), entry)
			}
		}
	}
	return all, nil
}

// connection parses a line of /proc/net/tcp or tcp6 (proc_pid_net(5)). It returns nil if the
// connection is not established.
func connection(w []string) *data.Map {
	const established = "01"
	if len(w) < 4 || w[3] != established {
		return nil
	}
	near, nearPort, err1 := endpoint(w[1])
	far, farPort, err2 := endpoint(w[2])
	if err1 != nil || err2 != nil {
		return nil
	}
	return data.NewMap("local_addr", near, "local_port", nearPort, "remote_addr", far,
		"remote_port", farPort)
}

// endpoint parses an address and a port in hexadecimal. The address consists of 32-bit words in the
// byte order of the machine.
func endpoint(text string) (addr string, port int64, err error) {
	host, rest, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		return "", 0, fmt.Errorf("address %q: %w", text, err)
	}
	if len(raw)%4 != 0 {
		return "", 0, fmt.Errorf("address %q has %d bytes", text, len(raw))
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return "", 0, fmt.Errorf("address %q has %d bytes", text, len(raw))
	}
	port, err = strconv.ParseInt(rest, 16, 32)
	return ip.Unmap().String(), port, err
}

// arp returns the addresses of the neighbours by hardware address.
//
// CLI Example:
//
//	salt '*' network.arp
func (m *module) arp(ctx context.Context, _ loader.NoArgs) (any, error) {
	if err := m.needs("arp"); err != nil {
		return nil, err
	}
	lines, err := m.lines(ctx, "arp -an", calls.CmdDecides)
	if err != nil {
		return nil, err
	}
	found := data.NewMap()
	for _, w := range lines {
		if len(w) >= 4 {
			found.Set(w[3], strings.Trim(w[1], "()"))
		}
	}
	return found, nil
}
