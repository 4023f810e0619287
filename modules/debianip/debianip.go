// Package debianip is Salt's module ip for Debian and its kin: /etc/network/interfaces and the
// scripts beside it (salt/modules/debian_ip.py and templates/debian_ip).
//
// As in Salt, building an interface writes all interfaces anew into /etc/network/interfaces, with
// those of interfaces.d: comments, source lines and unknown options are lost. Numbers among the
// options of bonds, bridges and ethtool are left out, only texts are written.
//
// Differences from Salt: test mode installs no packages, switches no services, and returns what a
// real run returns. The type source has lines in test mode, too. Values hold no line ends. Routes
// are read from the file that build_routes writes, also for names with dots. The settings of the
// system name the host as in /etc/hostname if that is the wanted name, and search domains as words;
// resolv.conf gets no blank lines. Debian 5 is not supported. A restart of the network does not
// wait two seconds. A failing ifup or ifdown is an error.
package debianip

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
)

const (
	interfaces = "/etc/network/interfaces"
	directory  = "/etc/network/interfaces.d"
	ups        = "/etc/network/if-up.d"
	downs      = "/etc/network/if-down.d"
	modprobe   = "/etc/modprobe.d"
	networking = "/etc/default/networking"
	resolv     = "/etc/resolv.conf"
	peers      = "/etc/ppp/peers"
)

// Plugin returns the module ip for Debian.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ip", File: "debian_ip", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if env.GrainsNow().Text("os_family") != "Debian" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The debian_ip module could not be loaded: unsupported OS family")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("apply_network_settings", m.applyNetworkSettings),
		loader.F("build_bond", m.buildBond),
		loader.F("build_interface", m.buildInterface),
		loader.F("build_network_settings", m.buildNetworkSettings),
		loader.F("build_routes", m.buildRoutes),
		loader.F("down", m.down),
		loader.F("get_bond", m.getBond),
		loader.F("get_interface", m.getInterface),
		loader.F("get_network_settings", m.getNetworkSettings),
		loader.F("get_routes", m.getRoutes),
		loader.F("up", m.up),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

// lines returns the lines of a text with their ends.
func lines(text string) []any {
	list := data.Values(difflib.ByteLines(text))
	if list == nil {
		return []any{}
	}
	return list
}

// read returns the lines of a file, or an empty text if it cannot be read.
func (m *module) read(path string) any {
	src, err := os.ReadFile(m.path(path))
	if err != nil {
		return ""
	}
	return lines(string(src))
}

type ifaceArgs struct{ Iface string }

type turnArgs struct{ Iface, IfaceType string }

type settingsArgs struct {
	Settings *data.Map `kwargs:"settings"`
}

type routesArgs struct {
	Iface    string
	Settings *data.Map `kwargs:"settings"`
}

type buildArgs struct {
	Iface, IfaceType string
	Enabled          any
	Settings         *data.Map `kwargs:"settings"`
}

// buildInterface writes an interface and returns its lines. iface_type is eth, bond, bridge, slave,
// vlan, pppoe or source. With filename, it writes the interface alone into a file of that name in
// /etc/network/interfaces.d. With test, it returns the lines only.
//
// CLI Example:
//
//	salt '*' ip.build_interface eth0 eth True proto=dhcp
func (m *module) buildInterface(ctx context.Context, a buildArgs) (any, error) {
	params, err := netconf.Checked(a.Iface, a.Settings)
	if err != nil {
		return nil, err
	}
	kind := strings.ToLower(a.IfaceType)
	known := []string{"eth", "bond", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "vlan", "pppoe",
		"source"}
	if !slices.Contains(known, kind) {
		return nil, netconf.Invalid(a.Iface, kind, netconf.Any(known...)...)
	}
	test := data.Truth(params.Value("test"))
	if err := m.prepare(ctx, params, kind, test); err != nil {
		return nil, err
	}
	var own *adapter
	if kind == "source" {
		own, err = source(a.Iface, params)
	} else {
		own, err = m.values(params, kind, data.Truth(a.Enabled), a.Iface)
	}
	if err != nil {
		return nil, err
	}
	if test {
		return split(own.text(a.Iface)), nil
	}
	if kind == "pppoe" { // before anything is written
		if err := m.peerFits(own); err != nil {
			return nil, err
		}
	}
	if err := m.write(a.Iface, own, params); err != nil {
		return nil, err
	}
	if kind == "pppoe" {
		if err := m.writePeer(own); err != nil {
			return nil, err
		}
	}
	return split(own.text(a.Iface)), nil
}

