// Package netconf holds the common parts of the modules that write the configuration of network
// interfaces: Salt's words for yes and no, its errors, the checks of addresses, and the options of
// ethtool.
//
// sysconfig.go has what Red Hat's and SUSE's files share. The sources are
// salt/modules/debian_ip.py, rh_ip.py and suse_ip.py, and salt/utils/validate/net.py.
package netconf

import (
	"context"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Switches are the values that errors name for an option that is on or off.
var Switches = []any{"yes", "on", "true", "1", true, "no", "off", "false", "0", false}

// On reports whether a value turns an option on.
func On(v any) bool { return one(v, 1, true, "yes", "on", "true", "1") }

// Off reports whether a value turns an option off.
func Off(v any) bool { return one(v, 0, false, "no", "off", "false", "0") }

func one(v any, number int64, truth bool, words ...string) bool {
	switch v := v.(type) {
	case string:
		return slices.Contains(words, v)
	case bool:
		return v == truth
	}
	return data.Equal(v, number)
}

// IsOneOf reports whether v is one of the words.
func IsOneOf(v any, words ...string) bool {
	text, ok := v.(string)
	return ok && slices.Contains(words, text)
}

// Attribute returns the exception that Salt raises for settings it refuses.
func Attribute(format string, args ...any) error {
	return loader.Exception("AttributeError", format, args...)
}

// Invalid returns the error for an option of an interface, with the values that are expected.
func Invalid(iface string, option any, expected ...any) error {
	return Attribute("Invalid option -- Interface: %s, Option: %s, Expected: [%s]", iface,
		data.Str(option), joined(expected))
}

// InvalidNetwork returns the error for a setting of the whole system.
func InvalidNetwork(option string, expected ...any) error {
	return Attribute("Invalid network setting -- Setting: %s, Expected: [%s]", option, joined(expected))
}

func joined(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = data.Str(v)
	}
	return strings.Join(words, "|")
}

// Any returns words as values.
func Any(words ...string) []any { return data.Values(words) }

// Checked returns a copy of settings after a check of them and of the interface's name, which is
// part of file names and command lines. A line end at the end of a text is removed; one inside is
// an error.
func Checked(iface string, settings *data.Map) (*data.Map, error) {
	if err := Name(iface); err != nil {
		return nil, err
	}
	return CheckedSettings(settings)
}

// Name returns an error for a name that no interface can have, or that would mean something else in a
// file name, a script for the shell, an entry of a file or a pattern of ifup.
func Name(iface string) error {
	special := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/\"'$`\\;&|<>()[]{}*?~#!^=%", r)
	}
	if iface == "" || iface == "." || iface == ".." || strings.ContainsFunc(iface, special) ||
		process.PlainOperands(iface) != nil {
		return Attribute("%s is not the name of an interface", data.Repr(iface))
	}
	return nil
}

// CheckedSettings is Checked for settings without an interface.
func CheckedSettings(settings *data.Map) (*data.Map, error) {
	own := data.NewMap()
	for key, v := range settings.All() {
		checked, err := lines(v)
		if err != nil {
			return nil, Attribute("option %s: %w", data.Str(key), err)
		}
		own.Set(key, checked)
	}
	return own, nil
}

// lines returns v without line ends at the ends of its texts.
func lines(v any) (any, error) {
	switch v := v.(type) {
	case string:
		v = strings.TrimRight(v, "\r\n")
		if strings.ContainsAny(v, "\r\n\x00") {
			return nil, Attribute("%s has more than one line", data.Repr(v))
		}
		return v, nil
	case []any:
		own := make([]any, len(v))
		for i, item := range v {
			var err error
			if own[i], err = lines(item); err != nil {
				return nil, err
			}
		}
		return own, nil
	case *data.Map:
		own := data.NewMap()
		for key, item := range v.All() {
			checked, err := lines(item)
			if err != nil {
				return nil, err
			}
			own.Set(key, checked)
		}
		return own, nil
	}
	return v, nil
}

var macs = regexp.MustCompile(
	`(?i)^(?:([0-9a-f]{1,2}-){5}|([0-9a-f]{1,2}:){5}|([0-9a-f]{1,2}\.){5})[0-9a-f]{1,2}$`)

