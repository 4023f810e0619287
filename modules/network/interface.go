package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A link is a network interface. Links are in the system's order.
type link struct {
	name, parent, hwaddr string
	up                   bool
	addrs                []address
}

// An address is one address of an interface.
type address struct {
	ip           netip.Addr
	bits         int // prefix length of its network
	broadcast    netip.Addr
	label, scope string
	secondary    bool
}

// info returns the interface in Salt's form (salt/utils/network.py, _interfaces_ip).
func (l link) info() *data.Map {
	info := data.NewMap("up", l.up)
	if l.parent != "" {
		info.Set("parent", l.parent)
	}
	if l.hwaddr != "" {
		info.Set("hwaddr", l.hwaddr)
	}
	for _, a := range l.addrs {
		key, entry := a.info()
		list, _ := info.Value(key).([]any)
		info.Set(key, append(list, entry))
	}
	return info
}

// info returns an address in Salt's form, and the key of the list that it belongs in.
func (a address) info() (key string, entry *data.Map) {
	if !a.ip.Is4() {
		return "inet6", data.NewMap("address", a.ip.String(), "prefixlen", strconv.Itoa(a.bits),
			"scope", orNone(a.scope))
	}
	key, entry = "inet", data.NewMap()
	if a.secondary {
		key = "secondary"
		entry.Set("type", "inet")
	}
	entry.Set("address", a.ip.String())
	entry.Set("netmask", netmask(a.bits))
	entry.Set("broadcast", nil)
	if a.broadcast.IsValid() {
		entry.Set("broadcast", a.broadcast.String())
	}
	entry.Set("label", a.label)
	return key, entry
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// netmask returns the netmask of a prefix length as an address, "" for length 0.
func netmask(bits int) string {
	if bits < 1 || bits > 32 {
		return ""
	}
	mask := ^uint32(0) << (32 - bits)
	return fmt.Sprintf("%d.%d.%d.%d", mask>>24, mask>>16&255, mask>>8&255, mask&255)
}

// known returns the details of all interfaces.
func (m *module) known() (*data.Map, error) {
	links, err := m.links()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	all := data.NewMap()
	for _, l := range links {
		all.Set(l.name, l.info())
	}
	return all, nil
}

// interfaces returns the interfaces of the host with their addresses.
//
// CLI Example:
//
//	salt '*' network.interfaces
func (m *module) interfaces(context.Context, loader.NoArgs) (any, error) { return m.known() }

type ifaceArgs struct{ Iface string }

// of returns the details of an interface. If it does not exist, absent is the error text.
func (m *module) of(name string) (info *data.Map, absent string, err error) {
	all, err := m.known()
	if err != nil {
		return nil, "", err
	}
	info, ok := all.Value(name).(*data.Map)
	if ok {
		return info, "", nil
	}
	var names []string
	for _, k := range all.Keys() {
		names = append(names, data.Str(k))
	}
	return nil, fmt.Sprintf(`Interface "%s" not in available interfaces: "%s"`, name,
		strings.Join(names, `", "`)), nil
}

// hwAddr returns the hardware address of an interface, which is its MAC address.
//
// CLI Example:
//
//	salt '*' network.hw_addr eth0
func (m *module) hwAddr(_ context.Context, a ifaceArgs) (any, error) {
	info, absent, err := m.of(a.Iface)
	if err != nil || absent != "" {
		return absent, err
	}
	return info.Text("hwaddr"), nil
}

// interfaceOf returns the IPv4 addresses of an interface with their netmasks and broadcast
// addresses.
//
// CLI Example:
//
//	salt '*' network.interface eth0
func (m *module) interfaceOf(_ context.Context, a ifaceArgs) (any, error) {
	info, absent, err := m.of(a.Iface)
	if err != nil || absent != "" {
		return absent, err
	}
	if list, ok := info.Get("inet"); ok {
		return list, nil
	}
	return "", nil
}

// interfaceIp returns the first IPv4 address of an interface.
//
// CLI Example:
//
//	salt '*' network.interface_ip eth0
func (m *module) interfaceIp(_ context.Context, a ifaceArgs) (any, error) {
	info, absent, err := m.of(a.Iface)
	if err != nil || absent != "" {
		return absent, err
	}
	list, _ := info.Value("inet").([]any)
	if len(list) == 0 {
		return "", nil
	}
	return list[0].(*data.Map).Text("address"), nil
}

type cidrArgs struct{ Cidr any }

// ifacestartswith returns the labels of the interfaces with an IPv4 address that begins with the
// given text.
//
// CLI Example:
//
//	salt '*' network.ifacestartswith 10.0
func (m *module) ifacestartswith(_ context.Context, a cidrArgs) (any, error) {
	links, err := m.links()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	names := []any{}
	for _, l := range links {
		for _, addr := range l.addrs {
			if addr.ip.Is4() && !addr.secondary &&
				strings.HasPrefix(addr.ip.String(), data.Str(a.Cidr)) {
				names = append(names, addr.label)
			}
		}
	}
	return names, nil
}

// chosen returns, in order, the IPv4 or IPv6 addresses of the interfaces whose names match one of
// the globs, or of all.
func (m *module) chosen(interfaces any, v4 bool) ([]address, error) {
	links, err := m.links()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	var globs []string
	switch v := interfaces.(type) {
	case nil:
		globs = []string{"*"}
	case []any:
		for _, g := range v {
			globs = append(globs, data.Str(g))
		}
	default:
		globs = loader.SplitInput(data.Str(v))
	}
	var found []address
	for _, l := range links {
		if !slices.ContainsFunc(globs, func(g string) bool { return loader.Glob(g, l.name) }) {
			continue
		}
		for _, a := range l.addrs {
			if a.ip.Is4() == v4 {
				found = append(found, a)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b address) int { return a.ip.Compare(b.ip) })
	return found, nil
}
