package debianip

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
)

// options are the options that are written, in Salt's order, by their names in settings.
var options = []string{
	"autoconf", "privext", "dhcp", "hwaddress", "hwaddr", "vlan_raw_device", "address", "addresses", "netmask",
	"metric", "gateway", "pointopoint", "scope", "hostname", "media", "leasehours", "leasetime",
	"vendor", "client", "bootfile", "server", "mode", "endpoint", "dstaddr", "local", "ttl", "mtu",
	"provider", "unit", "options", "master", "dns_nameservers", "wireless_mode", "wpa_ap_scan",
	"wpa_conf", "wpa_driver", "wpa_group", "wpa_key_mgmt", "wpa_pairwise", "wpa_proto", "wpa_psk",
	"wpa_roam", "wpa_ssid", "accept_ra", "up_cmds", "down_cmds", "pre_up_cmds", "post_up_cmds",
	"pre_down_cmds", "post_down_cmds",
}

// text returns the entries of an interface in /etc/network/interfaces.
func (a *adapter) text(name string) string {
	if a.isSource {
		return a.sourceText()
	}
	var b strings.Builder
	if a.enabled {
		b.WriteString("auto " + name + "\n")
	}
	if a.hotplug {
		b.WriteString("allow-hotplug " + name + "\n")
	}
	for _, family := range families {
		of := a.families[family]
		if of.Len() == 0 || of.Text("addrfam") != family || !data.Truth(of.Value("proto")) {
			continue
		}
		b.WriteString("iface " + name + " " + family + " " + data.Str(of.Value("proto")) + "\n")
		for _, option := range options {
			write(&b, option, of.Value(option))
		}
		for _, group := range []struct{ key, prefix string }{
			{"ethtool", ""}, {"bonding", "bond-"}, {"bridging", "bridge_"}} {
			writeGroup(&b, of, group.key, group.prefix)
		}
	}
	return b.String()
}

// sourceText returns the source lines.
func (a *adapter) sourceText() string {
	text := ""
	for _, file := range a.sources {
		text += "\nsource " + file + "\n"
	}
	return text
}

// write writes an option: one line for a word or a number, one for each item of a list. The servers
// of dns_nameservers share a line.
func write(b *strings.Builder, option string, v any) {
	if !data.Truth(v) {
		return
	}
	name := map[string]string{"addresses": "address", "hwaddr": "hwaddress", "up_cmds": "up",
		"down_cmds":   "down",
		"pre_up_cmds": "pre-up", "post_up_cmds": "post-up", "pre_down_cmds": "pre-down",
		"post_down_cmds": "post-down", "master": "bond-master", "accept_ra": "accept_ra"}[option]
	if name == "" {
		name = strings.ReplaceAll(option, "_", "-")
	}
	list, isList := items(v)
	switch {
	case isList && option == "dns_nameservers":
		b.WriteString("    " + name + " " + strings.Join(list, " ") + "\n")
	case isList:
		for _, item := range list {
			b.WriteString("    " + name + " " + item + "\n")
		}
	default:
		b.WriteString("    " + name + " " + data.Str(v) + "\n")
	}
}

// writeGroup writes the options of ethtool, of a bond or a bridge, sorted. As in Salt, numbers are
// left out.
func writeGroup(b *strings.Builder, of *data.Map, key, prefix string) {
	group, _ := of.Value(key).(*data.Map)
	names := data.Texts(group.Keys())
	slices.Sort(names)
	for _, name := range names {
		v := group.Value(name)
		text, ok := v.(string)
		if list, isList := items(v); isList {
			text, ok = strings.Join(list, " "), true
		}
		if ok {
			b.WriteString("    " + prefix + name + " " + text + "\n")
		}
	}
}

// items returns the items of a list or the keys of a dictionary.
func items(v any) ([]string, bool) {
	switch v := v.(type) {
	case []any:
		return data.Texts(v), true
	case data.Tuple:
		return data.Texts(v), true
	case *data.Map:
		return data.Texts(v.Keys()), true
	}
	return nil, false
}

// routesText returns a script that adds or deletes routes.
func routesText(verb, iface string, routes []*data.Map) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# " + verb + "\ntest \"${IFACE}\" = \"" + iface + "\" || exit 0\n")
	for _, r := range routes {
		if name := r.Value("name"); data.Truth(name) {
			b.WriteString("# " + data.Str(name) + "\n")
		}
		b.WriteString("ip route " + verb + " " + data.Str(r.Value("ipaddr")))
		if mask := r.Value("netmask"); data.Truth(mask) {
			b.WriteString("/" + data.Str(mask))
		}
		b.WriteString(" ")
		if gateway := r.Value("gateway"); data.Truth(gateway) {
			b.WriteString("via " + data.Str(gateway))
		}
		b.WriteString(" dev " + iface)
		if metric := r.Value("metric"); data.Truth(metric) {
			b.WriteString(" metric " + data.Str(metric))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// peerWord returns a value as one word for pppd, which reads a second one as an option.
func peerWord(v any) string {
	text := data.Str(v)
	if !strings.ContainsAny(text, " \t\"'\\") && !strings.HasPrefix(text, "#") {
		return text
	}
	inner, _ := netconf.Unquoted(text).(string)
	if inner != text && !strings.ContainsAny(inner, "\"'\\") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// peerText returns the file of a provider for pppd.
func peerText(of *data.Map) string {
	if !data.Truth(of.Value("user")) {
		return ""
	}
	var b strings.Builder
	b.WriteString("user " + peerWord(of.Value("user")) + "\n")
	if v := of.Value("password"); data.Truth(v) {
		b.WriteString("password " + peerWord(v) + " ")
	}
	value := func(name, otherwise string) string {
		if v, ok := of.Get(name); ok {
			return peerWord(v)
		}
		return otherwise
	}
	line := func(text string, wanted bool) {
		if wanted {
			b.WriteString(text)
		}
		b.WriteString("\n")
	}
	not := func(name, word string) bool { return !of.Has(name) || !data.Equal(of.Value(name), word) }
	b.WriteString("\nplugin rp-pppoe.so " + value("pppoe_iface", "eth0") + "\n\n")
	line("noipdefault", not("noipdefault", "False"))
	line("usepeerdns ", not("usepeerdns", "False"))
	line("defaultroute", not("defaultroute", "False"))
	b.WriteString("\n")
	line("holdoff "+value("holdoff", "15"), not("holdoff", ""))
	line("maxfail "+value("maxfail", "0"), not("maxfail", ""))
	b.WriteString("\n")
	line("hide-password", not("hide-password", "False"))
	line("lcp-echo-interval "+value("lcp-echo-interval", "20")+" ", not("lcp-echo-interval", ""))
	line("lcp-echo-failure "+value("lcp-echo-failure", "3")+" ", not("lcp-echo-failure", ""))
	b.WriteString("\n")
	line("noauth", not("noauth", "False"))
	line("persist", not("persist", "False"))
	line("mtu "+value("mtu", "1492")+" ", not("mtu", ""))
	line("noaccomp", not("noaccomp", "False"))
	line("default-asyncmap", data.Truth(of.Value("default-asyncmap")))
	if v, ok := of.Get("linkname"); ok {
		b.WriteString("\nlinkname " + peerWord(v) + "\n")
	}
	b.WriteString("\n")
	return b.String()
}