// MAC reports whether v is a hardware address.
func MAC(v any) bool {
	text, ok := v.(string)
	return ok && macs.MatchString(text)
}

// IPv4 reports whether v is an IPv4 address, with or without the length of its prefix.
func IPv4(v any) bool { return address(v, 32) }

// IPv6 reports whether v is an IPv6 address, with or without the length of its prefix.
func IPv6(v any) bool { return address(v, 128) }

func address(v any, longest int64) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	length := longest
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		n, err := loader.Int(text[i+1:])
		if err != nil {
			return false
		}
		text, length = text[:i], n
	}
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Zone() == "" && ip.Is4() == (longest == 32) && length >= 1 && length <= longest
}

// Netmask reports whether v is a netmask in dotted form, as Salt's comparison of texts sees it.
func Netmask(v any) bool {
	text, ok := v.(string)
	octets := strings.Split(text, ".")
	return ok && len(octets) == 4 && IPv4(text) &&
		slices.IsSortedFunc(octets, func(a, b string) int { return strings.Compare(b, a) })
}

// Ethtool returns the options of ethtool among the settings of an interface, in Salt's order.
func Ethtool(params *data.Map, iface string) (*data.Map, error) {
	found := data.NewMap()
	if err := ethtoolSwitches(found, params, iface, "autoneg"); err != nil {
		return nil, err
	}
	if v, ok := params.Get("duplex"); ok {
		if !IsOneOf(v, "full", "half") {
			return nil, Invalid(iface, "duplex", "full", "half")
		}
		found.Set("duplex", v)
	}
	if v, ok := params.Get("speed"); ok {
		speeds := []string{"10", "100", "1000", "10000"}
		if !slices.Contains(speeds, data.Str(v)) {
			return nil, Invalid(iface, v, Any(speeds...)...)
		}
		found.Set("speed", v)
	}
	return found, nil
}

// EthtoolOffloads adds the options of ethtool for offloading.
func EthtoolOffloads(found, params *data.Map, iface string) error {
	return ethtoolSwitches(found, params, iface, "rx", "tx", "sg", "tso", "ufo", "gso", "gro", "lro")
}

func ethtoolSwitches(found, params *data.Map, iface string, names ...string) error {
	for _, name := range names {
		v, ok := params.Get(name)
		switch {
		case !ok:
		case On(v):
			found.Set(name, "on")
		case Off(v):
			found.Set(name, "off")
		default:
			return Invalid(iface, name, Switches...)
		}
	}
	return nil
}

// Routes returns the routes among the settings of an interface, with names of options in lower case.
// Their values are addresses and numbers: they become words of scripts for the shell. A dash stands for
// no netmask and no gateway, as in SUSE's files, and is left out.
func Routes(iface string, settings *data.Map) ([]*data.Map, error) {
	listed, ok := lower(settings).Get("routes")
	list, is := listed.([]any)
	if !ok || !is {
		return nil, Attribute("Invalid option -- Route interface: %s, Option: routes, Expected: [List of routes]",
			iface)
	}
	var routes []*data.Map
	for _, v := range list {
		route, is := v.(*data.Map)
		if !is || !data.Truth(route.Value("ipaddr")) {
			return nil, Attribute("Invalid option -- Route interface: %s, Option: ipaddr, "+
				"Expected: [the network of each route]", iface)
		}
		route = route.Clone()
		for _, option := range []string{"netmask", "gateway"} {
			if data.Str(route.Value(option)) == "-" {
				route.Delete(option)
			}
		}
		if err := checkRoute(iface, route); err != nil {
			return nil, err
		}
		routes = append(routes, route)
	}
	return routes, nil
}

var (
	lengths = regexp.MustCompile(`^[0-9]{1,3}$`)
	metrics = regexp.MustCompile(`^[0-9]{1,10}$`)
)

