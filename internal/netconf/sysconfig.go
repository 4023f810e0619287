package netconf

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
)

// A Sysconfig reads the settings of one interface as Red Hat's and SUSE's modules share them.
type Sysconfig struct {
	Env    *loader.Env
	Iface  string
	Type   string
	Params *data.Map // the settings, which are not changed
	Test   bool      // nothing is written
	Result *data.Map // the values for the file
}

// Advertised are the values of the option advertise.
var advertised = []string{"0x001", "0x002", "0x004", "0x008", "0x010", "0x020", "0x20000", "0x8000", "0x1000",
	"0x40000", "0x80000", "0x200000", "0x400000", "0x800000", "0x1000000", "0x2000000", "0x4000000"}

// Ethtool sets the options of ethtool.
func (s *Sysconfig) Ethtool() error {
	if s.Type == "bridge" {
		return nil
	}
	found, err := Ethtool(s.Params, s.Iface)
	if err != nil {
		return err
	}
	if v, ok := s.Params.Get("advertise"); ok {
		if !slices.Contains(advertised, data.Str(v)) {
			return Invalid(s.Iface, "advertise", Any(advertised...)...)
		}
		found.Set("advertise", v)
	}
	if err := s.channels(found); err != nil {
		return err
	}
	if err := EthtoolOffloads(found, s.Params, s.Iface); err != nil {
		return err
	}
	if found.Len() > 0 {
		s.Result.Set("ethtool", pairs(found, " "))
	}
	return nil
}

func (s *Sysconfig) channels(found *data.Map) error {
	v, ok := s.Params.Get("channels")
	if !ok {
		return nil
	}
	wanted, ok := v.(*data.Map)
	if !ok {
		return Invalid(s.Iface, "channels", "rx, tx, other and combined")
	}
	cpus, err := loader.Int(s.Env.GrainsNow().Value("num_cpus"))
	if err != nil {
		return Attribute("channels of %s: the grain num_cpus: %w", s.Iface, err)
	}
	var words []string
	for _, name := range []string{"rx", "tx", "other", "combined"} {
		v, ok := wanted.Get(name)
		if !ok {
			continue
		}
		n, isNumber := v.(int64)
		if !isNumber || n < 1 || n > cpus {
			return Invalid(s.Iface, v, counts(cpus)...)
		}
		words = append(words, name+" "+data.Str(v))
	}
	if len(words) > 0 {
		found.Set("-L "+s.Iface, strings.Join(words, " "))
	}
	return nil
}

// pairs returns the entries of a dictionary as words, each with its value behind a separator.
func pairs(of *data.Map, separator string) string {
	var words []string
	for key, v := range of.All() {
		words = append(words, data.Str(key)+separator+data.Str(v))
	}
	return strings.Join(words, " ")
}

