package cli

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/presence"
)

// connections reports which minions are connected to the publish port of the master on this host.
// It compares the connections that the system lists with the addresses in the minions' last known
// grains (salt/utils/minions.py, connected_ids), and looks them up on first use. Only Linux lists
// connections. A Brine master records its connected minions; that list is exact and takes
// precedence.
type connections struct {
	opts *data.Map

	looked  bool
	minions *minionCache
	ids     map[string]bool

	asked bool
	exact []string // sorted; from a Brine master
	known bool     // exact was read
}

// lost reports whether minion id is known to be disconnected. With a Brine master the recorded list
// decides. With another master the minion's grains must be known, and other minions must be
// connected.
func (c *connections) lost(id string, ours bool) bool {
	if ours && !c.asked {
		c.asked = true
		var err error
		c.exact, err = presence.Read(c.opts.Text("cachedir"))
		c.known = err == nil
	}
	if ours && c.known {
		_, here := slices.BinarySearch(c.exact, id)
		return !here
	}
	if !data.Truth(c.opts.Value("minion_data_cache")) {
		return false
	}
	if !c.looked {
		c.lookUp()
	}
	_, _, known := c.minions.Minion(id)
	return known && len(c.ids) > 0 && !c.ids[id]
}

func (c *connections) close() {
	if c.minions != nil {
		c.minions.close()
	}
}

func (c *connections) lookUp() {
	c.looked, c.ids = true, map[string]bool{}
	c.minions = openMinionCache(c.opts)
	peers := peersOf(int(floatOf(c.opts.Value("publish_port"))))
	for _, id := range c.minions.IDs() {
		grains, _, _ := c.minions.Minion(id)
		for _, name := range []string{"ipv4", "ipv6"} {
			addresses, _ := grains.Value(name).([]any)
			if slices.ContainsFunc(addresses, func(a any) bool { return peers[data.Str(a)] }) {
				c.ids[id] = true
			}
		}
	}
}

// peersOf returns the addresses connected to a local port. A loopback address is replaced by those
// of this host.
func peersOf(port int) map[string]bool {
	peers := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			if addr, ok := peerOf(line, port); ok {
				peers[addr.String()] = true
			}
		}
	}
	for _, loopback := range []string{"127.0.0.1", "::1"} {
		if peers[loopback] {
			delete(peers, loopback)
			addOwn(peers)
		}
	}
	return peers
}

func addOwn(peers map[string]bool) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
			peers[n.IP.String()] = true
		}
	}
}

// established is the code of that state in the system's table.
const established = "01"

// peerOf parses a line of the system's table of connections. It returns the remote address of an
// established connection on a local port.
func peerOf(line string, port int) (netip.Addr, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || f[3] != established {
		return netip.Addr{}, false
	}
	_, local, _ := strings.Cut(f[1], ":")
	if n, err := strconv.ParseUint(local, 16, 16); err != nil || int(n) != port {
		return netip.Addr{}, false
	}
	far, _, _ := strings.Cut(f[2], ":")
	raw, err := hex.DecodeString(far)
	if err != nil || len(raw)%4 != 0 {
		return netip.Addr{}, false
	}
	for word := range slices.Chunk(raw, 4) { // each word has the processor's byte order
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return addr.Unmap(), ok
}
