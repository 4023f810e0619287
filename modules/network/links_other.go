//go:build !linux

package network

import (
	"fmt"
	"net"
	"net/netip"
)

// systemLinks returns the interfaces that Go's standard library reports.
func systemLinks() ([]link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var links []link
	for _, i := range interfaces {
		l := link{name: i.Name, hwaddr: i.HardwareAddr.String(), up: i.Flags&net.FlagUp != 0}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				l.addrs = append(l.addrs, address{ip: p.Addr().Unmap(), bits: p.Bits(),
					label: i.Name})
			}
		}
		links = append(links, l)
	}
	return links, nil
}
