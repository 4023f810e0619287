package debianip

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
)

// A check reports whether an option may have a value, and returns the value to keep.
type check func(v any) (any, bool)

func is(good func(any) bool) check { return func(v any) (any, bool) { return v, good(v) } }

func anything(v any) (any, bool) { return v, true }

func integer(v any) (any, bool) {
	n, err := loader.Int(v)
	if err != nil {
		return v, false
	}
	return n, true
}

func float(v any) (any, bool) {
	f, err := loader.Float(v)
	if err != nil {
		return v, false
	}
	return f, true
}

func among(first, last int64) check {
	return func(v any) (any, bool) {
		n, ok := integer(v)
		if !ok {
			return v, false
		}
		return n, n.(int64) >= first && n.(int64) <= last
	}
}

func words(known ...string) check {
	return func(v any) (any, bool) { return data.Str(v), slices.Contains(known, data.Str(v)) }
}

func netmask4(v any) (any, bool) {
	n, ok := integer(v)
	if ok && n.(int64) >= 0 && n.(int64) <= 32 {
		return n, true
	}
	return n, netconf.Netmask(n)
}

func list(v any) (any, bool) {
	if text, ok := v.(string); ok {
		v = data.Values(strings.Fields(text))
	}
	switch v := v.(type) {
	case []any:
		return v, len(v) > 0
	case data.Tuple, *data.Map:
		return v, true
	}
	return v, false
}

var modes = words("gre", "GRE", "ipip", "IPIP", "802.3ad")

// ipv4 has the options of the family inet.
var ipv4 = map[string]check{
	"proto":   words("bootp", "dhcp", "static", "manual", "loopback", "ppp"),
	"address": is(netconf.IPv4), "addresses": anything, "netmask": netmask4, "broadcast": is(netconf.IPv4),
	"metric": integer, "gateway": is(netconf.IPv4),
	"pointopoint": is(netconf.IPv4), "hwaddress": is(netconf.MAC),
	"mtu": integer, "scope": words("global", "link", "host"),
	"hostname": anything, "leasehours": integer, "leasetime": integer, "vendor": anything, "client": anything,
	"bootfile": anything, "server": is(netconf.IPv4), "hwaddr": is(netconf.MAC),
	"mode": modes, "endpoint": is(netconf.IPv4),
	"dstaddr": is(netconf.IPv4), "local": is(netconf.IPv4), "ttl": integer,
	"slaves": anything, "provider": anything, "unit": integer, "options": anything,
	"dns-nameservers": list, "dns-search": list, "vlan-raw-device": anything, "network": anything,
	"test": anything, "enable_ipv4": anything, "enable_ipv6": anything,
}

// ipv6 has the options of the family inet6.
var ipv6 = map[string]check{
	"proto":   words("auto", "loopback", "static", "manual", "dhcp", "v4tunnel", "6to4"),
	"address": is(netconf.IPv6), "addresses": anything, "netmask": among(0, 128), "broadcast": is(netconf.IPv6),
	"gateway": is(netconf.IPv6), "hwaddress": is(netconf.MAC), "mtu": integer,
	"scope":   words("global", "site", "link", "host"),
	"privext": among(0, 2), "dhcp": among(0, 1), "media": anything,
	"accept_ra": among(0, 2), "autoconf": among(0, 1),
	"preferred-lifetime": integer, "dad-attempts": integer, "dad-interval": float, "slaves": anything,
	"mode": modes, "endpoint": is(netconf.IPv4), "local": is(netconf.IPv4), "ttl": integer,
	"dns-nameservers": list, "dns-search": list, "vlan-raw-device": anything,
	"test": anything, "enable_ipv4": anything, "enable_ipv6": anything,
}

// wireless has the options of both families for wireless interfaces.
var wireless = map[string]check{
	"wireless-essid": anything, "wireless-mode": anything, "wpa-ap-scan": among(0, 2), "wpa-conf": anything,
	"wpa-driver": anything, "wpa-group": anything, "wpa-key-mgmt": anything, "wpa-pairwise": anything,
	"wpa-psk": anything, "wpa-proto": anything, "wpa-roam": anything, "wpa-ssid": anything,
}

// checked returns the value to keep for an option of a family, and whether it is valid.
func checked(name string, v any, family string) (any, bool) {
	own := map[string]map[string]check{"inet": ipv4, "inet6": ipv6}[family]
	if own == nil {
		return v, false
	}
	if c := own[name]; c != nil {
		return c(v)
	}
	if c := wireless[name]; c != nil {
		return c(v)
	}
	return v, false
}

// known reports whether a family has an option.
func known(name string) bool { return ipv4[name] != nil || ipv6[name] != nil || wireless[name] != nil }

// ethtool has the options of /etc/network/interfaces for those of ethtool.
var ethtool = map[string]string{
	"speed": "link-speed", "duplex": "link-duplex", "autoneg": "ethernet-autoneg",
	"ethernet-port": "ethernet-port", "wol": "ethernet-wol", "driver-message-level": "driver-message-level",
	"ethernet-pause-rx": "ethernet-pause-rx", "ethernet-pause-tx": "ethernet-pause-tx",
	"ethernet-pause-autoneg": "ethernet-pause-autoneg",
	"rx":                     "offload-rx", "tx": "offload-tx", "sg": "offload-sg", "tso": "offload-tso",
	"ufo": "offload-ufo", "gso": "offload-gso", "gro": "offload-gro", "lro": "offload-lro",
	"hardware-irq-coalesce-adaptive-rx": "hardware-irq-coalesce-adaptive-rx",
	"hardware-irq-coalesce-adaptive-tx": "hardware-irq-coalesce-adaptive-tx",
	"hardware-irq-coalesce-rx-usecs":    "hardware-irq-coalesce-rx-usecs",
	"hardware-irq-coalesce-rx-frames":   "hardware-irq-coalesce-rx-frames",
	"hardware-dma-ring-rx":              "hardware-dma-ring-rx",
	"hardware-dma-ring-rx-mini":         "hardware-dma-ring-rx-mini",
	"hardware-dma-ring-rx-jumbo":        "hardware-dma-ring-rx-jumbo",
	"hardware-dma-ring-tx":              "hardware-dma-ring-tx",
}
