package grains

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"
)

// isLinkName reports whether Salt's parser of `ip link show` accepts an interface of this name.
func isLinkName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
	})
}

// systemLinks asks the kernel for the interfaces, in the order of `ip addr show`.
func systemLinks() ([]link, error) {
	dump, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", os.NewSyscallError("netlink", err))
	}
	addrs, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", os.NewSyscallError("netlink", err))
	}
	return parseLinks(dump, addrs)
}

// parseLinks parses the replies to RTM_GETLINK and RTM_GETADDR.
func parseLinks(linkDump, addrDump []byte) ([]link, error) {
	messages, err := syscall.ParseNetlinkMessage(linkDump)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var links []link
	place := map[uint32]int{} // index of the kernel → position in links
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWLINK || len(m.Data) < syscall.SizeofIfInfomsg {
			continue
		}
		if l, ok := parseLink(m); ok {
			place[binary.NativeEndian.Uint32(m.Data[4:])] = len(links)
			links = append(links, l)
		}
	}
	messages, err = syscall.ParseNetlinkMessage(addrDump)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg {
			continue
		}
		i, known := place[binary.NativeEndian.Uint32(m.Data[4:])]
		if a, ok := parseAddr(m); ok && known {
			links[i].addrs = append(links[i].addrs, a)
		}
	}
	return links, nil
}

func parseLink(m syscall.NetlinkMessage) (link, bool) {
	var l link
	kind := binary.NativeEndian.Uint16(m.Data[2:])
	for _, a := range attributes(m) {
		switch a.kind {
		case syscall.IFLA_IFNAME:
			l.name = strings.TrimRight(string(a.value), "\x00")
		case syscall.IFLA_ADDRESS:
			l.hwaddr = hardwareAddr(kind, a.value)
		}
	}
	return l, isLinkName(l.name)
}

// hardwareAddr formats an address as the program ip does: those of tunnels are IP addresses.
func hardwareAddr(kind uint16, b []byte) string {
	tunnel4 := kind == unix.ARPHRD_TUNNEL || kind == unix.ARPHRD_SIT || kind == unix.ARPHRD_IPGRE
	tunnel6 := kind == unix.ARPHRD_TUNNEL6 || kind == unix.ARPHRD_IP6GRE
	if a, ok := netip.AddrFromSlice(b); ok && (a.Is4() && tunnel4 || a.Is6() && tunnel6) {
		return a.String()
	}
	return net.HardwareAddr(b).String()
}

func parseAddr(m syscall.NetlinkMessage) (linkAddr, bool) {
	var local, address []byte
	for _, a := range attributes(m) {
		switch a.kind {
		case syscall.IFA_LOCAL:
			local = a.value
		case syscall.IFA_ADDRESS:
			address = a.value
		}
	}
	if local == nil {
		local = address
	}
	addr, ok := netip.AddrFromSlice(local)
	secondary := m.Data[0] == syscall.AF_INET && m.Data[2]&syscall.IFA_F_SECONDARY != 0
	return linkAddr{addr: addr, secondary: secondary}, ok
}

// An attribute is one attribute of a message.
type attribute struct {
	kind  uint16
	value []byte
}

// fixedPart returns the length of the part before the attributes.
func fixedPart(m syscall.NetlinkMessage) int {
	switch m.Header.Type {
	case syscall.RTM_NEWLINK:
		return syscall.SizeofIfInfomsg
	case syscall.RTM_NEWADDR:
		return syscall.SizeofIfAddrmsg
	}
	return syscall.SizeofRtMsg
}

// attributes returns the attributes of a message; a malformed message has none. Package syscall
// panics on a last attribute of odd length.
func attributes(m syscall.NetlinkMessage) []attribute {
	fixed := fixedPart(m)
	if fixed > len(m.Data) {
		return nil
	}
	var list []attribute
	for b := m.Data[fixed:]; len(b) >= syscall.SizeofRtAttr; {
		n := int(binary.NativeEndian.Uint16(b))
		if n < syscall.SizeofRtAttr || n > len(b) {
			return nil
		}
		list = append(list, attribute{binary.NativeEndian.Uint16(b[2:]), b[syscall.SizeofRtAttr:n]})
		aligned := (n + syscall.RTA_ALIGNTO - 1) &^ (syscall.RTA_ALIGNTO - 1)
		b = b[min(aligned, len(b)):]
	}
	return list
}

// systemGateways asks the kernel for the default routes.
func systemGateways() (v4, v6 any, ok bool) {
	for _, family := range []struct {
		kind int
		gw   *any
	}{{syscall.AF_INET, &v4}, {syscall.AF_INET6, &v6}} {
		*family.gw = false
		dump, err := syscall.NetlinkRIB(syscall.RTM_GETROUTE, family.kind)
		if err != nil {
			continue
		}
		*family.gw = parseGateway(dump, byte(family.kind))
		ok = true
	}
	return v4, v6, ok
}

// parseGateway parses a reply to RTM_GETROUTE.
func parseGateway(dump []byte, family byte) any {
	messages, err := syscall.ParseNetlinkMessage(dump)
	if err != nil {
		return false
	}
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWROUTE || len(m.Data) < syscall.SizeofRtMsg {
			continue
		}
		if gw := defaultRoute(m, family); gw != false {
			return gw
		}
	}
	return false
}

// defaultRoute returns the gateway of a default route of the main table. It is true if `ip route
// show` prints no gateway directly after the word default, and false for any other route.
func defaultRoute(m syscall.NetlinkMessage, family byte) any {
	const (
		table, kind = 4, 7 // offsets in struct rtmsg
		rtaNextHop  = 30   // RTA_NH_ID of linux/rtnetlink.h
	)
	flags := binary.NativeEndian.Uint32(m.Data[8:])
	if m.Data[0] != family || m.Data[1] != 0 || m.Data[kind] != syscall.RTN_UNICAST ||
		flags&syscall.RTM_F_CLONED != 0 {
		return false
	}
	from := uint32(m.Data[table])
	behind := m.Data[2] != 0 || m.Data[3] != 0 // a source or type of service is printed in between
	var gw any = true
	for _, a := range attributes(m) {
		switch a.kind {
		case syscall.RTA_TABLE:
			if len(a.value) >= 4 {
				from = binary.NativeEndian.Uint32(a.value)
			}
		case syscall.RTA_GATEWAY:
			if addr, ok := netip.AddrFromSlice(a.value); ok {
				gw = addr.String()
			}
		case unix.RTA_VIA:
			gw = "inet6" // Salt takes the word for the address
		case rtaNextHop:
			behind = true
		}
	}
	switch {
	case from != syscall.RT_TABLE_MAIN:
		return false
	case behind:
		return true
	}
	return gw
}
