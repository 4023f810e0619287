// Package rhip is Salt's module ip for Red Hat and its kin: the files in
// /etc/sysconfig/network-scripts (salt/modules/rh_ip.py and templates/rh_ip).
//
// Differences from Salt: test mode installs no packages and sets no parameters of the kernel.
// Values hold no line ends. A release without such files is an error, and so are types of
// interfaces that Salt accepts but cannot write. Texts in dns and domain are split into words. The
// setting enable_ipv6 of the system may be False. A failing ifup or ifdown is an error.
package rhip

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

const (
	scripts  = "/etc/sysconfig/network-scripts"
	settings = "/etc/sysconfig/network"
)

// Plugin returns the module ip for Red Hat.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ip", File: "rh_ip", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	grains := env.GrainsNow()
	if grains.Text("os_family") != "RedHat" || grains.Text("os") == "Amazon" && m.major() < 2 {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The rh_ip execution module cannot be loaded: this module is only available on" +
			" RHEL/Fedora based distributions.")
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("apply_network_settings", m.applyNetworkSettings),
		loader.F("build_interface", m.buildInterface),
		loader.F("build_network_settings", m.buildNetworkSettings),
		loader.F("build_routes", m.buildRoutes),
		loader.F("down", m.down),
		loader.F("get_interface", m.getInterface),
		loader.F("get_network_settings", m.getNetworkSettings),
		loader.F("get_routes", m.getRoutes),
		loader.F("up", m.up),
	}}, nil
}

func (m *module) path(p string) string { return filepath.Join("/", m.env.Root, p) }

func (m *module) script(prefix, iface string) string {
	return m.path(filepath.Join(scripts, prefix+"-"+iface))
}

// major returns the grain osmajorrelease, 0 if it is no number.
func (m *module) major() int64 {
	n, _ := loader.Int(m.env.GrainsNow().Value("osmajorrelease")) //nolint:errcheck // no number is 0
	return n
}

// release returns the first digit of the release whose files are written.
func (m *module) release() string {
	grains := m.env.GrainsNow()
	switch grains.Text("os") {
	case "Fedora":
		if m.major() >= 28 {
			return "8"
		}
		return "7"
	case "Amazon":
		return "7"
	}
	return data.Str(grains.Value("osrelease"))[:min(1, len(data.Str(grains.Value("osrelease"))))]
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

// buildInterface writes the file of an interface and returns its lines. iface_type is eth, bond,
// team, teamport, bridge, slave, vlan, ipip, ib or alias. With test, it returns the lines only.
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
	known := []string{"eth", "bond", "team", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "teamport",
		"vlan", "ipip", "ib"}
	if !slices.Contains(known, kind) {
		return nil, netconf.Invalid(a.Iface, kind, netconf.Any(known...)...)
	}
	if kind == "clone" || kind == "ipsec" || kind == "dialup" {
		return nil, netconf.Attribute("interfaces of the type %s are not written by Salt", kind)
	}
	if err := m.prepare(params, kind); err != nil {
		return nil, err
	}
	test := data.Truth(params.Value("test"))
	if programs := map[string]string{"bridge": "bridge-utils", "team": "teamd"}; programs[kind] != "" && !test {
		if err := netconf.Install(ctx, m.env, programs[kind], true); err != nil {
			return nil, err
		}
	}
	values, err := m.values(ctx, a, kind, params, test)
	if err != nil {
		return nil, err
	}
	if r := m.release(); r != "7" && r != "8" && r != "9" {
		return nil, netconf.Attribute("release %s has no files for interfaces in %s",
			data.Str(m.env.GrainsNow().Value("osrelease")), scripts)
	}
	text, err := interfaceText(values)
	if err != nil {
		return nil, err
	}
	if test {
		return netconf.Lines(text), nil
	}
	if err := m.write("ifcfg", a.Iface, text); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.script("ifcfg", a.Iface)), nil
}

// prepare checks the settings that a type of interface needs, and adds those that it implies.
func (m *module) prepare(params *data.Map, kind string) error {
	switch kind {
	case "slave":
		params.Set("slave", "yes")
		if !params.Has("master") {
			return netconf.Attribute("master is a required setting for slave interfaces")
		}
	case "bond":
		if !params.Has("mode") {
			return netconf.Attribute("mode is required for bond interfaces")
		}
		params.Set("mode", data.Str(params.Value("mode")))
	case "teamport":
		master, has := params.Get("master")
		if !has && !params.Has("team_master") {
			return netconf.Attribute("master or team_master is a required setting for teamport interfaces")
		}
		params.Delete("master")
		if !params.Has("team_master") {
			params.Set("team_master", master)
		}
	case "vlan":
		params.Set("vlan", "yes")
	}
	return nil
}

