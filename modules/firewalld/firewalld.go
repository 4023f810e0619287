// Package firewalld is Salt's module firewalld: zones, services and ports of the firewall firewalld, by
// means of its program firewall-cmd (salt/modules/firewalld.py).
//
// Differences from Salt: a value is one argument of the program, whatever is in it, and values with a
// line end are refused; the address of a forwarded port may be one of IPv6.
package firewalld

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module firewalld. It loads only on hosts with the program firewall-cmd.
func Plugin() loader.Plugin { return loader.Plugin{Name: "firewalld", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("firewall-cmd") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The firewalld execution module cannot be loaded: " +
			"the firewall-cmd binary is not in the path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_interface", m.addInterface),
		loader.F("add_masquerade", m.addMasquerade),
		loader.F("add_port", m.addPort),
		loader.F("add_port_fwd", m.addPortFwd),
		loader.F("add_rich_rule", m.addRichRule),
		loader.F("add_service", m.addService),
		loader.F("add_service_port", m.addServicePort),
		loader.F("add_service_protocol", m.addServiceProtocol),
		loader.F("add_source", m.addSource),
		loader.F("allow_icmp", m.allowIcmp),
		loader.F("block_icmp", m.blockIcmp),
		loader.F("default_zone", m.defaultZone),
		loader.F("delete_service", m.deleteService),
		loader.F("delete_zone", m.deleteZone),
		loader.F("get_icmp_types", m.getIcmpTypes),
		loader.F("get_interfaces", m.getInterfaces),
		loader.F("get_masquerade", m.getMasquerade),
		loader.F("get_rich_rules", m.getRichRules),
		loader.F("get_service_ports", m.getServicePorts),
		loader.F("get_service_protocols", m.getServiceProtocols),
		loader.F("get_services", m.getServices),
		loader.F("get_sources", m.getSources),
		loader.F("get_zones", m.getZones),
		loader.F("list_all", m.listAll),
		loader.F("list_icmp_block", m.listIcmpBlock),
		loader.F("list_port_fwd", m.listPortFwd),
		loader.F("list_ports", m.listPorts),
		loader.F("list_services", m.listServices),
		loader.F("list_zones", m.listZones),
		loader.F("make_permanent", m.makePermanent),
		loader.F("new_service", m.newService),
		loader.F("new_zone", m.newZone),
		loader.F("reload_rules", m.reloadRules),
		loader.F("remove_interface", m.removeInterface),
		loader.F("remove_masquerade", m.removeMasquerade),
		loader.F("remove_port", m.removePort),
		loader.F("remove_port_fwd", m.removePortFwd),
		loader.F("remove_rich_rule", m.removeRichRule),
		loader.F("remove_service", m.removeService),
		loader.F("remove_service_port", m.removeServicePort),
		loader.F("remove_service_protocol", m.removeServiceProtocol),
		loader.F("remove_source", m.removeSource),
		loader.F("set_default_zone", m.setDefaultZone),
		loader.F("version", m.version),
	}}, nil
}

// cmd runs firewall-cmd and returns its output. Its failure is an error.
func (m *module) cmd(ctx context.Context, permanent any, options ...string) (string, error) {
	if data.Truth(permanent) {
		options = append(options, "--permanent")
	}
	for _, option := range options {
		if strings.ContainsAny(option, "\r\n\x00") {
			return "", loader.Execution("%q contains a line end", option)
		}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{"firewall-cmd"}, options...)})
	switch {
	case err != nil:
		return "", err
	case ran.Retcode != 0 && ran.Stderr == "":
		return "", loader.Execution("firewall-cmd failed: %s", ran.Stdout)
	case ran.Retcode != 0:
		return "", loader.Execution("firewall-cmd failed: %s", ran.Stderr)
	}
	return ran.Stdout, nil
}

// words returns the output of firewall-cmd by word.
func (m *module) words(ctx context.Context, permanent any, options ...string) ([]any, error) {
	out, err := m.cmd(ctx, permanent, options...)
	return data.Values(strings.Fields(out)), err
}

// lines returns the output of firewall-cmd by line.
func (m *module) lines(ctx context.Context, permanent any, options ...string) ([]any, error) {
	out, err := m.cmd(ctx, permanent, options...)
	all := []any{}
	for line := range strings.Lines(out) {
		all = append(all, strings.TrimRight(line, "\n"))
	}
	return all, err
}

// manage creates or removes something, and then reloads the configuration if asked for.
func (m *module) manage(ctx context.Context, option string, restart any) (string, error) {
	out, err := m.cmd(ctx, true, option)
	if err == nil && out == "success" && data.Truth(restart) {
		return m.cmd(ctx, false, "--reload")
	}
	return out, err
}

// zones runs firewall-cmd and returns what it tells of zones.
func (m *module) zones(ctx context.Context, permanent any, options ...string) (*data.Map, error) {
	out, err := m.cmd(ctx, permanent, options...)
	if err != nil {
		return nil, err
	}
	return parsed(out), nil
}

// parsed parses the description of zones: the name of a zone at the beginning of a line, its values
// behind blanks, and more of a value behind a tab.
func parsed(text string) *data.Map {
	all, values, key := data.NewMap(), data.NewMap(), ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch first, value, ok := strings.Cut(line, ":"); {
		case strings.TrimSpace(line) == "":
		case alphanumeric(line[0]):
			values, key = data.NewMap(), ""
			all.Set(strings.TrimRight(line, " \t\r"), values)
		case line[0] == '\t':
			list, _ := values.Value(key).([]any)
			values.Set(key, append(list, strings.TrimSpace(line)))
		case ok:
			key = strings.TrimSpace(first)
			values.Set(key, []any{strings.TrimSpace(value)})
		}
	}
	return all
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