var bondModes = []string{"0", "1", "2", "3", "4", "5", "6", "balance-rr", "active-backup", "balance-xor",
	"broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// BondMode returns the number of a mode of bonding.
func BondMode(iface string, v any) (string, error) {
	text, _ := v.(string)
	i := slices.Index(bondModes, text)
	if i < 0 {
		return "", Invalid(iface, "mode", Any(bondModes...)...)
	}
	return bondModes[i%7], nil
}

// Bond sets the options of bonding. aggregated are the hashing algorithms of mode 4.
func (s *Sysconfig) Bond(aggregated ...string) error {
	if s.Type != "bond" {
		return nil
	}
	mode, err := BondMode(s.Iface, s.Params.Value("mode"))
	if err != nil {
		return err
	}
	bond := data.NewMap("mode", mode)
	if err := s.miimon(bond); err != nil {
		return err
	}
	switch mode {
	case "0", "2":
		if err := s.arp(bond); err != nil {
			return err
		}
		if !s.Params.Has("miimon") && !s.Params.Has("arp_interval") {
			return Invalid(s.Iface, "miimon or arp_interval", "at least one of these is required")
		}
	default:
		if !s.Params.Has("miimon") {
			return Invalid(s.Iface, "miimon", "integer")
		}
	}
	if err := s.bondMode(bond, mode, aggregated); err != nil {
		return err
	}
	s.Result.Set("bonding", pairs(bond, "="))
	s.Result.Set("devtype", "Bond")
	return nil
}

func (s *Sysconfig) bondMode(bond *data.Map, mode string, aggregated []string) error {
	switch mode {
	case "1", "5", "6":
		if v, ok := s.Params.Get("primary"); ok {
			bond.Set("primary", v)
		}
	case "2":
		return s.hashing(bond, []string{"layer2", "layer2+3", "layer3+4"})
	case "4":
		if err := s.lacp(bond); err != nil {
			return err
		}
		return s.hashing(bond, aggregated)
	}
	return nil
}

func (s *Sysconfig) miimon(bond *data.Map) error {
	for _, name := range []string{"miimon", "downdelay", "updelay"} {
		v, ok := s.Params.Get(name)
		if !ok {
			continue
		}
		if _, err := loader.Int(v); err != nil {
			return Invalid(s.Iface, name, "integer")
		}
		bond.Set(name, v)
	}
	v, ok := s.Params.Get("miimon")
	if !ok {
		return nil
	}
	every, _ := loader.Int(v) //nolint:errcheck // checked above
	if every == 0 {
		return Invalid(s.Iface, "miimon", "nonzero integer")
	}
	if !s.Params.Has("downdelay") {
		bond.Set("downdelay", every*2)
	}
	for _, name := range []string{"downdelay", "updelay"} {
		if n, _ := loader.Int(bond.Value(name)); bond.Has(name) && n%every != 0 { //nolint:errcheck // checked above
			return Invalid(s.Iface, name, "0 or a multiple of miimon ("+data.Str(v)+")")
		}
	}
	carrier, ok := s.Params.Get("use_carrier")
	switch {
	case !ok, Off(carrier):
		bond.Set("use_carrier", "0")
	case On(carrier):
		bond.Set("use_carrier", "1")
	default:
		return Invalid(s.Iface, "use_carrier", Switches...)
	}
	return nil
}

func (s *Sysconfig) arp(bond *data.Map) error {
	v, ok := s.Params.Get("arp_interval")
	if !ok {
		return nil
	}
	if _, err := loader.Int(v); err != nil {
		return Invalid(s.Iface, "arp_interval", "integer")
	}
	bond.Set("arp_interval", v)
	targets, err := ARPTargets(s.Iface, s.Params)
	if err != nil {
		return err
	}
	bond.Set("arp_ip_target", targets)
	return nil
}

// ARPTargets returns the option arp_ip_target of a bond, with commas.
func ARPTargets(iface string, params *data.Map) (string, error) {
	list, ok := params.Value("arp_ip_target").([]any)
	if !ok || len(list) == 0 || len(list) > 16 {
		return "", Invalid(iface, "arp_ip_target", "list of ips (up to 16)")
	}
	return strings.Join(data.Texts(list), ","), nil
}

func (s *Sysconfig) lacp(bond *data.Map) error {
	switch v, ok := s.Params.Get("lacp_rate"); {
	case !ok, IsOneOf(v, "slow", "0"):
		bond.Set("lacp_rate", "0")
	case IsOneOf(v, "fast", "1"):
		bond.Set("lacp_rate", "1")
	default:
		return Invalid(s.Iface, "lacp_rate", "fast", "1", "slow", "0")
	}
	v, ok := s.Params.Get("ad_select")
	if !ok {
		v = "0"
	}
	if _, err := loader.Int(v); err != nil {
		return Invalid(s.Iface, "ad_select", "integer")
	}
	bond.Set("ad_select", v)
	return nil
}

func (s *Sysconfig) hashing(bond *data.Map, valid []string) error {
	v, ok := s.Params.Get("hashing-algorithm")
	if !ok {
		return nil
	}
	if !IsOneOf(v, valid...) {
		return Invalid(s.Iface, "hashing-algorithm", Any(valid...)...)
	}
	bond.Set("xmit_hash_policy", v)
	return nil
}

// VLAN sets the options of a VLAN.
func (s *Sysconfig) VLAN() error {
	if s.Type != "vlan" {
		return nil
	}
	if v, ok := s.Params.Get("reorder_hdr"); ok && !On(v) && !Off(v) {
		return Invalid(s.Iface, "reorder_hdr", Switches...)
	}
	if v, ok := s.Params.Get("vlan_id"); ok {
		if n, is := v.(int64); !is || n <= 0 {
			return Invalid(s.Iface, "vlan_id", "Positive integer")
		}
	}
	if v, ok := s.Params.Get("phys_dev"); ok && !data.Truth(v) {
		return Invalid(s.Iface, "phys_dev", "Non-empty string")
	}
	for _, name := range []string{"reorder_hdr", "vlan_id", "phys_dev"} {
		if v, ok := s.Params.Get(name); ok {
			s.Result.Set(name, v)
			s.Result.Set("devtype", "Vlan")
		}
	}
	return nil
}

// Devices sets the type of the device and what depends on it. A bridge makes Salt set parameters of
// the kernel; in test mode nothing is set.
func (s *Sysconfig) Devices(ctx context.Context) error {
	switch s.Type {
	case "eth":
		s.Result.Set("devtype", "Ethernet")
	case "ib":
		s.Result.Set("devtype", "InfiniBand")
	case "ipip":
		s.Result.Set("devtype", "IPIP")
		for _, name := range []string{"my_inner_ipaddr", "my_outer_ipaddr"} {
			if !s.Params.Has(name) {
				return Invalid(s.Iface, name, "1.2.3.4")
			}
			s.Result.Set(name, s.Params.Value(name))
		}
	case "bridge":
		s.Result.Set("devtype", "Bridge")
		return s.bypass(ctx)
	}
	s.Copy("bridge")
	return nil
}

// bypass sets whether the packets of bridges pass the firewall.
func (s *Sysconfig) bypass(ctx context.Context) error {
	value := int64(0)
	if v, ok := s.Params.Get("bypassfirewall"); ok {
		switch {
		case Off(v):
			value = 1
		case !On(v):
			return Invalid(s.Iface, v, Switches...)
		}
	}
	for _, name := range []string{"ip6tables", "iptables", "arptables"} {
		if s.Test {
			return nil
		}
		name = "net.bridge.bridge-nf-call-" + name
		if _, err := s.Env.Call(ctx, "sysctl.persist", []any{name, value}, nil); err != nil {
			if loader.KindOf(err) != loader.KindExecution {
				return err
			}
			s.Env.Log.Warnf("set %s: %v", name, err)
		}
	}
	return nil
}

// Copy takes settings over as they are.
func (s *Sysconfig) Copy(names ...string) {
	for _, name := range names {
		if v, ok := s.Params.Get(name); ok {
			s.Result.Set(name, v)
		}
	}
}

// Prefix sets the length of the prefix or the netmask.
func (s *Sysconfig) Prefix() error {
	if s.Params.Has("prefix") && s.Params.Has("netmask") {
		return Attribute("Cannot use prefix and netmask together")
	}
	s.Copy("prefix", "netmask")
	return nil
}

// Switches sets options that are yes or no.
func (s *Sysconfig) Switches(names ...string) error {
	for _, name := range names {
		v, ok := s.Params.Get(name)
		switch {
		case !ok:
		case On(v):
			s.Result.Set(name, "yes")
		case Off(v):
			s.Result.Set(name, "no")
		default:
			return Invalid(s.Iface, v, Switches...)
		}
	}
	return nil
}

// MTU sets the option mtu.
func (s *Sysconfig) MTU() error {
	v, ok := s.Params.Get("mtu")
	if !ok {
		return nil
	}
	n, err := loader.Int(v)
	if err != nil {
		return Invalid(s.Iface, "mtu", "integer")
	}
	s.Result.Set("mtu", n)
	return nil
}

// OneHardwareAddress returns an error for settings with both forms of the hardware address.
func (s *Sysconfig) OneHardwareAddress() error {
	if s.Params.Has("hwaddr") && s.Params.Has("macaddr") {
		return Attribute("Cannot pass both hwaddr and macaddr. Must use either hwaddr or macaddr")
	}
	return nil
}

// A Line is an entry NAME=value of a file. Values go between the quotes.
type Line struct{ Name, Key, Quote string }

// Quoted returns lines with the same quote. Each pair is a name and the key of its value.
func Quoted(quote string, pairs ...string) []Line {
	var list []Line
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Line{pairs[i], pairs[i+1], quote})
	}
	return list
}

