package suseip

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
)

// values returns the values of the file of an interface.
func (m *module) values(ctx context.Context, a buildArgs, kind string, params *data.Map, test bool) (*data.Map,
	error) {
	s := &netconf.Sysconfig{Env: m.env, Iface: a.Iface, Type: kind, Params: params, Test: test,
		Result: data.NewMap()}
	if v, ok := params.Get("proto"); ok {
		known := []string{"static", "dhcp", "dhcp4", "dhcp6", "autoip", "dhcp+autoip", "auto6", "6to4", "none"}
		if !netconf.IsOneOf(v, known...) {
			return nil, netconf.Invalid(a.Iface, v, netconf.Any(known...)...)
		}
		s.Result.Set("proto", v)
	}
	if kind == "slave" {
		s.Result.Set("proto", "none")
	}
	for _, step := range []func() error{
		s.MTU, s.OneHardwareAddress, s.Ethtool,
		func() error { return s.Bond("layer2", "layer2+3", "layer3+4") },
		s.VLAN,
		func() error { return s.Devices(ctx) },
		s.Prefix,
		func() error { return addresses(s) },
		func() error { return switches(s, data.Truth(a.Enabled)) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if v, ok := params.Get("slaves"); ok && kind == "bond" {
		s.Result.Set("slaves", data.Values(netconf.Words(v)))
	}
	return s.Result, nil
}

// addresses sets the addresses and what is written as it is.
func addresses(s *netconf.Sysconfig) error {
	s.Copy("ipaddr", "srcaddr", "delay", "gateway", "uuid", "nickname", "zone", "clonenum_start")
	list := []any{}
	for _, v := range data.ListOf(s.Params.Value("ipaddrs")) {
		if !netconf.IPv4(v) && !netconf.IPv6(v) {
			return netconf.Attribute("%s is invalid ipv4 or ipv6 CIDR", data.Str(v))
		}
		list = append(list, v)
	}
	sixes := data.ListOf(s.Params.Value("ipv6addrs"))
	if v, ok := s.Params.Get("ipv6addr"); ok {
		sixes = slices.Insert(slices.Clone(sixes), 0, v)
	}
	for _, v := range sixes {
		if !netconf.IPv6(v) {
			return netconf.Attribute("%s is invalid ipv6 CIDR", data.Str(v))
		}
		list = append(list, v)
	}
	s.Result.Set("ipaddrs", list)
	return nil
}

func switches(s *netconf.Sysconfig, enabled bool) error {
	if err := s.Switches("onparent", "peerdns", "peerroutes", "slave", "vlan", "defroute", "stp", "ipv6_peerdns",
		"ipv6_defroute", "ipv6_peerroutes", "ipv6_autoconf", "ipv4_failure_fatal", "dhcpv6c", "nm_controlled",
	); err != nil {
		return err
	}
	s.Result.Set("startmode", map[bool]string{true: "auto", false: "off"}[enabled])
	if v, ok := s.Params.Get("startmode"); ok {
		known := []string{"manual", "auto", "nfsroot", "hotplug", "off"}
		if !netconf.IsOneOf(v, known...) {
			return netconf.Invalid(s.Iface, v, netconf.Any(known...)...)
		}
		s.Result.Set("startmode", v)
	}
	if netconf.Off(s.Params.Value("arpcheck")) {
		s.Result.Set("arpcheck", "no")
	}
	return nil
}

// The entries of ifcfg files, in Salt's order.
var (
	first = slices.Concat(
		netconf.Quoted(`'`, "NAME", "nickname", "STARTMODE", "startmode", "BOOTPROTO", "proto", "UUID", "uuid",
			"VLAN", "vlan", "IPADDR", "ipaddr", "NETMASK", "netmask"),
		netconf.Quoted(`"`, "PREFIXLEN", "prefix"))
	routing = netconf.Quoted(`"`, "CLONENUM_START", "clonenum_start", "GATEWAY", "gateway", "ARPCHECK",
		"arpcheck",
		"SRCADDR", "srcaddr", "DEFROUTE", "defroute", "BRIDGE", "bridge", "STP", "stp")
	limits  = netconf.Quoted(`'`, "MTU", "mtu", "ZONE", "zone", "BONDING_MODULE_OPTS", "bonding")
	devices = netconf.Quoted(`'`, "ETHTOOL_OPTIONS", "ethtool", "ETHERDEVICE", "phys_dev", "VLAN_ID", "vlan_id")
)

// interfaceText returns the file of an interface.
func interfaceText(v *data.Map) (string, error) {
	f := &netconf.File{}
	f.Add(v, first)
	for i, address := range netconf.Words(v.Value("ipaddrs")) {
		f.Put("IPADDR"+strconv.Itoa(i+1), `'`, address)
	}
	f.Add(v, routing)
	if delay := v.Value("delay"); data.Truth(delay) || data.Equal(delay, int64(0)) {
		f.Put("DELAY", `"`, data.Str(delay))
	}
	f.Add(v, limits)
	if data.Truth(v.Value("bonding")) {
		f.Put("BONDING_MASTER", `'`, "yes")
		for i, slave := range netconf.Words(v.Value("slaves")) {
			f.Put("BONDING_SLAVE"+strconv.Itoa(i+1), `'`, slave)
		}
	}
	f.Add(v, devices)
	return f.Text()
}

// routesText returns a file of routes.
func routesText(iface string, routes []*data.Map) string {
	var b strings.Builder
	field := func(v any) {
		text := "-"
		if data.Truth(v) {
			text = data.Str(v)
		}
		b.WriteString("\t" + text)
	}
	if iface == "routes" {
		iface = ""
	}
	for _, r := range routes {
		if name := r.Value("name"); data.Truth(name) {
			b.WriteString("# " + data.Str(name))
		}
		b.WriteString("\n" + data.Str(r.Value("ipaddr")))
		field(r.Value("gateway"))
		field(r.Value("netmask"))
		if dev := r.Value("dev"); data.Truth(dev) {
			field(dev)
		} else {
			field(iface)
		}
		if metric := r.Value("metric"); data.Truth(metric) {
			b.WriteString("\tmetric " + data.Str(metric))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// networkValues returns the values of the settings of the system.
func networkValues(params, current *data.Map) *data.Map {
	values := data.NewMap()
	if !data.Truth(params.Value("retain_settings")) {
		current = data.NewMap()
	}
	for k, v := range current.All() {
		key := data.Str(k)
		v = netconf.Unquoted(v)
		switch key {
		case "netconfig_modules_order", "netconfig_verbose", "netconfig_force_replace":
		case "netconfig_dns_static_servers":
			key = "dns"
		case "netconfig_dns_static_searchlist":
			key = "dns_search"
		default:
			key = strings.TrimPrefix(key, "netconfig_")
		}
		values.Set(key, v)
	}
	values.Update(params)
	return values
}

// networkText returns the settings of the system.
func networkText(v *data.Map) (string, error) {
	f := &netconf.File{}
	own := v.Clone()
	for _, key := range []string{"dns", "dns_search"} {
		own.Set(key, strings.Join(netconf.Words(v.Value(key)), " "))
	}
	f.Add(own, netconf.Quoted(`"`, "AUTO6_WAIT_AT_BOOT", "auto6_wait_at_boot", "AUTO6_UPDATE", "auto6_update",
		"LINK_REQUIRED", "link_required", "WICKED_DEBUG", "wicked_debug", "WICKED_LOG_LEVEL", "wicked_log_level",
		"CHECK_DUPLICATE_IP", "check_duplicate_ip", "SEND_GRATUITOUS_ARP", "send_gratuitous_arp", "DEBUG", "debug",
		"WAIT_FOR_INTERFACES", "wait_for_interfaces", "FIREWALL", "firewall",
		"NM_ONLINE_TIMEOUT", "nm_online_timeout", "NETCONFIG_MODULES_ORDER", "netconfig_modules_order",
		"NETCONFIG_VERBOSE", "netconfig_verbose", "NETCONFIG_FORCE_REPLACE", "netconfig_force_replace",
		"NETCONFIG_DNS_POLICY", "dns_policy", "NETCONFIG_DNS_FORWARDER", "dns_forwarder",
		"NETCONFIG_DNS_FORWARDER_FALLBACK", "dns_forwarder_fallback",
		"NETCONFIG_DNS_STATIC_SEARCHLIST", "dns_search", "NETCONFIG_DNS_STATIC_SERVERS", "dns",
		"NETCONFIG_DNS_RANKING", "dns_ranking", "NETCONFIG_DNS_RESOLVER_OPTIONS", "dns_resolver_options",
		"NETCONFIG_DNS_RESOLVER_SORTLIST", "dns_resolver_sortlist", "NETCONFIG_NTP_POLICY", "ntp_policy",
		"NETCONFIG_NTP_STATIC_SERVERS", "ntp_static_servers", "NETCONFIG_NIS_POLICY", "nis_policy",
		"NETCONFIG_NIS_SETDOMAINNAME", "nis_setdomainname", "NETCONFIG_NIS_STATIC_DOMAIN", "nis_static_domain",
		"NETCONFIG_NIS_STATIC_SERVERS", "nis_static_servers",
		"WIRELESS_REGULATORY_DOMAIN", "wireless_regulatory_domain"))
	return f.Text()
}