// split returns the lines of a text as Salt does: with one empty line more.
func split(text string) []any {
	list := []any{}
	for line := range strings.SplitSeq(text, "\n") {
		list = append(list, line+"\n")
	}
	return list
}

// prepare checks the settings that a type of interface needs, and installs its package.
func (m *module) prepare(ctx context.Context, params *data.Map, kind string, test bool) error {
	needs := func(name, text string) error {
		if params.Has(name) {
			return nil
		}
		return netconf.Attribute("%s", text)
	}
	pkg := ""
	switch kind {
	case "alias", "clone", "ipsec", "dialup":
		return netconf.Attribute("interfaces of the type %s are not written by Salt", kind)
	case "slave":
		return needs("master", "master is a required setting for slave interfaces")
	case "bond":
		return needs("slaves", "slaves is a required setting for bond interfaces")
	case "source":
		return needs("source", "source is a required setting for source interfaces")
	case "bridge":
		if err := needs("ports", "ports is a required setting for bridge interfaces on Debian "+
			"or Ubuntu based systems"); err != nil {
			return err
		}
		pkg = "bridge-utils"
	case "vlan":
		pkg = "vlan"
	case "pppoe":
		pkg = "ppp"
	}
	if pkg == "" || test {
		return nil
	}
	return netconf.Install(ctx, m.env, pkg, kind == "pppoe")
}

// write writes all interfaces, or one into a file of its own.
func (m *module) write(iface string, own *adapter, params *data.Map) error {
	all, err := m.parse()
	if err != nil {
		return err
	}
	all.set(iface, own)
	file, text := interfaces, all.text()
	if v, ok := params.Get("filename"); ok {
		file, text = data.Str(v), own.text(iface)
		if !strings.HasPrefix(file, "/") {
			file = directory + "/" + file
		}
	}
	if dir := filepath.Dir(file); !netconf.IsDir(m.path(dir)) {
		return netconf.Attribute("%s cannot be written.", dir)
	}
	return netconf.Write(m.path(file), text, 0o644)
}

// peerFits returns an error if the file of a provider cannot be written.
func (m *module) peerFits(own *adapter) error {
	if err := netconf.Name(data.Str(own.family("inet").Value("provider"))); err != nil {
		return err
	}
	if !netconf.IsDir(m.path(peers)) {
		return netconf.Attribute("%s cannot be written.", peers+"/")
	}
	return nil
}

// writePeer writes the file of a provider for pppd. Only its owner may read it, for its password.
func (m *module) writePeer(own *adapter) error {
	of := own.family("inet")
	provider := data.Str(of.Value("provider"))
	return netconf.Write(m.path(peers+"/"+provider), peerText(of), 0o600)
}

// getInterface returns the lines of an interface as build_interface writes them, or an empty list.
//
// CLI Example:
//
//	salt '*' ip.get_interface eth0
func (m *module) getInterface(_ context.Context, a ifaceArgs) (any, error) {
	all, err := m.parse()
	if err != nil {
		return nil, err
	}
	own := all.by[a.Iface]
	if own == nil {
		return []any{}, nil
	}
	if a.Iface == "source" {
		return split(own.sourceText()), nil
	}
	return split(own.text(a.Iface)), nil
}

