package debianip

import (
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
)

var families = []string{"inet", "inet6"}

// source returns an interface of the type source.
func source(_ string, params *data.Map) (*adapter, error) {
	return &adapter{isSource: true, known: true, sources: []string{data.Str(params.Value("source"))}}, nil
}

// values returns an interface with these settings.
func (m *module) values(params *data.Map, kind string, enabled bool, iface string) (*adapter, error) {
	own := &adapter{enabled: enabled, hotplug: data.Truth(params.Value("hotplug")), known: true,
		families: map[string]*data.Map{"inet": data.NewMap(), "inet6": data.NewMap()}}
	if kind == "slave" {
		params.Set("proto", "manual")
	}
	for _, family := range families {
		if err := m.typed(own.families[family], family, params, kind, iface); err != nil {
			return nil, err
		}
	}
	params.Delete("mode")
	for key, v := range params.All() {
		own.set(data.Str(key), v)
	}
	for _, name := range []string{"up_cmds", "pre_up_cmds", "post_up_cmds", "down_cmds", "pre_down_cmds",
		"post_down_cmds"} {
		if v, ok := params.Get(name); ok {
			own.families["inet"].Set(name, v)
			own.families["inet6"].Set(name, v)
		}
	}
	for family, option := range map[string]string{"inet": "enable_ipv4", "inet6": "enable_ipv6"} {
		if params.Value(option) == false || own.families[family].Text("addrfam") != family {
			delete(own.families, family)
		}
	}
	return own, nil
}

// set sets an option of the family that it belongs to, or of both.
func (a *adapter) set(name string, v any) {
	only := ""
	switch {
	case strings.HasPrefix(name, "ipv4"):
		name, only = name[4:], "inet"
	case strings.HasPrefix(name, "ipv6"):
		name, only = name[4:], "inet6"
	case netconf.IsOneOf(name, "ipaddr", "address", "ipaddresses", "addresses", "gateway", "proto"):
		only = "inet"
	}
	if only != "" {
		a.families[only].Set("addrfam", only)
	}
	if other := map[string]string{"dns": "dns-nameservers", "search": "dns-search", "hwaddr": "hwaddress",
		"ipaddr": "address", "ipaddrs": "addresses"}[name]; other != "" {
		name = other
	}
	key := strings.ReplaceAll(name, "-", "_")
	for _, family := range families {
		kept, ok := checked(name, v, family)
		if ok && (only == family || only == "" && !a.families[family].Has(key)) {
			a.families[family].Set(key, kept)
		}
	}
}

// typed sets the options of a type of interface.
func (m *module) typed(of *data.Map, family string, params *data.Map, kind, iface string) error {
	if kind != "bridge" {
		found, err := netconf.Ethtool(params, iface)
		if err == nil {
			err = netconf.EthtoolOffloads(found, params, iface)
		}
		if err != nil {
			return err
		}
		renamed := data.NewMap()
		for name, v := range found.All() {
			renamed.Set(ethtool[data.Str(name)], v)
		}
		if renamed.Len() > 0 {
			of.Set("ethtool", renamed)
		}
	}
	switch kind {
	case "bridge":
		bridge, err := bridge(params, iface)
		if err != nil {
			return err
		}
		of.Set("bridging", bridge)
	case "bond":
		bond, err := m.bond(params, iface)
		if err != nil {
			return err
		}
		bond.Set("slaves", params.Value("slaves"))
		of.Set("bonding", bond)
	case "slave":
		of.Set("master", params.Value("master"))
	case "vlan":
		of.Set("vlan_raw_device", regexp.MustCompile(`\.\d*`).ReplaceAllString(iface, ""))
	case "pppoe":
		if err := pppoe(of, params, iface); err != nil {
			return err
		}
	default:
		return nil
	}
	of.Set("addrfam", family)
	return nil
}

// pppoe sets the options of PPP over Ethernet.
func pppoe(of, params *data.Map, iface string) error {
	for _, name := range []string{"user", "password", "provider", "pppoe_iface", "noipdefault", "usepeerdns",
		"defaultroute", "holdoff", "maxfail", "hide-password", "lcp-echo-interval", "lcp-echo-failure", "connect",
		"noauth", "persist", "mtu", "noaccomp", "linkname"} {
		if v, ok := params.Get(name); ok {
			of.Set(name, v)
		}
	}
	if !data.Truth(params.Value("provider")) {
		return netconf.Invalid(iface, "provider", netconf.Switches...)
	}
	for _, name := range []string{"noipdefault", "usepeerdns", "defaultroute", "hide-password", "noauth",
		"persist",
		"noaccomp"} {
		v, ok := params.Get(name)
		switch {
		case !ok:
		case netconf.On(v):
			of.Set(name, "True")
		case netconf.Off(v):
			of.Set(name, "False")
		default:
			return netconf.Invalid(iface, name, netconf.Switches...)
		}
	}
	return nil
}

