package grains

import (
	"encoding/binary"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
)

// message builds one netlink message: fixed header, then attributes of type and value.
func message(kind uint16, header []byte, attrs ...any) []byte {
	body := slices.Clone(header)
	for i := 0; i < len(attrs); i += 2 {
		value := attrs[i+1].([]byte)
		body = binary.NativeEndian.AppendUint16(body, uint16(4+len(value)))
		body = binary.NativeEndian.AppendUint16(body, uint16(attrs[i].(int)))
		body = append(body, value...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(append(b, make([]byte, 10)...), body...)
}

func linkHeader(kind uint16, index uint32) []byte {
	b := binary.NativeEndian.AppendUint16([]byte{0, 0}, kind)
	b = binary.NativeEndian.AppendUint32(b, index)
	return append(b, make([]byte, 8)...)
}

func addrHeader(family, flags byte, index uint32) []byte {
	return binary.NativeEndian.AppendUint32([]byte{family, 24, flags, 0}, index)
}

func testDumps() (links, addrs []byte) {
	const ether, none, sit = 1, 0xfffe, 776
	links = slices.Concat(
		message(syscall.RTM_NEWLINK, linkHeader(ether, 2), syscall.IFLA_IFNAME, []byte("eth0\x00"),
			syscall.IFLA_ADDRESS, []byte{2, 0, 0, 0, 0, 0xa}),
		message(syscall.RTM_NEWLINK, linkHeader(sit, 3), syscall.IFLA_IFNAME, []byte("sit0\x00"),
			syscall.IFLA_ADDRESS, []byte{0, 0, 0, 0}),
		message(syscall.RTM_NEWLINK, linkHeader(none, 4), syscall.IFLA_IFNAME, []byte("tun0\x00")),
		message(syscall.RTM_NEWLINK, linkHeader(ether, 5), syscall.IFLA_IFNAME, []byte("odd+name\x00")),
	)
	addrs = slices.Concat(
		message(syscall.RTM_NEWADDR, addrHeader(syscall.AF_INET, syscall.IFA_F_SECONDARY, 2),
			syscall.IFA_LOCAL, []byte{10, 0, 0, 3}),
		message(syscall.RTM_NEWADDR, addrHeader(syscall.AF_INET6, syscall.IFA_F_SECONDARY, 2),
			syscall.IFA_ADDRESS, []byte(net.ParseIP("2001:db8::1"))),
		message(syscall.RTM_NEWADDR, addrHeader(syscall.AF_INET, 0, 2), syscall.IFA_ADDRESS,
			[]byte{10, 0, 0, 1}, syscall.IFA_LOCAL, []byte{10, 0, 0, 2}),
		message(syscall.RTM_NEWADDR, addrHeader(syscall.AF_INET, 0, 4), syscall.IFA_LOCAL,
			[]byte{10, 8, 0, 1}, syscall.IFA_ADDRESS, []byte{10, 8, 0, 9}),
		message(syscall.RTM_NEWADDR, addrHeader(syscall.AF_INET, 0, 99), syscall.IFA_LOCAL,
			[]byte{10, 9, 0, 1}),
	)
	return links, addrs
}

// TestLinks checks Salt's order and filters: secondary IPv4 addresses are last, temporary IPv6
// addresses count like others, a point-to-point link has its own address, and interfaces with odd
// names are dropped.
func TestLinks(t *testing.T) {
	links, err := parseLinks(testDumps())
	if err != nil {
		t.Fatal(err)
	}
	n := &network{links: func() []link { return links }}
	c := &collection{net: n}
	for grain, want := range map[string][2]string{
		"ip_interfaces": {data.Repr(c.ipInterfaces(t.Context())),
			"{'ip_interfaces': {'eth0': ['10.0.0.2', '2001:db8::1', '10.0.0.3'], 'sit0': [], 'tun0': ['10.8.0.1']}}"},
		"ip4_interfaces": {data.Repr(c.ip4Interfaces(t.Context())),
			"{'ip4_interfaces': {'eth0': ['10.0.0.2', '10.0.0.3'], 'sit0': [], 'tun0': ['10.8.0.1']}}"},
		"ip6_interfaces": {data.Repr(c.ip6Interfaces(t.Context())),
			"{'ip6_interfaces': {'eth0': ['2001:db8::1'], 'sit0': [], 'tun0': []}}"},
		"hwaddr_interfaces": {data.Repr(c.hardwareAddresses(t.Context())),
			"{'hwaddr_interfaces': {'eth0': '02:00:00:00:00:0a', 'sit0': '0.0.0.0'}}"},
	} {
		if want[0] != want[1] {
			t.Errorf("%s = %s, want %s", grain, want[0], want[1])
		}
	}
}

func routeHeader(family, bits, table, kind byte) []byte {
	return []byte{family, bits, 0, 0, table, 0, 0, kind, 0, 0, 0, 0}
}

func TestGateway(t *testing.T) {
	const v4 = syscall.AF_INET
	gw := []byte{192, 0, 2, 1}
	route := func(header []byte, attrs ...any) []byte { return message(syscall.RTM_NEWROUTE, header, attrs...) }
	for _, tt := range []struct {
		name string
		dump []byte
		want any
	}{
		{"none", route(routeHeader(v4, 24, 254, 1), syscall.RTA_GATEWAY, gw), false},
		{"a gateway", route(routeHeader(v4, 0, 254, 1), syscall.RTA_GATEWAY, gw), "192.0.2.1"},
		{"the first of two", slices.Concat(route(routeHeader(v4, 0, 254, 1), syscall.RTA_GATEWAY,
			gw), route(routeHeader(v4, 0, 254, 1))), "192.0.2.1"},
		{"a device alone", route(routeHeader(v4, 0, 254, 1)), true},
		{"another table", route(routeHeader(v4, 0, 100, 1), syscall.RTA_GATEWAY, gw), false},
		{"a table by attribute", route(routeHeader(v4, 0, 254, 1), syscall.RTA_TABLE,
			[]byte{0, 1, 1, 0}, syscall.RTA_GATEWAY, gw), false},
		{"unreachable", route(routeHeader(v4, 0, 254, 7)), false},
		{"another family", route(routeHeader(syscall.AF_INET6, 0, 254, 1)), false},
		{"a next hop object", route(routeHeader(v4, 0, 254, 1), 30, []byte{1, 0, 0, 0},
			syscall.RTA_GATEWAY, gw), true},
		{"broken", []byte{1, 2, 3}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseGateway(tt.dump, v4); got != tt.want {
				t.Errorf("gateway = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestSystemLinks compares with Go's own view of the same kernel.
func TestSystemLinks(t *testing.T) {
	links, err := systemLinks()
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		at := slices.IndexFunc(links, func(l link) bool { return l.name == i.Name })
		addrs, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		if at < 0 || len(links[at].addrs) != len(addrs) {
			t.Errorf("interface %s is not found with its %d addresses", i.Name, len(addrs))
		}
	}
}

func FuzzNetlink(f *testing.F) {
	links, addrs := testDumps()
	f.Add(links, addrs)
	f.Add(message(syscall.RTM_NEWROUTE, routeHeader(syscall.AF_INET, 0, 254, 1),
		syscall.RTA_GATEWAY, []byte{1, 2, 3, 4}), []byte{})
	f.Fuzz(func(_ *testing.T, a, b []byte) {
		_, _ = parseLinks(a, b) // any result will do
		parseGateway(a, syscall.AF_INET)
	})
}