// buildBond writes the options of the kernel module for a bond, loads the module, installs
// ifenslave, and returns the lines of the file. With test, it returns the lines only.
//
// CLI Example:
//
//	salt '*' ip.build_bond bond0 mode=balance-alb
func (m *module) buildBond(ctx context.Context, a routesArgs) (any, error) {
	params, err := netconf.Checked(a.Iface, a.Settings)
	if err != nil {
		return nil, err
	}
	bond, err := m.bond(params, a.Iface)
	if err != nil {
		return nil, err
	}
	text := "alias " + a.Iface + " bonding\noptions " + a.Iface + " "
	for key, v := range bond.All() {
		text += data.Str(key) + "=" + data.Str(v) + " "
	}
	if data.Truth(params.Value("test")) {
		return lines(text), nil
	}
	path := modprobe + "/" + a.Iface + ".conf"
	if err := netconf.InDirectory(path, modprobe+"/", netconf.IsDir(m.path(modprobe))); err != nil {
		return nil, err
	}
	if err := netconf.Write(m.path(path), text, 0o644); err != nil {
		return nil, err
	}
	loaded, err := m.env.Call(ctx, "kmod.load", []any{"bonding"}, nil)
	if err != nil {
		return nil, err
	}
	if text, failed := loaded.(string); failed { // ifup fails where the kernel has no bonding
		m.env.Log.Warnf("load the kernel module bonding for %s: %s", a.Iface, text)
	}
	if err := netconf.Install(ctx, m.env, "ifenslave", false); err != nil {
		return nil, err
	}
	return m.read(path), nil
}

// getBond returns the lines of the file that build_bond writes, or an empty text.
//
// CLI Example:
//
//	salt '*' ip.get_bond bond0
func (m *module) getBond(_ context.Context, a ifaceArgs) (any, error) {
	if err := netconf.Name(a.Iface); err != nil {
		return nil, err
	}
	return m.read(modprobe + "/" + a.Iface + ".conf"), nil
}

// buildRoutes writes the scripts that add and delete the routes of an interface, and returns the
// lines of both. Each route has ipaddr, and may have name, netmask, gateway and metric. With test,
// it returns the lines only.
//
// CLI Example:
//
//	salt '*' ip.build_routes eth0 routes='[{"ipaddr": "10.2.0.0", "netmask": "16", "gateway": "10.1.0.1"}]'
func (m *module) buildRoutes(_ context.Context, a routesArgs) (any, error) {
	params, err := netconf.Checked(a.Iface, a.Settings)
	if err != nil {
		return nil, err
	}
	routes, err := netconf.Routes(a.Iface, params)
	if err != nil {
		return nil, err
	}
	add, del := routesText("add", a.Iface, routes), routesText("del", a.Iface, routes)
	if data.Truth(params.Value("test")) {
		return lines(add + del), nil
	}
	for _, script := range [][2]string{{ups, add}, {downs, del}} {
		dir, text := script[0], script[1]
		path := routesFile(dir, a.Iface)
		if err := netconf.InDirectory(path, dir+"/", netconf.IsDir(m.path(dir))); err != nil {
			return nil, err
		}
		if err := netconf.Write(m.path(path), text, 0o755); err != nil {
			return nil, err
		}
		if err := os.Chmod(m.path(path), 0o755); err != nil {
			return nil, loader.Execution("make the script of routes executable: %w", err)
		}
	}
	return m.routes(a.Iface), nil
}

// routesFile returns the script of an interface. run-parts runs no file whose name has a dot.
func routesFile(dir, iface string) string {
	return dir + "/route-" + strings.ReplaceAll(iface, ".", "_")
}

// routes returns the lines of both scripts, or an empty text if none can be read.
func (m *module) routes(iface string) any {
	up, one := m.read(routesFile(ups, iface)).([]any)
	down, other := m.read(routesFile(downs, iface)).([]any)
	if !one && !other {
		return ""
	}
	return append(append([]any{}, up...), down...)
}

// getRoutes returns the lines of the scripts with the routes of an interface, or an empty text.
//
// CLI Example:
//
//	salt '*' ip.get_routes eth0
func (m *module) getRoutes(_ context.Context, a ifaceArgs) (any, error) {
	if err := netconf.Name(a.Iface); err != nil {
		return nil, err
	}
	return m.routes(a.Iface), nil
}

// down takes an interface down with ifdown and returns the output. Slaves are left to their master.
//
// CLI Example:
//
//	salt '*' ip.down eth0 eth
func (m *module) down(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifdown", a) }

// up brings an interface up with ifup and returns the output. Slaves are left to their master.
//
// CLI Example:
//
//	salt '*' ip.up eth0 eth
func (m *module) up(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifup", a) }

func (m *module) turn(ctx context.Context, program string, a turnArgs) (any, error) {
	if a.IfaceType == "slave" || a.IfaceType == "source" {
		return nil, nil
	}
	return netconf.Turn(ctx, m.env, program, a.Iface)
}
