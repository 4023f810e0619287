package manage

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// peersOf returns the addresses with a TCP connection to a port of this host, as listed by Linux;
// root is the root directory of the system. A connection from the host itself counts for all of its
// addresses (salt/utils/network.py, local_port_tcp).
func peersOf(root string, port int) (map[netip.Addr]bool, error) {
	peers := map[netip.Addr]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(root, "/proc/net", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at connections to port %d: %w", port, err)
		}
		err = errors.Join(addPeers(f, port, peers), f.Close())
		if err != nil {
			return nil, fmt.Errorf("look at connections to port %d: %w", port, err)
		}
	}
	for ip := range peers {
		if ip.IsLoopback() {
			return peers, addOwn(peers)
		}
	}
	return peers, nil
}

// established is the code of that state in /proc/net/tcp.
const established = "01"

// addPeers parses a table of connections.
func addPeers(r io.Reader, port int, peers map[netip.Addr]bool) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != established {
			continue
		}
		local, ok1 := parsePeer(fields[1])
		remote, ok2 := parsePeer(fields[2])
		if ok1 && ok2 && int(local.Port()) == port {
			peers[remote.Addr()] = true
		}
	}
	return lines.Err()
}

// parsePeer parses an address of /proc/net/tcp: 4-byte words in the host's byte order, a colon and
// the port, all in hex.
func parsePeer(s string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), ok
}

// addOwn adds the addresses of this host.
func addOwn(peers map[netip.Addr]bool) error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			peers[p.Addr().Unmap()] = true
		}
	}
	return nil
}
