package network

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestReadLinks compares the settings of this host's interfaces with those that package net reads.
func TestReadLinks(t *testing.T) {
	links, err := readLinks()
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) == 0 {
		t.Skipf("there are no interfaces: %v", err)
	}
	for _, i := range interfaces {
		link := links[i.Name]
		if link.Text("ifname") != i.Name || link.Value("index") != int64(i.Index) || link.Value("mtu") != int64(i.MTU) {
			t.Errorf("%s: %s, want index %d and mtu %d", i.Name, data.Repr(link), i.Index, i.MTU)
		}
		if len(i.HardwareAddr) > 0 && link.Text("address") != i.HardwareAddr.String() {
			t.Errorf("%s: %s, want address %s", i.Name, data.Repr(link), i.HardwareAddr)
		}
		addrs, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, a := range addrs {
			want = append(want, a.String())
		}
		for _, a := range data.ListOf(link.Value("ipaddr")) {
			pair := data.ListOf(a)
			got = append(got, data.Str(pair[0])+"/"+data.Str(pair[1]))
		}
		slices.Sort(want)
		slices.Sort(got)
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: addresses %q, want %q", i.Name, got, want)
		}
	}
}

// FuzzKindOf parses any attributes of the kernel.
func FuzzKindOf(f *testing.F) {
	f.Add([]byte("\x09\x00\x01\x00veth\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if kind := kindOf(b); len(kind) > len(b) {
			t.Errorf("kind %q", kind)
		}
	})
}

func TestKindOf(t *testing.T) {
	if got := kindOf([]byte("\x06\x00\x02\x00\x01\x00\x00\x00\x09\x00\x01\x00veth\x00\x00\x00\x00")); got != "veth" {
		t.Errorf("kind %q", got)
	}
}
