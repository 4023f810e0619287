// Package suseip is Salt's module ip for SUSE: the files in /etc/sysconfig/network
// (salt/modules/suse_ip.py and templates/suse_ip).
//
// Differences from Salt: test mode installs no packages and sets no parameters of the kernel.
// Values hold no line ends. Types of interfaces that Salt accepts but cannot write are errors. The
// error for the option ipv6addr names the address. A failing ifup, ifdown or netconfig is an error.
package suseip

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/netconf"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

const (
	scripts  = "/etc/sysconfig/network"
	settings = "/etc/sysconfig/network/config"
)

// Plugin returns the module ip for SUSE.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ip", File: "suse_ip", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if env.GrainsNow().Text("os_family") != "Suse" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The suse_ip execution module cannot be loaded: " +
			"this module is only available on SUSE based distributions.")
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

type ifaceArgs struct{ Iface string }

type turnArgs struct {
	Iface     string
	IfaceType any `default:"None"`
}

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
// bridge, slave, vlan, ipip, ib or alias. With test, it returns the lines only.
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
	known := []string{"eth", "bond", "alias", "clone", "ipsec", "dialup", "bridge", "slave", "vlan", "ipip",
		"ib"}
	if !slices.Contains(known, kind) {
		return nil, netconf.Invalid(a.Iface, kind, netconf.Any(known...)...)
	}
	test := data.Truth(params.Value("test"))
	switch kind {
	case "clone", "ipsec", "dialup":
		return nil, netconf.Attribute("interfaces of the type %s are not written by Salt", kind)
	case "slave":
		params.Set("slave", "yes")
		if !params.Has("master") {
			return nil, netconf.Attribute("master is a required setting for slave interfaces")
		}
	case "bond":
		if !params.Has("mode") {
			return nil, netconf.Attribute("mode is required for bond interfaces")
		}
		params.Set("mode", data.Str(params.Value("mode")))
	case "vlan":
		params.Set("vlan", "yes")
	case "bridge":
		if !test {
			if err := netconf.Install(ctx, m.env, "bridge-utils", true); err != nil {
				return nil, err
			}
		}
	}
	values, err := m.values(ctx, a, kind, params, test)
	if err != nil {
		return nil, err
	}
	text, err := interfaceText(values)
	if err != nil {
		return nil, err
	}
	if test {
		return netconf.Lines(text), nil
	}
	path := m.path(scripts + "/ifcfg-" + a.Iface)
	if err := m.write(scripts+"/ifcfg-"+a.Iface, text); err != nil {
		return nil, err
	}
	return netconf.ReadLines(path), nil
}

func (m *module) write(path, text string) error {
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
	return netconf.ReadLines(m.path(scripts + "/ifcfg-" + a.Iface)), nil
}

// routesFile returns the file with the routes of an interface, or with those of the system for the
// name routes.
func routesFile(iface string) string {
	if iface == "routes" {
		return scripts + "/routes"
	}
	return scripts + "/ifroute-" + iface
}

// buildRoutes writes the routes of an interface and returns the lines of the file. The name routes
// stands for the routes of the whole system. Each route has ipaddr, and may have name, netmask,
// gateway, dev and metric. With test, it returns the lines only.
//
// CLI Example:
//
//	salt '*' ip.build_routes eth0 routes='[{"ipaddr": "10.2.0.0/16", "gateway": "10.1.0.1"}]'
func (m *module) buildRoutes(_ context.Context, a routesArgs) (any, error) {
	params, err := netconf.Checked(a.Iface, a.Settings)
	if err != nil {
		return nil, err
	}
	routes, err := netconf.Routes(a.Iface, params)
	if err != nil {
		return nil, err
	}
	text := routesText(a.Iface, routes)
	if data.Truth(params.Value("test")) {
		return netconf.Lines(text), nil
	}
	if err := m.write(routesFile(a.Iface), text); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.path(routesFile(a.Iface))), nil
}

// getRoutes returns the lines of the file with the routes of an interface. The name routes stands
// for the routes of the whole system.
//
// CLI Example:
//
//	salt '*' ip.get_routes eth0
func (m *module) getRoutes(_ context.Context, a ifaceArgs) (any, error) {
	if err := netconf.Name(a.Iface); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.path(routesFile(a.Iface))), nil
}

// down takes an interface down with ifdown and returns the output. Slaves are left to their master.
//
// CLI Example:
//
//	salt '*' ip.down eth0
func (m *module) down(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifdown", a) }

// up brings an interface up with ifup and returns the output. Slaves are left to their master.
//
// CLI Example:
//
//	salt '*' ip.up eth0
func (m *module) up(ctx context.Context, a turnArgs) (any, error) { return m.turn(ctx, "ifup", a) }

func (m *module) turn(ctx context.Context, program string, a turnArgs) (any, error) {
	if data.Truth(a.IfaceType) && strings.EqualFold(data.Str(a.IfaceType), "slave") {
		return nil, nil
	}
	return netconf.Turn(ctx, m.env, program, a.Iface)
}

// getNetworkSettings returns the lines of /etc/sysconfig/network/config.
//
// CLI Example:
//
//	salt '*' ip.get_network_settings
func (m *module) getNetworkSettings(context.Context, loader.NoArgs) (any, error) {
	return netconf.ReadLines(m.path(settings)), nil
}

// applyNetworkSettings reloads the service network, unless require_reboot is set. With
// apply_hostname, it changes the host name. It returns whether both succeeded.
//
// CLI Example:
//
//	salt '*' ip.apply_network_settings
func (m *module) applyNetworkSettings(ctx context.Context, a settingsArgs) (any, error) {
	named, err := netconf.Hostname(ctx, m.env, a.Settings)
	if err != nil || netconf.Reboots(m.env, a.Settings) {
		return named, err
	}
	reloaded, err := calls.ServiceReload(ctx, m.env, "network", nil)
	return named && reloaded, err
}

// buildNetworkSettings writes /etc/sysconfig/network/config, runs netconfig, and returns the lines
// of the file. With test, it returns the lines only. With retain_settings, other settings of the
// file stay.
//
// CLI Example:
//
//	salt '*' ip.build_network_settings dns='["192.0.2.1"]'
func (m *module) buildNetworkSettings(ctx context.Context, a settingsArgs) (any, error) {
	params, err := netconf.CheckedSettings(a.Settings)
	if err != nil {
		return nil, err
	}
	text, err := networkText(networkValues(netconf.Lower(params), netconf.Config(m.path(settings))))
	if err != nil {
		return nil, err
	}
	if data.Truth(params.Value("test")) {
		return netconf.Lines(text), nil
	}
	if err := netconf.Write(m.path(settings), text, 0o644); err != nil {
		return nil, err
	}
	if _, err := netconf.Run(ctx, m.env, "netconfig", "update", "-f"); err != nil {
		return nil, err
	}
	return netconf.ReadLines(m.path(settings)), nil
}
