package network

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"
)

// systemLinks returns the interfaces from the kernel, in the order of `ip addr show`.
func systemLinks() ([]link, error) {
	links, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", os.NewSyscallError("netlink", err))
	}
	addrs, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", os.NewSyscallError("netlink", err))
	}
	return parseLinks(links, addrs)
}

// parseLinks parses the answers to RTM_GETLINK and RTM_GETADDR.
func parseLinks(linkDump, addrDump []byte) ([]link, error) {
	messages, err := syscall.ParseNetlinkMessage(linkDump)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	messages = slices.DeleteFunc(messages, func(m syscall.NetlinkMessage) bool {
		return m.Header.Type != syscall.RTM_NEWLINK || len(m.Data) < syscall.SizeofIfInfomsg
	})
	names := map[uint32]string{}
	for _, m := range messages {
		names[index(m)] = text(attributes(m.Data[syscall.SizeofIfInfomsg:])[syscall.IFLA_IFNAME])
	}
	var links []link
	place := map[uint32]int{} // kernel index → index in links
	for _, m := range messages {
		if isName(names[index(m)]) {
			place[index(m)] = len(links)
			links = append(links, parseLink(m, names))
		}
	}
	if messages, err = syscall.ParseNetlinkMessage(addrDump); err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg {
			continue
		}
		if i, known := place[index(m)]; known {
			if a, ok := parseAddr(m, names); ok {
				links[i].addrs = append(links[i].addrs, a)
			}
		}
	}
	return links, nil
}

// index returns the kernel index of the interface that a message is about.
func index(m syscall.NetlinkMessage) uint32 { return binary.NativeEndian.Uint32(m.Data[4:]) }

// isName reports whether Salt's parser of `ip link show` accepts an interface with this name.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
	})
}

func text(b []byte) string { return strings.TrimRight(string(b), "\x00") }

func parseLink(m syscall.NetlinkMessage, names map[uint32]string) link {
	const netnsid = 37 // IFLA_LINK_NETNSID of linux/if_link.h
	attrs := attributes(m.Data[syscall.SizeofIfInfomsg:])
	l := link{name: names[index(m)], up: binary.NativeEndian.Uint32(m.Data[8:])&syscall.IFF_UP != 0}
	kind := binary.NativeEndian.Uint16(m.Data[2:])
	l.hwaddr = hardware(kind, attrs[syscall.IFLA_ADDRESS])
	if b := attrs[syscall.IFLA_LINK]; len(b) >= 4 {
		switch at := binary.NativeEndian.Uint32(b); {
		case at == 0:
			l.parent = "NONE"
		case at == index(m) && attrs[netnsid] == nil:
		case names[at] != "" && attrs[netnsid] == nil:
			l.parent = names[at]
		default:
			l.parent = "if" + strconv.FormatUint(uint64(at), 10)
		}
	}
	return l
}

// hardware formats a link-layer address as the program ip does. For tunnels it is an IP address.
func hardware(kind uint16, b []byte) string {
	tunnel4 := kind == unix.ARPHRD_TUNNEL || kind == unix.ARPHRD_SIT || kind == unix.ARPHRD_IPGRE
	tunnel6 := kind == unix.ARPHRD_TUNNEL6 || kind == unix.ARPHRD_IP6GRE
	if a, ok := netip.AddrFromSlice(b); ok && (a.Is4() && tunnel4 || a.Is6() && tunnel6) {
		return a.String()
	}
	return net.HardwareAddr(b).String()
}

func parseAddr(m syscall.NetlinkMessage, names map[uint32]string) (address, bool) {
	attrs := attributes(m.Data[syscall.SizeofIfAddrmsg:])
	far := attrs[syscall.IFA_ADDRESS]
	near := attrs[syscall.IFA_LOCAL]
	if near == nil {
		near = far
	}
	addr, ok := netip.AddrFromSlice(near)
	a := address{ip: addr, bits: int(m.Data[1]), scope: scope(m.Data[3]),
		label: text(attrs[syscall.IFA_LABEL])}
	if far != nil && string(far) != string(near) {
		// the prefix length is that of the peer's address, which Salt ignores
		a.bits = addr.BitLen()
	}
	if a.label == "" {
		a.label = names[index(m)]
	}
	a.broadcast, _ = netip.AddrFromSlice(attrs[syscall.IFA_BROADCAST])
	a.secondary = addr.Is4() && m.Data[2]&syscall.IFA_F_SECONDARY != 0
	return a, ok
}

// scope returns the name of an address scope.
func scope(b byte) string {
	switch b {
	case syscall.RT_SCOPE_UNIVERSE:
		return "global"
	case syscall.RT_SCOPE_SITE:
		return "site"
	case syscall.RT_SCOPE_LINK:
		return "link"
	case syscall.RT_SCOPE_HOST:
		return "host"
	case syscall.RT_SCOPE_NOWHERE:
		return "nowhere"
	}
	return strconv.Itoa(int(b))
}

// attributes returns the attributes of a message by type. If the message is malformed, it returns
// those before the error.
func attributes(b []byte) map[uint16][]byte {
	found := map[uint16][]byte{}
	for len(b) >= syscall.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < syscall.SizeofRtAttr || n > len(b) {
			break
		}
		found[binary.NativeEndian.Uint16(b[2:])] = b[syscall.SizeofRtAttr:n]
		aligned := (n + syscall.RTA_ALIGNTO - 1) &^ (syscall.RTA_ALIGNTO - 1)
		b = b[min(aligned, len(b)):]
	}
	return found
}