// checkRoute returns an error for a route with a value that is none of a route.
func checkRoute(iface string, route *data.Map) error {
	isAddress := func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Zone() == ""
	}
	isNetwork := func(text string) bool {
		_, err := netip.ParsePrefix(text)
		return err == nil || text == "default" || isAddress(text)
	}
	for _, c := range []struct {
		option, expected string
		good             func(string) bool
	}{
		{"ipaddr", "address, network or default", isNetwork},
		{"netmask", "netmask or length", func(s string) bool { return lengths.MatchString(s) || isAddress(s) }},
		{"gateway", "address", isAddress},
		{"metric", "integer", metrics.MatchString},
		{"dev", "name of an interface", func(s string) bool { return Name(s) == nil }},
	} {
		if v := route.Value(c.option); data.Truth(v) && !c.good(data.Str(v)) {
			return Attribute("Invalid option -- Route interface: %s, Option: %s, Value: %s, Expected: [%s]", iface,
				c.option, data.Repr(v), c.expected)
		}
	}
	if v := route.Value("netmask"); data.Truth(v) && strings.Contains(data.Str(route.Value("ipaddr")), "/") {
		return Attribute("Invalid option -- Route interface: %s, Option: netmask, Value: %s, "+
			"Expected: [none beside the length in ipaddr]", iface, data.Repr(v))
	}
	return nil
}

// Lower returns settings with their names in lower case.
func Lower(settings *data.Map) *data.Map { return lower(settings) }

func lower(settings *data.Map) *data.Map {
	own := data.NewMap()
	for key, v := range settings.All() {
		own.Set(strings.ToLower(data.Str(key)), v)
	}
	return own
}

// Write writes a file and keeps the mode and the owner of an existing one. mode is that of a new one.
// A link stays, and the file that it names is written: /etc/resolv.conf often is one.
func Write(path, text string, mode os.FileMode) error {
	o := atomicfile.Options{Follow: true, Keep: true}
	if _, err := os.Stat(path); err != nil {
		o = atomicfile.Options{Follow: true, Mode: mode}
	}
	if err := atomicfile.Write(path, []byte(text), o); err != nil {
		return loader.Execution("write %s: %w", path, err)
	}
	return nil
}

// InDirectory returns an error if the directory of a file does not exist.
func InDirectory(file, dir string, found bool) error {
	if found {
		return nil
	}
	return Attribute("%s cannot be written. %s does not exist", file, dir)
}

// IsDir reports whether a path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Turn runs ifup or ifdown for an interface and returns its output. A program that fails is an error.
func Turn(ctx context.Context, env *loader.Env, program, iface string) (any, error) {
	if err := Name(iface); err != nil {
		return nil, err
	}
	return Run(ctx, env, program, iface)
}

// Run runs a program and returns its output. If the program fails, the error has its command line, its
// exit code and what it printed.
func Run(ctx context.Context, env *loader.Env, argv ...string) (string, error) {
	ran, err := calls.RunAll(ctx, env, calls.Run{Argv: argv, MergeStderr: true})
	if err == nil && ran.Retcode != 0 {
		err = loader.Execution("%s: exit code %d: %s", strings.Join(argv, " "), ran.Retcode,
			strings.TrimSpace(ran.Stdout+"\n"+ran.Stderr))
	}
	return ran.Stdout, err
}

// Hostname changes the host name if the settings say so, and reports whether that succeeded.
func Hostname(ctx context.Context, env *loader.Env, settings *data.Map) (bool, error) {
	if !On(settings.Value("apply_hostname")) {
		return true, nil
	}
	name, ok := settings.Get("hostname")
	if !ok {
		env.Log.Warn("network settings with apply_hostname have no hostname")
		return false, nil
	}
	v, err := loader.CallAs[any](ctx, env, "network.mod_hostname", []any{name}, nil)
	return data.Truth(v), err
}

// Reboots reports whether the settings take effect at the next boot only.
func Reboots(env *loader.Env, settings *data.Map) bool {
	if !On(settings.Value("require_reboot")) {
		return false
	}
	env.Log.Warn("the network settings need a reboot to take effect")
	return true
}

// Install installs a package. With missing, it does so only if the package is not installed.
func Install(ctx context.Context, env *loader.Env, name string, missing bool) error {
	if missing {
		v, err := loader.CallAs[any](ctx, env, "pkg.version", []any{name}, nil)
		if err != nil || data.Truth(v) {
			return err
		}
	}
	_, err := loader.CallAs[any](ctx, env, "pkg.install", []any{name}, nil)
	return err
}

// Counts are the texts of whole numbers from 1 to n.
func counts(n int64) []any {
	var texts []any
	for i := range n {
		texts = append(texts, strconv.FormatInt(i+1, 10))
	}
	return texts
}
