package rhip_test

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/hostfiles"
	"github.com/brineproject/brine/modules/rhip"
)

func options() hostfiles.Options {
	return hostfiles.Options{Plugin: rhip.Plugin(), Answers: hostfiles.Network(),
		Dirs: []string{"etc/sysconfig/network-scripts"}}
}

// testdata/calls.json has the results of Salt 3006.18, the files it wrote, and the modules it called.
func TestCalls(t *testing.T) { hostfiles.Check(t, "testdata/calls.json", options()) }

// What Salt crashes with, or writes in pieces, is an error or whole here.
func TestDeviations(t *testing.T) {
	o := options()
	host := func(release string) *hostfiles.Host {
		h := hostfiles.NewHost(t, data.NewMap("os_family", "RedHat", "os", "RedHat", "osrelease", release,
			"osmajorrelease", int64(9), "num_cpus", int64(2)), o)
		h.Dirs(t, o.Dirs...)
		return h
	}
	for text, call := range map[string][]any{
		"release 10.0 has no files": {"10.0", "ip.build_interface", []any{"eth0", "eth", true}, nil},
		"not written by Salt":       {"9.3", "ip.build_interface", []any{"eth0", "clone", true}, nil},
		"ipv4 CIDR is invalid": {"9.3", "ip.build_interface", []any{"eth0", "eth", true},
			data.NewMap("ipaddrs", []any{"10.0.0.1"})},
		"Positive integer": {"9.3", "ip.build_interface", []any{"eth0", "vlan", true},
			data.NewMap("vlan_id", "5")},
		"Setting: networking":  {"9.3", "ip.build_network_settings", []any{}, data.NewMap("hostname", "a")},
		"the network of each":  {"9.3", "ip.build_routes", []any{"eth0"}, data.NewMap("routes", []any{"x"})},
		"name of an interface": {"9.3", "ip.down", []any{"a;b/c", "eth"}, nil},
	} {
		h := host(call[0].(string))
		kwargs, _ := call[3].(*data.Map)
		v, err := h.Registry.Invoke(t.Context(), call[1].(string), call[2].([]any), kwargs)
		if err == nil || !strings.Contains(err.Error(), text) || h.Files(t).Len() > 0 {
			t.Errorf("%s %s gives %s, %v, want %q", call[1], data.Repr(call[2]), data.Repr(v), err, text)
		}
	}
	h := host("9.3")
	v, err := h.Registry.Invoke(t.Context(), "ip.build_interface", []any{"eth9", "eth", true},
		data.NewMap("dns", "192.0.2.1 192.0.2.2", "domain", "a.example b.example"))
	if text := data.Repr(v); err != nil || !strings.Contains(text, `'DOMAIN="a.example b.example"'`) ||
		!strings.Contains(text, `'DNS1="192.0.2.1"', 'DNS2="192.0.2.2"'`) {
		t.Errorf("words: %s, %v", text, err)
	}
	h.Write(t, data.NewMap("etc/sysconfig/network", "NETWORKING=yes\nHOSTNAME=a\n"))
	v, err = h.Registry.Invoke(t.Context(), "ip.build_network_settings", nil, data.NewMap("enable_ipv6", false))
	if err != nil || data.Repr(v) != "['NETWORKING=yes', 'HOSTNAME=a']" {
		t.Errorf("without IPv6: %s, %v", data.Repr(v), err)
	}
}
