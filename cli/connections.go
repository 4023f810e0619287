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

// connections knows which minions are connected to the publish port of the master on this host, by the connections
// that the system lists and the addresses among the grains that minions last told (salt/utils/minions.py,
// connected_ids). It looks when it is first asked. Only Linux lists them. A master of ours writes down who is connected,
// which is exact and believed in place of that.
type connections struct {
	opts *data.Map

	looked bool
	told   *minionCache
	ids    map[string]bool

	asked bool
	exact []string // of a master of ours, sorted
	known bool     // there is such a list
}

// lost reports whether minion id is known not to be connected: with a master of ours because that says so, with another
// because something is known of the minion, others are connected, and it is not.
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
		c.look()
	}
	_, _, known := c.told.Minion(id)
	return known && len(c.ids) > 0 && !c.ids[id]
}

func (c *connections) close() {
	if c.told != nil {
		c.told.close()
	}
}

func (c *connections) look() {
	c.looked, c.ids = true, map[string]bool{}
	c.told = openMinionCache(c.opts.Text("cachedir"))
	peers := peersOf(int(floatOf(c.opts.Value("publish_port"))))
	for _, id := range c.told.IDs() {
		grains, _, _ := c.told.Minion(id)
		for _, name := range []string{"ipv4", "ipv6"} {
			addresses, _ := grains.Value(name).([]any)
			if slices.ContainsFunc(addresses, func(a any) bool { return peers[data.Str(a)] }) {
				c.ids[id] = true
			}
		}
	}
}

// peersOf returns the addresses that are connected to a local port. For a loopback address stand those of this host.
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

// established is the state in the system's table.
const established = "01"

// peerOf reads a line of the system's table of connections: the far end of one that is established on a local port.
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
	for word := range slices.Chunk(raw, 4) { // each word is in the order of the processor
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return addr.Unmap(), ok
}
