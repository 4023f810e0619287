// Package network is Salt's module network: the interfaces of the minion, their addresses, and
// calculations with networks (salt/modules/network.py, salt/utils/network.py).
//
// interface.go returns interfaces, address.go their addresses, and subnet.go calculates. On Linux
// the interfaces come from the kernel. Elsewhere they come from Go's standard library, which has no
// labels and broadcast addresses. route.go, socket.go, traceroute.go and buffer.go parse the output
// of Linux programs, connect.go contacts other hosts, and hostname.go renames this one.
//
// The private addresses are those of Python 3.13, and of older versions with the fix of that list.
//
// Differences from Salt: network.connect works over UDP. Lines of programs that cannot be parsed
// are left out; Salt raises an exception. mod_hostname leaves lines of /etc/hosts without the old
// name unchanged.
package network

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module network.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "network", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env, systemLinks, process.Find, net.DefaultResolver})
	}}
}

type module struct {
	env      *loader.Env
	links    func() ([]link, error)
	find     func(program string) (path string)
	resolver resolver
}

func newModule(m *module) (*loader.Module, error) {
	addrs, addrs6, hw := loader.F("ip_addrs", m.ipAddrs), loader.F("ip_addrs6", m.ipAddrs6),
		loader.F("hw_addr", m.hwAddr)
	return &loader.Module{Funcs: []loader.Func{
		addrs, addrs.Alias("ipaddrs"), addrs6, addrs6.Alias("ipaddrs6"), hw, hw.Alias("hwaddr"),
		loader.F("active_tcp", m.activeTcp),
		loader.F("arp", m.arp),
		loader.F("calc_net", m.calcNet),
		loader.F("connect", m.connect),
		loader.F("convert_cidr", m.convertCidr),
		loader.F("default_route", m.defaultRoute),
		loader.F("dig", m.dig),
		loader.F("fqdns", m.fqdns),
		loader.F("get_bufsize", m.getBufsize),
		loader.F("get_fqdn", m.getFqdn),
		loader.F("get_hostname", m.getHostname),
		loader.F("get_route", m.getRoute),
		loader.F("ifacestartswith", m.ifacestartswith),
		loader.F("in_subnet", m.inSubnet),
		loader.F("interface", m.interfaceOf),
		loader.F("interface_ip", m.interfaceIp),
		loader.F("interfaces", m.interfaces),
		loader.F("ip_in_subnet", m.ipInSubnet),
		loader.F("ip_networks", m.ipNetworks),
		loader.F("ip_networks6", m.ipNetworks6),
		loader.F("iphexval", m.iphexval),
		loader.F("is_loopback", m.isLoopback),
		loader.F("is_private", m.isPrivate),
		loader.F("mod_bufsize", m.modBufsize),
		loader.F("mod_hostname", m.modHostname),
		loader.F("netstat", m.netstat),
		loader.F("ping", m.ping),
		loader.F("reverse_ip", m.reverseIp),
		loader.F("routes", m.routes),
		loader.F("subnets", m.subnets),
		loader.F("subnets6", m.subnets6),
		loader.F("traceroute", m.traceroute),
		loader.F("wol", m.wol),
	}}, nil
}

// getHostname returns the host's own name.
//
// CLI Example:
//
//	salt '*' network.get_hostname
func (m *module) getHostname(context.Context, loader.NoArgs) (any, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return name, nil
}

// getFqdn returns the full name of the host that the resolver knows, or else the host's own name.
//
// CLI Example:
//
//	salt '*' network.get_fqdn
func (m *module) getFqdn(ctx context.Context, _ loader.NoArgs) (any, error) {
	name, err := m.fullHostname(ctx)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return name, nil
}

func (m *module) fullHostname(ctx context.Context) (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return fullName(ctx, m.resolver, name), nil
}

// resolver looks up full names.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, addr string) ([]string, error)
}

// fullName is Python's socket.getfqdn: it returns the first name of the host's address that
// contains a dot, else the first name.
func fullName(ctx context.Context, r resolver, name string) string {
	addrs, err := r.LookupHost(ctx, name)
	if err != nil || len(addrs) == 0 {
		return name
	}
	names, err := r.LookupAddr(ctx, addrs[0])
	if err != nil || len(names) == 0 {
		return name
	}
	whole := func(n string) bool { return strings.Contains(strings.TrimSuffix(n, "."), ".") }
	return strings.TrimSuffix(names[max(0, slices.IndexFunc(names, whole))], ".")
}

// texts returns the values as a list of texts.
func texts[T interface{ String() string }](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

func isNone(v any) bool { return !data.Truth(v) }
