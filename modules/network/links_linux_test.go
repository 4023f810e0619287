package network

import (
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
)

// TestSystemLinks compares the kernel's answers with those of Go's standard library.
func TestSystemLinks(t *testing.T) {
	links, err := systemLinks()
	if err != nil || len(links) == 0 {
		t.Fatal(links, err)
	}
	for _, l := range links {
		i, err := net.InterfaceByName(l.name)
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
			continue
		}
		if len(i.HardwareAddr) > 0 && l.hwaddr != i.HardwareAddr.String() ||
			l.up != (i.Flags&net.FlagUp != 0) {
			t.Errorf("%s has %s, up %v, want %s, %v", l.name, l.hwaddr, l.up, i.HardwareAddr, i.Flags)
		}
		addrs, err := i.Addrs()
		if err != nil || len(addrs) != len(l.addrs) {
			t.Errorf("%s has %v, want %v, %v", l.name, l.addrs, addrs, err)
			continue
		}
		for n, a := range l.addrs {
			if got := netip.PrefixFrom(a.ip, a.bits).String(); got != addrs[n].String() {
				t.Errorf("%s has %s, want %s", l.name, got, addrs[n])
			}
			if a.ip.Is4() && a.label == "" || !a.ip.Is4() && a.scope == "" {
				t.Errorf("%s: %+v has no label or scope", l.name, a)
			}
		}
	}
}

func FuzzLinks(f *testing.F) {
	links, err := syscall.NetlinkRIB(syscall.RTM_GETLINK, syscall.AF_UNSPEC)
	if err != nil {
		f.Skip(err)
	}
	addrs, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		f.Skip(err)
	}
	f.Add(links, addrs)
	// a message that is too short for an interface
	done := []byte{20, 0, 0, 0, syscall.NLMSG_DONE, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	f.Add(append(slices.Clone(links), done...), done)
	f.Fuzz(func(_ *testing.T, links, addrs []byte) { _, _ = parseLinks(links, addrs) })
}
