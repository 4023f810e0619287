package transport

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// An Endpoint is a parsed address in ZeroMQ's notation.
type Endpoint struct {
	Host string // name, address without brackets, or "" for all interfaces
	Port uint16
	// path of a unix socket, instead of the above; a leading @ means Linux's abstract namespace
	Path string
}

// ParseEndpoint parses tcp://host:port, tcp://[addr]:port, tcp://*:port, tcp://*:* and ipc://path.
func ParseEndpoint(s string) (Endpoint, error) {
	scheme, rest, found := strings.Cut(s, "://")
	switch {
	case !found:
		return Endpoint{}, fmt.Errorf("endpoint %q: no scheme", s)
	case scheme == "ipc" && rest != "":
		return Endpoint{Path: rest}, nil
	case scheme != "tcp":
		return Endpoint{}, fmt.Errorf("endpoint %q: unknown scheme", s)
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", s, err)
	}
	n, err := parsePort(port)
	if err != nil {
		return Endpoint{}, fmt.Errorf("endpoint %q: %w", s, err)
	}
	if host == "*" {
		host = ""
	}
	return Endpoint{Host: host, Port: n}, nil
}

func parsePort(s string) (uint16, error) {
	if s == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("port %q is not a number up to 65535", s)
	}
	return uint16(n), nil
}

// Listen binds an endpoint. If the host is the name of an interface, its first address is used. A
// unix socket left by a dead program is replaced; one in use is an error. Its mode is 0600.
func Listen(ctx context.Context, endpoint string) (net.Listener, error) {
	e, err := ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	if e.Path != "" {
		return listenUnix(ctx, e.Path)
	}
	host := e.Host
	if a, ok := interfaceAddress(host); ok {
		host = a
	}
	l, err := new(net.ListenConfig).Listen(ctx, listenNetwork(host),
		net.JoinHostPort(host, strconv.Itoa(int(e.Port))))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", endpoint, err)
	}
	return l, nil
}

// listenNetwork restricts 0.0.0.0 to IPv4, as ZeroMQ does; package net would bind both families.
func listenNetwork(host string) string {
	if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		return "tcp4"
	}
	return "tcp"
}

func interfaceAddress(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", false
	}
	ip, err := firstAddress(i)
	return ip.String(), err == nil
}

func firstAddress(i *net.Interface) (net.IP, error) {
	addrs, err := i.Addrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of %s: %w", i.Name, err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			return n.IP, nil
		}
	}
	return nil, fmt.Errorf("interface %s has no address", i.Name)
}

// Source returns the local address for Salt's options source_interface_name, source_address and
// source_publish_port or source_ret_port, or nil if none is set. The interface name takes
// precedence over the address, as in Salt.
func Source(iface, address string, port int) (*net.TCPAddr, error) {
	local := &net.TCPAddr{Port: port}
	switch {
	case iface != "":
		i, err := net.InterfaceByName(iface)
		if err != nil {
			return nil, fmt.Errorf("source_interface_name %q: %w", iface, err)
		}
		if local.IP, err = firstAddress(i); err != nil {
			return nil, fmt.Errorf("source_interface_name %q: %w", iface, err)
		}
	case address != "":
		a, err := netip.ParseAddr(strings.Trim(address, "[]"))
		if err != nil {
			return nil, fmt.Errorf("source_address: %w", err)
		}
		local.IP, local.Zone = a.AsSlice(), a.Zone()
	case port == 0:
		return nil, nil
	}
	return local, nil
}