func (m *module) write(prefix, iface, text string) error {
	path := filepath.Join(scripts, prefix+"-"+iface)
	if err := netconf.InDirectory(path, scripts, netconf.IsDir(m.path(scripts))); err != nil {
		return err
	}
	return netconf.Write(m.path(path), text, 0o644)
}

// getInterface returns the lines of the file of an interface.
//
// CLI Example:
//
//	salt '*' ip.get_interface eth0
func (m *module) getInterface(_ context.Context, a ifaceArgs) (any, error) {
	if err := netconf.Name(a.Iface); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.script("ifcfg", a.Iface)), nil
}

// buildRoutes writes the routes of an interface and returns the lines of both files. Each route has
// ipaddr, and may have name, netmask, gateway and metric. With test, it returns the lines only.
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
	var v4, v6 []*data.Map
	for _, route := range routes {
		if netconf.IPv6(route.Value("ipaddr")) {
			v6 = append(v6, route)
		} else {
			v4 = append(v4, route)
		}
	}
	form := routeCommands
	release := data.Str(m.env.GrainsNow().Value("osrelease"))
	if n, err := strconv.Atoi(release[:min(1, len(release))]); err == nil && n < 6 {
		form = routeEntries
	}
	text4, text6 := form(a.Iface, v4), form(a.Iface, v6)
	if data.Truth(params.Value("test")) {
		return append(netconf.Lines(text4), netconf.Lines(text6)...), nil
	}
	if err := m.write("route", a.Iface, text4); err != nil {
		return nil, err
	}
	if err := m.write("route6", a.Iface, text6); err != nil {
		return nil, err
	}
	return m.routes(a.Iface), nil
}

func (m *module) routes(iface string) []any {
	return append(netconf.ReadLines(m.script("route", iface)), netconf.ReadLines(m.script("route6", iface))...)
}

// getRoutes returns the lines of the files with the routes of an interface.
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

// down takes an interface down with ifdown and returns the output. Slaves and ports are left to
// their master.
//
// CLI Example:
//
//	salt '*' ip.down eth0 eth
func (m *module) down(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifdown", a) }

// up brings an interface up with ifup and returns the output. Slaves and ports are left to their
// master.
//
// CLI Example:
//
//	salt '*' ip.up eth0 eth
func (m *module) up(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifup", a) }

func (m *module) turn(ctx context.Context, program string, a turnArgs) (any, error) {
	if kind := strings.ToLower(a.IfaceType); kind == "slave" || kind == "teamport" {
		return nil, nil
	}
	return netconf.Turn(ctx, m.env, program, a.Iface)
}

// getNetworkSettings returns the lines of /etc/sysconfig/network.
//
// CLI Example:
//
//	salt '*' ip.get_network_settings
func (m *module) getNetworkSettings(context.Context, loader.NoArgs) (any, error) {
	return netconf.ReadLines(m.path(settings)), nil
}

// applyNetworkSettings restarts the network, unless require_reboot is set. With apply_hostname, it
// changes the host name. It returns whether both succeeded.
//
// CLI Example:
//
//	salt '*' ip.apply_network_settings
func (m *module) applyNetworkSettings(ctx context.Context, a settingsArgs) (any, error) {
	named, err := netconf.Hostname(ctx, m.env, a.Settings)
	if err != nil || netconf.Reboots(m.env, a.Settings) {
		return named, err
	}
	service := "network"
	if m.major() >= 8 {
		service = "NetworkManager"
	}
	restarted, err := calls.ServiceRestart(ctx, m.env, service, nil)
	return named && restarted, err
}

// buildNetworkSettings writes /etc/sysconfig/network and returns its lines. With test, it returns
// the lines only. With retain_settings, other settings of the file stay.
//
// CLI Example:
//
//	salt '*' ip.build_network_settings enabled=True hostname=web1.example.org
func (m *module) buildNetworkSettings(_ context.Context, a settingsArgs) (any, error) {
	params, err := netconf.CheckedSettings(a.Settings)
	if err != nil {
		return nil, err
	}
	values, err := networkValues(netconf.Lower(params), netconf.Config(m.path(settings)))
	if err != nil {
		return nil, err
	}
	text, err := networkText(values)
	if err != nil {
		return nil, err
	}
	if data.Truth(params.Value("test")) {
		return netconf.Lines(text), nil
	}
	if err := netconf.Write(m.path(settings), text, 0o644); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.path(settings)), nil
}
