package firewalld

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type portArgs struct {
	Zone      string
	Port      any
	Permanent any `default:"True"`
}

type addPortArgs struct {
	Zone            string
	Port            any
	Permanent       any `default:"True"`
	ForceMasquerade any `default:"False"`
}

type forwardArgs struct {
	Zone      string
	Src       any
	Dest      any
	Proto     any `default:"'tcp'"`
	Dstaddr   any `default:"''"`
	Permanent any `default:"True"`
}

type addForwardArgs struct {
	Zone            string
	Src             any
	Dest            any
	Proto           any `default:"'tcp'"`
	Dstaddr         any `default:"''"`
	Permanent       any `default:"True"`
	ForceMasquerade any `default:"False"`
}

// masquerades reports whether no zone of a list says that it does not masquerade.
func (m *module) masquerades(ctx context.Context, a anyZoneArgs) (bool, error) {
	zones, err := m.zones(ctx, a.Permanent, a.with("--list-all")...)
	if err != nil {
		return false, err
	}
	for _, v := range zones.All() {
		values, _ := v.(*data.Map)
		if said, ok := values.Value("masquerade").([]any); !ok || len(said) == 0 {
			return false, loader.Exception("KeyError", "'masquerade'")
		} else if said[0] == "no" {
			return false, nil
		}
	}
	return true, nil
}

// force enables masquerading in the permanent configuration of a zone, if asked for.
func (m *module) force(ctx context.Context, zone string, asked any) error {
	if !data.Truth(asked) {
		return nil
	}
	a := anyZoneArgs{zone, true}
	is, err := m.masquerades(ctx, a)
	if err == nil && !is {
		_, err = m.addMasquerade(ctx, a)
	}
	return err
}

// forward returns a forwarded port in the form of firewall-cmd.
func forward(src, proto, dest, addr any) string {
	return "port=" + data.Str(src) + ":proto=" + data.Str(proto) + ":toport=" + data.Str(dest) +
		":toaddr=" + data.Str(addr)
}

// forwards parses lines such as port=80:proto=tcp:toport=8080:toaddr=.
func forwards(lines []any) (any, error) {
	all := []any{}
	for _, line := range lines {
		parts := strings.SplitN(data.Str(line), ":", 4)
		for i, part := range parts {
			_, parts[i], _ = strings.Cut(part, "=")
		}
		if len(parts) < 4 {
			return nil, loader.Execution("read forwarded ports: %q has less than four parts", data.Str(line))
		}
		all = append(all, data.NewMap("Source port", parts[0], "Protocol", parts[1],
			"Destination port", parts[2], "Destination address", parts[3]))
	}
	return all, nil
}

// getMasquerade returns whether a zone masquerades. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.get_masquerade zone
func (m *module) getMasquerade(ctx context.Context, a anyZoneArgs) (any, error) {
	return m.masquerades(ctx, a)
}

// addMasquerade enables masquerading in a zone. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.add_masquerade dmz
func (m *module) addMasquerade(ctx context.Context, a anyZoneArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, a.with("--add-masquerade")...)
}

// removeMasquerade disables masquerading in a zone. Default: the default zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_masquerade dmz
func (m *module) removeMasquerade(ctx context.Context, a anyZoneArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, a.with("--remove-masquerade")...)
}

// addPort opens a port in a zone, such as 443/tcp.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// force_masquerade
//
//	True: enable masquerading in the zone first.
//
// CLI Example:
//
//	salt '*' firewalld.add_port internal 443/tcp
func (m *module) addPort(ctx context.Context, a addPortArgs) (any, error) {
	if err := m.force(ctx, a.Zone, a.ForceMasquerade); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--add-port="+data.Str(a.Port))
}

// removePort closes a port in a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_port internal 443/tcp
func (m *module) removePort(ctx context.Context, a portArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone, "--remove-port="+data.Str(a.Port))
}

// listPorts returns the open ports of a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_ports my_zone
func (m *module) listPorts(ctx context.Context, a zoneArgs) (any, error) {
	return m.words(ctx, a.Permanent, "--zone="+a.Zone, "--list-ports")
}

// addPortFwd forwards a port of a zone.
//
// src, dest
//
//	The port, and the port that it is forwarded to.
//
// dstaddr
//
//	The address that it is forwarded to. Default: this host.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// force_masquerade
//
//	True: enable masquerading in the zone first.
//
// CLI Example:
//
//	salt '*' firewalld.add_port_fwd my_zone 80 443 tcp
func (m *module) addPortFwd(ctx context.Context, a addForwardArgs) (any, error) {
	if err := m.force(ctx, a.Zone, a.ForceMasquerade); err != nil {
		return nil, err
	}
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone,
		"--add-forward-port="+forward(a.Src, a.Proto, a.Dest, a.Dstaddr))
}

// removePortFwd stops forwarding a port of a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.remove_port_fwd public 80 443 tcp
func (m *module) removePortFwd(ctx context.Context, a forwardArgs) (any, error) {
	return m.cmd(ctx, a.Permanent, "--zone="+a.Zone,
		"--remove-forward-port="+forward(a.Src, a.Proto, a.Dest, a.Dstaddr))
}

// listPortFwd returns the forwarded ports of a zone.
//
// permanent
//
//	True, the default: the configuration that is kept. False: the current one.
//
// CLI Example:
//
//	salt '*' firewalld.list_port_fwd public
func (m *module) listPortFwd(ctx context.Context, a zoneArgs) (any, error) {
	lines, err := m.lines(ctx, a.Permanent, "--zone="+a.Zone, "--list-forward-ports")
	if err != nil {
		return nil, err
	}
	return forwards(lines)
}
