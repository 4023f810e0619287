package rhip

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
)

// The entries of ifcfg files, in Salt's order. Those of VLANs follow the first part, addresses the
// second, those of IPv6 the third.
var (
	device = netconf.Quoted(`"`, "NAME", "nickname", "HWADDR", "hwaddr", "MACADDR", "macaddr", "UUID", "uuid",
		"USERCTL", "userctl", "MASTER", "master", "SLAVE", "slave", "VLAN", "vlan")
	vlan = netconf.Quoted(`"`, "REORDER_HDR", "reorder_hdr", "VID", "vlan_id", "PHYSDEV", "phys_dev")
	kind = join(
		netconf.Quoted(`"`, "TYPE", "devtype", "DEVICETYPE", "devicetype"),
		netconf.Quoted(`'`, "TEAM_CONFIG", "team_config", "TEAM_PORT_CONFIG", "team_port_config"),
		netconf.Quoted(`"`, "TEAM_MASTER", "team_master", "BOOTPROTO", "proto", "ONBOOT", "onboot"),
		netconf.Quoted("", "ONPARENT", "onparent"),
		netconf.Quoted(`"`, "IPV4_FAILURE_FATAL", "ipv4_failure_fatal", "IPADDR", "ipaddr",
			"IPADDR_START", "ipaddr_start", "IPADDR_END", "ipaddr_end", "CLONENUM_START", "clonenum_start",
			"NETMASK", "netmask", "PREFIX", "prefix"))
	gateway = netconf.Quoted(`"`, "GATEWAY", "gateway", "ARPCHECK", "arpcheck")
	ipv6    = netconf.Quoted(`"`, "IPV6_AUTOCONF", "ipv6_autoconf", "DHCPV6C", "dhcpv6c", "IPV6ADDR", "ipv6addr",
		"IPV6_DEFAULTGW", "ipv6gateway")
	ipv6More = netconf.Quoted(`"`, "IPV6_PEERDNS", "ipv6_peerdns", "IPV6_DEFROUTE", "ipv6_defroute",
		"IPV6_PEERROUTES", "ipv6_peerroutes")
	routing = netconf.Quoted(`"`, "SRCADDR", "srcaddr", "PEERDNS", "peerdns", "PEERROUTES", "peerroutes",
		"DEFROUTE", "defroute", "BRIDGE", "bridge", "STP", "stp")
	last = join(
		netconf.Quoted(`"`, "MTU", "mtu", "ZONE", "zone"),
		netconf.Quoted("", "MY_INNER_IPADDR", "my_inner_ipaddr", "MY_OUTER_IPADDR", "my_outer_ipaddr"),
		netconf.Quoted(`"`, "BONDING_OPTS", "bonding", "ETHTOOL_OPTS", "ethtool"))
)

func join(parts ...[]netconf.Line) []netconf.Line {
	var all []netconf.Line
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// interfaceText returns the file of an interface.
func interfaceText(v *data.Map) (string, error) {
	f := &netconf.File{}
	f.Put("DEVICE", `"`, v.Text("name"))
	f.Add(v, device)
	if data.Truth(v.Value("vlan")) {
		f.Add(v, vlan)
	}
	f.Add(v, kind)
	rows, _ := v.Value("ipaddrs").([]any)
	for i, row := range rows {
		number := strconv.Itoa(i + 1)
		f.Put("IPADDR"+number, `"`, row.(*data.Map).Text("ipaddr"))
		f.Put("PREFIX"+number, `"`, row.(*data.Map).Text("prefix"))
	}
	f.Add(v, gateway)
	if data.Truth(v.Value("enable_ipv6")) {
		f.Put("IPV6INIT", `"`, "yes")
		f.Add(v, ipv6)
		if list := netconf.Words(v.Value("ipv6addrs")); len(list) > 0 {
			f.Put("IPV6ADDR_SECONDARIES", `"`, strings.Join(list, " "))
		}
		f.Add(v, ipv6More)
	}
	f.Add(v, routing)
	if delay := v.Value("delay"); data.Truth(delay) || data.Equal(delay, int64(0)) {
		f.Put("DELAY", `"`, data.Str(delay))
	}
	f.Add(v, last)
	if list := netconf.Words(v.Value("domain")); len(list) > 0 {
		f.Put("DOMAIN", `"`, strings.Join(list, " "))
	}
	f.Add(v, netconf.Quoted(`"`, "NM_CONTROLLED", "nm_controlled"))
	for i, server := range netconf.Words(v.Value("dns")) {
		f.Put("DNS"+strconv.Itoa(i+1), `"`, server)
	}
	return f.Text()
}

// routeCommands returns routes as arguments of ip route.
func routeCommands(iface string, routes []*data.Map) string {
	var b strings.Builder
	for _, r := range routes {
		if name := r.Value("name"); data.Truth(name) {
			b.WriteString("# " + data.Str(name))
		}
		b.WriteString("\n" + data.Str(r.Value("ipaddr")))
		if mask := r.Value("netmask"); data.Truth(mask) {
			b.WriteString("/" + data.Str(mask))
		}
		if gateway := r.Value("gateway"); data.Truth(gateway) {
			b.WriteString(" via " + data.Str(gateway))
		} else {
			b.WriteString(" dev " + iface)
		}
		if metric := r.Value("metric"); data.Truth(metric) {
			b.WriteString(" metric " + data.Str(metric))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// routeEntries returns routes as numbered entries.
func routeEntries(_ string, routes []*data.Map) string {
	var b strings.Builder
	for i, r := range routes {
		if name := r.Value("name"); data.Truth(name) {
			b.WriteString("# " + data.Str(name) + "\n")
		}
		for _, entry := range [][2]string{{"ADDRESS", "ipaddr"}, {"NETMASK", "netmask"}, {"GATEWAY", "gateway"}} {
			if v := r.Value(entry[1]); data.Truth(v) {
				fmt.Fprintf(&b, "%s%d=\"%s\"\n", entry[0], i, data.Str(v))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// networkText returns /etc/sysconfig/network.
func networkText(v *data.Map) (string, error) {
	f := &netconf.File{}
	f.Add(v, netconf.Quoted("", "NETWORKING", "networking", "NETWORKING_IPV6", "networking_ipv6", "HOSTNAME",
		"hostname", "GATEWAY", "gateway", "GATEWAYDEV", "gatewaydev", "NISDOMAIN", "nisdomain", "NETWORKDELAY",
		"networkdelay", "DEVTIMEOUT", "devtimeout", "NOZEROCONF", "nozeroconf"))
	if data.Truth(v.Value("enable_ipv6")) {
		f.Put("IPV6INIT", `"`, "yes")
	}
	f.Add(v, netconf.Quoted(`"`, "IPV6_DEFAULTGW", "ipv6gateway"))
	return f.Text()
}