// A File collects the text of a file.
type File struct {
	b   strings.Builder
	bad error // the first value that is refused
}

// Put adds an entry. Shells read these files: Text refuses a value that does not end with its quote, or
// that a shell would expand.
func (f *File) Put(name, quote, value string) {
	inner, special := value, "\"$`\\"
	switch quote {
	case "'":
		special = "'"
	case "":
		if inner, _ = Unquoted(value).(string); inner == value {
			special += "' \t;&|<>()"
		} else if Quote(value) == "'" {
			special = "'"
		}
	}
	if f.bad == nil && strings.ContainsAny(inner, special) {
		f.bad = Attribute("the value %s of %s has characters that a shell reads", data.Repr(value), name)
	}
	f.b.WriteString(name + "=" + quote + value + quote + "\n")
}

// Add adds the entries whose values are true in Python.
func (f *File) Add(values *data.Map, lines []Line) {
	for _, l := range lines {
		if v := values.Value(l.Key); data.Truth(v) {
			f.Put(l.Name, l.Quote, data.Str(v))
		}
	}
}

// Text returns the text of a file for shells.
func (f *File) Text() (string, error) { return f.b.String(), f.bad }

// String returns the text without a check of its values.
func (f *File) String() string { return f.b.String() }

// Words returns the items of a list, or the words of a text. For a text, Salt's templates take its
// letters for the items.
func Words(v any) []string {
	switch v := v.(type) {
	case []any:
		return data.Texts(v)
	case nil:
		return nil
	}
	return strings.Fields(data.Str(v))
}