// bond returns the options of bonding, with Salt's defaults.
func (m *module) bond(params *data.Map, iface string) (*data.Map, error) {
	mode, err := netconf.BondMode(iface, params.Value("mode"))
	if err != nil {
		return nil, err
	}
	bond := data.NewMap("mode", mode)
	numbers := []string{"miimon", "downdelay", "updelay"}
	switch mode {
	case "0", "2":
		targets, err := netconf.ARPTargets(iface, params)
		if err != nil {
			return nil, err
		}
		bond.Set("arp_ip_target", targets)
		numbers = []string{"arp_interval"}
	case "4":
		numbers = append(numbers, "lacp_rate", "ad_select")
	}
	for _, name := range numbers {
		if err := bondNumber(bond, params, iface, name); err != nil {
			return nil, err
		}
	}
	if mode == "1" {
		setPrimary(bond, params)
	}
	if mode != "0" && mode != "2" && (mode != "1" || !m.newUbuntu(16)) {
		if err := setCarrier(bond, params, iface); err != nil {
			return nil, err
		}
	}
	switch mode {
	case "5", "6":
		setPrimary(bond, params)
	case "2", "4":
		if v, ok := params.Get("hashing-algorithm"); ok {
			if !netconf.IsOneOf(v, "layer2", "layer2+3", "layer3+4") {
				return nil, netconf.Invalid(iface, "hashing-algorithm", "layer2", "layer2+3", "layer3+4")
			}
			bond.Set("xmit_hash_policy", v)
		}
	}
	return bond, nil
}

// newUbuntu reports whether the system is Ubuntu from a release on.
func (m *module) newUbuntu(release int64) bool {
	grains := m.env.GrainsNow()
	info := data.ListOf(grains.Value("osrelease_info"))
	if tuple, ok := grains.Value("osrelease_info").(data.Tuple); ok {
		info = tuple
	}
	if grains.Text("os") != "Ubuntu" || len(info) == 0 {
		return false
	}
	n, err := loader.Int(info[0])
	return err == nil && n >= release
}

func setPrimary(bond, params *data.Map) {
	if v, ok := params.Get("primary"); ok {
		bond.Set("primary", v)
	}
}

// setCarrier sets use_carrier, whose default is a word in Salt.
func setCarrier(bond, params *data.Map, iface string) error {
	v, ok := params.Get("use_carrier")
	switch {
	case !ok:
		bond.Set("use_carrier", "on")
	case netconf.On(v):
		bond.Set("use_carrier", "1")
	case netconf.Off(v):
		bond.Set("use_carrier", "0")
	default:
		return netconf.Invalid(iface, "use_carrier", netconf.Switches...)
	}
	return nil
}

func bondNumber(bond, params *data.Map, iface, name string) error {
	v, ok := params.Get(name)
	if !ok {
		bond.Set(name, map[string]string{"ad_select": "0", "miimon": "100", "arp_interval": "250",
			"downdelay": "200",
			"lacp_rate": "0", "updelay": "0"}[name])
		return nil
	}
	expected := []any{"integer"}
	if name == "lacp_rate" {
		expected = netconf.Any("fast", "1", "slow", "0")
		switch v {
		case "fast":
			v = "1"
		case "slow":
			v = "0"
		}
	}
	if _, err := loader.Int(v); err != nil {
		return netconf.Invalid(iface, name, expected...)
	}
	bond.Set(name, v)
	return nil
}

var hardware = regexp.MustCompile(
	`^[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5})$`)

// bridge returns the options of a bridge.
func bridge(params *data.Map, iface string) (*data.Map, error) {
	found := data.NewMap()
	if v, ok := params.Get("ports"); ok {
		if list, is := v.([]any); is {
			v = strings.Join(data.Texts(list), " ")
		}
		found.Set("ports", v)
	}
	for _, name := range []string{"ageing", "fd", "gcint", "hello", "maxage"} {
		if v, ok := params.Get(name); ok {
			if _, err := loader.Float(v); err != nil {
				return nil, netconf.Invalid(iface, name, "float")
			}
			found.Set(name, v)
		}
	}
	for _, name := range []string{"bridgeprio", "maxwait"} {
		if v, ok := params.Get(name); ok {
			if _, isText := v.(string); isText || !whole(v) {
				return nil, netconf.Invalid(iface, name, "integer")
			}
			found.Set(name, v)
		}
	}
	if v, ok := params.Get("hw"); ok {
		if !hardware.MatchString(strings.ToLower(data.Str(v))) {
			return nil, netconf.Invalid(iface, "hw", "valid MAC address")
		}
		found.Set("hw", v)
	}
	for _, name := range []string{"pathcost", "portprio"} {
		if v, ok := params.Get(name); ok {
			parts := strings.Fields(data.Str(v))
			if len(parts) != 2 || !whole(parts[1]) {
				return nil, netconf.Invalid(iface, name, "interface integer")
			}
			found.Set(name, strings.Join(parts, " "))
		}
	}
	if v, ok := params.Get("stp"); ok {
		switch {
		case netconf.On(v):
			found.Set("stp", "on")
		case netconf.Off(v):
			found.Set("stp", "off")
		default:
			return nil, netconf.Invalid(iface, "stp", netconf.Switches...)
		}
	}
	return found, waitport(found, params, iface)
}

// whole reports whether a value is a whole number, or the text of one.
func whole(v any) bool {
	switch v := v.(type) {
	case int64, bool:
		return true
	case string:
		_, err := loader.Int(v)
		return err == nil
	}
	return false
}

// waitport sets how long a bridge waits for its ports: a number, or a text with a number and ports.
func waitport(found, params *data.Map, iface string) error {
	v, ok := params.Get("waitport")
	if !ok {
		return nil
	}
	if _, is := v.(string); is || !whole(v) {
		parts := strings.Fields(data.Str(v))
		if len(parts) < 2 || !regexp.MustCompile(`^[0-9]+$`).MatchString(parts[0]) {
			return netconf.Invalid(iface, "waitport", "integer [interfaces]")
		}
		v = strings.Join(parts, " ")
	}
	found.Set("waitport", v)
	return nil
}
