//go:build !linux

package grains

import (
	"fmt"
	"net"
	"net/netip"
)

// systemLinks returns the interfaces reported by Go's standard library.
func systemLinks() ([]link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var links []link
	for _, i := range interfaces {
		l := link{name: i.Name, hwaddr: i.HardwareAddr.String()}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				l.addrs = append(l.addrs, linkAddr{addr: p.Addr().Unmap()})
			}
		}
		links = append(links, l)
	}
	return links, nil
}

// systemGateways returns nothing: Salt too has these grains only if the program ip exists.
func systemGateways() (v4, v6 any, ok bool) { return false, false, false }