// Lines returns the lines of a text without their ends, and without the first empty one.
func Lines(text string) []any {
	list := []any{}
	empty := false
	for _, line := range difflib.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" && !empty {
			empty = true
			continue
		}
		list = append(list, line)
	}
	return list
}

// ReadLines returns Lines of a file, which are none if it cannot be read.
func ReadLines(path string) []any {
	src, err := os.ReadFile(path)
	if err != nil {
		return []any{}
	}
	return Lines(string(src))
}

// Config returns the entries NAME=value of a file, with names in lower case.
// Blanks before a value are dropped: a shell would run what follows them.
func Config(path string) *data.Map {
	found := data.NewMap()
	for _, v := range ReadLines(path) {
		line := strings.TrimSpace(v.(string))
		name, value, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "#") {
			found.Set(strings.ToLower(strings.TrimRight(name, " \t")), strings.TrimLeft(value, " \t"))
		}
	}
	return found
}

// Quote returns the quote around a text, or an empty string.
func Quote(v any) string {
	text, ok := v.(string)
	if !ok || len(text) < 2 || text[0] != text[len(text)-1] || !strings.ContainsAny(text[:1], `'"`) {
		return ""
	}
	return text[:1]
}

// Unquoted returns a text without the quotes around it.
func Unquoted(v any) any {
	if Quote(v) == "" {
		return v
	}
	text := v.(string)
	return text[1 : len(text)-1]
}
