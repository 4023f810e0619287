package network

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
)

// readLinks returns the settings of the network interfaces by name, with the names and values of
// pyroute2 (rtnetlink(7)).
func readLinks() (map[string]*data.Map, error) {
	links, names := map[string]*data.Map{}, map[int32]*data.Map{}
	link := func(head []byte, attrs []syscall.NetlinkRouteAttr) {
		order := binary.NativeEndian
		index := int32(order.Uint32(head[4:]))
		link := data.NewMap("family", int64(head[0]), "ifi_type", int64(order.Uint16(head[2:])),
			"index", int64(index), "flags", int64(order.Uint32(head[8:])), "ipaddr", []any{})
		for _, a := range attrs {
			setLink(link, a)
		}
		links[link.Text("ifname")], names[index] = link, link
	}
	address := func(head []byte, attrs []syscall.NetlinkRouteAttr) {
		link := names[int32(binary.NativeEndian.Uint32(head[4:]))]
		if address, ok := addressOf(attrs); ok && link != nil {
			link.Set("ipaddr", append(data.ListOf(link.Value("ipaddr")), []any{address, int64(head[1])}))
		}
	}
	err := each(unix.RTM_GETLINK, unix.RTM_NEWLINK, unix.SizeofIfInfomsg, link)
	if err != nil {
		return nil, err
	}
	return links, each(unix.RTM_GETADDR, unix.RTM_NEWADDR, unix.SizeofIfAddrmsg, address)
}

// each calls f for the messages that the kernel sends about a request.
func each(request, answer, size int, f func(head []byte, attrs []syscall.NetlinkRouteAttr)) error {
	table, err := syscall.NetlinkRIB(request, unix.AF_UNSPEC)
	if err != nil {
		return fmt.Errorf("read the network interfaces: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return fmt.Errorf("read the network interfaces: %w", err)
	}
	for _, m := range messages {
		if int(m.Header.Type) != answer || len(m.Data) < size {
			continue
		}
		attrs, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return fmt.Errorf("read the network interfaces: %w", err)
		}
		f(m.Data[:size], attrs)
	}
	return nil
}

// addressOf returns the address of a message about one: the local one, or for a link between two
// hosts the only one.
func addressOf(attrs []syscall.NetlinkRouteAttr) (address string, ok bool) {
	for _, a := range attrs {
		if a.Attr.Type != unix.IFA_ADDRESS && a.Attr.Type != unix.IFA_LOCAL {
			continue
		}
		if ip, valid := netip.AddrFromSlice(a.Value); valid && (!ok || a.Attr.Type == unix.IFA_LOCAL) {
			address, ok = ip.String(), true
		}
	}
	return address, ok
}

// numberOf returns the name of an attribute that is a number, "" for others.
func numberOf(kind uint16) string {
	switch kind {
	case unix.IFLA_MTU:
		return "mtu"
	case unix.IFLA_TXQLEN:
		return "txqlen"
	case unix.IFLA_LINKMODE:
		return "linkmode"
	case unix.IFLA_GROUP:
		return "group"
	case unix.IFLA_PROMISCUITY:
		return "promiscuity"
	case unix.IFLA_NUM_TX_QUEUES:
		return "num_tx_queues"
	case unix.IFLA_NUM_RX_QUEUES:
		return "num_rx_queues"
	case unix.IFLA_CARRIER:
		return "carrier"
	case unix.IFLA_CARRIER_CHANGES:
		return "carrier_changes"
	}
	return ""
}

// setLink sets a setting of an interface from its attribute.
func setLink(link *data.Map, a syscall.NetlinkRouteAttr) {
	text := strings.TrimRight(string(a.Value), "\x00")
	switch kind := a.Attr.Type; kind {
	case unix.IFLA_IFNAME:
		link.Set("ifname", text)
	case unix.IFLA_QDISC:
		link.Set("qdisc", text)
	case unix.IFLA_ADDRESS:
		link.Set("address", net.HardwareAddr(a.Value).String())
	case unix.IFLA_BROADCAST:
		link.Set("broadcast", net.HardwareAddr(a.Value).String())
	case unix.IFLA_OPERSTATE:
		states := []string{"UNKNOWN", "NOTPRESENT", "DOWN", "LOWERLAYERDOWN", "TESTING", "DORMANT", "UP"}
		if len(a.Value) == 1 && int(a.Value[0]) < len(states) {
			link.Set("operstate", states[a.Value[0]])
		}
	case unix.IFLA_LINKINFO:
		if kind := kindOf(a.Value); kind != "" {
			link.Set("kind", kind)
		}
	default:
		switch name := numberOf(kind); {
		case name != "" && len(a.Value) == 1:
			link.Set(name, int64(a.Value[0]))
		case name != "" && len(a.Value) == 4:
			link.Set(name, int64(binary.NativeEndian.Uint32(a.Value)))
		}
	}
}

// kindOf returns the kind of an interface from the nested attributes of IFLA_LINKINFO: bridge, veth.
func kindOf(b []byte) string {
	for order := binary.NativeEndian; len(b) >= unix.SizeofRtAttr; {
		length := int(order.Uint16(b))
		if length < unix.SizeofRtAttr || length > len(b) {
			return ""
		}
		if order.Uint16(b[2:]) == unix.IFLA_INFO_KIND {
			return strings.TrimRight(string(b[unix.SizeofRtAttr:length]), "\x00")
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return ""
}
