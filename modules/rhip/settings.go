package rhip

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// values returns the values of the file of an interface.
func (m *module) values(ctx context.Context, a buildArgs, kind string, params *data.Map, test bool) (*data.Map,
	error) {
	s := &netconf.Sysconfig{Env: m.env, Iface: a.Iface, Type: kind, Params: params, Test: test,
		Result: data.NewMap("name", a.Iface)}
	if v, ok := params.Get("proto"); ok {
		if !netconf.IsOneOf(v, "none", "bootp", "dhcp") {
			return nil, netconf.Invalid(a.Iface, v, "none", "bootp", "dhcp")
		}
		s.Result.Set("proto", v)
	}
	if v, ok := params.Get("dns"); ok {
		s.Result.Set("dns", v)
		s.Result.Set("peerdns", "yes")
	}
	for _, step := range []func() error{
		s.MTU, s.OneHardwareAddress, s.Ethtool,
		func() error { return m.team(s) },
		func() error { return s.Bond(m.hashing()...) },
		s.VLAN,
		func() error { return m.hardware(ctx, s) },
		func() error { return s.Devices(ctx) },
		s.Prefix,
		func() error { return addresses(s) },
		func() error { return switches(s, data.Truth(a.Enabled)) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s.Result, nil
}

// hashing returns the hashing algorithms of bonds of the mode 802.3ad.
func (m *module) hashing() []string {
	known := []string{"layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4"}
	if m.major() >= 8 {
		known = append(known, "vlan+srcmac")
	}
	return known
}

// team sets the options of slaves, teams and their ports.
func (m *module) team(s *netconf.Sysconfig) error {
	config := ""
	switch s.Type {
	case "slave":
		s.Result.Set("proto", "none")
	case "team":
		s.Result.Set("devicetype", "Team")
		config = "team_config"
	case "teamport":
		s.Result.Set("devicetype", "TeamPort")
		s.Copy("team_master")
		config = "team_port_config"
	}
	v, ok := s.Params.Get(config)
	if !ok {
		return nil
	}
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true})
	if err != nil {
		return netconf.Attribute("%s of %s: %w", config, s.Iface, err)
	}
	s.Result.Set(config, string(text))
	return nil
}

// hardware sets the hardware address: the given one, or that of the interface.
func (m *module) hardware(ctx context.Context, s *netconf.Sysconfig) error {
	v, ok := s.Params.Get("hwaddr")
	switch s.Type {
	case "bond", "team", "vlan", "bridge", "ipip":
	default:
		if ok && v != "auto" && v != "none" && !netconf.MAC(v) {
			return netconf.Invalid(s.Iface, v, "AA:BB:CC:DD:EE:FF", "auto", "none")
		}
		if (!ok || v == "auto") && s.Type != "slave" {
			known, err := loader.CallAs[*data.Map](ctx, m.env, "network.interfaces", nil, nil)
			if err != nil {
				return err
			}
			if info, is := known.Value(s.Iface).(*data.Map); is && info.Has("hwaddr") {
				s.Result.Set("hwaddr", info.Value("hwaddr"))
			}
		}
	}
	s.Copy("hwaddr", "macaddr")
	return nil
}

// addresses sets the addresses and what is written as it is.
func addresses(s *netconf.Sysconfig) error {
	s.Copy("ipaddr", "master", "srcaddr", "delay", "domain", "gateway", "uuid", "nickname", "zone", "ipv6addr",
		"ipv6gateway", "enable_ipv6", "ipaddr_start", "ipaddr_end", "clonenum_start")
	if list, ok := s.Params.Get("ipaddrs"); ok {
		rows := []any{}
		for _, v := range data.ListOf(list) {
			ip, prefix, cut := strings.Cut(data.Str(v), "/")
			if !cut || !netconf.IPv4(v) {
				return netconf.Attribute("ipv4 CIDR is invalid")
			}
			rows = append(rows, data.NewMap("ipaddr", strings.TrimSpace(ip), "prefix", strings.TrimSpace(prefix)))
		}
		s.Result.Set("ipaddrs", rows)
	}
	if list, ok := s.Params.Get("ipv6addrs"); ok {
		for _, v := range data.ListOf(list) {
			if !netconf.IPv6(v) {
				return netconf.Attribute("ipv6 CIDR is invalid")
			}
		}
		s.Copy("ipv6addrs")
	}
	return nil
}

func switches(s *netconf.Sysconfig, enabled bool) error {
	if err := s.Switches("onparent", "peerdns", "peerroutes", "slave", "vlan", "defroute", "stp", "ipv6_peerdns",
		"ipv6_defroute", "ipv6_peerroutes", "ipv6_autoconf", "ipv4_failure_fatal", "dhcpv6c"); err != nil {
		return err
	}
	s.Result.Set("onboot", map[bool]string{true: "yes", false: "no"}[enabled])
	s.Result.Set("userctl", "no")
	s.Result.Set("nm_controlled", "no")
	if netconf.Off(s.Params.Value("arpcheck")) {
		s.Result.Set("arpcheck", "no")
	}
	return s.Switches("userctl", "nm_controlled")
}

// networkValues returns the values of /etc/sysconfig/network. Values have the quotes of the current
// entry NETWORKING unless that is given.
func networkValues(params, current *data.Map) (*data.Map, error) {
	values := data.NewMap()
	if data.Truth(params.Value("retain_settings")) {
		values = current.Clone()
	}
	networking, given := params.Get("enabled")
	quote := ""
	if !given {
		networking = current.Value("networking")
		quote = netconf.Quote(networking)
	}
	on, err := word("networking", networking, quote)
	if err != nil {
		return nil, err
	}
	values.Set("networking", on)
	hostname, ok := params.Get("hostname")
	if !ok {
		hostname = current.Value("hostname")
	}
	if !data.Truth(hostname) {
		return nil, netconf.InvalidNetwork("hostname", "server1.example.com")
	}
	values.Set("hostname", quote+data.Str(netconf.Unquoted(hostname))+quote)
	if v, ok := params.Get("nozeroconf"); ok {
		if on, err = word("nozeroconf", v, quote); err != nil {
			return nil, err
		}
		values.Set("nozeroconf", on)
	}
	for key, v := range params.All() {
		switch key {
		case "networking", "hostname", "nozeroconf":
			continue
		case "enable_ipv6":
			if netconf.Off(v) {
				values.Delete(key)
				continue
			}
		}
		values.Set(key, quote+data.Str(netconf.Unquoted(v))+quote)
	}
	return values, nil
}

// word returns yes or no between quotes.
func word(name string, v any, quote string) (string, error) {
	v = netconf.Unquoted(v)
	switch {
	case netconf.On(v):
		return quote + "yes" + quote, nil
	case netconf.Off(v):
		return quote + "no" + quote, nil
	}
	return "", netconf.InvalidNetwork(name, netconf.Switches...)
}
