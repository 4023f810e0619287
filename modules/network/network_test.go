package network

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

// host returns interfaces of each kind.
func host() ([]link, error) {
	at := func(text, broadcast, label, scope string, secondary bool) address {
		p := netip.MustParsePrefix(text)
		b, _ := netip.ParseAddr(broadcast)
		return address{ip: p.Addr(), bits: p.Bits(), broadcast: b, label: label, scope: scope,
			secondary: secondary}
	}
	return []link{
		{name: "lo", up: true, hwaddr: "00:00:00:00:00:00",
			addrs: []address{at("127.0.0.1/8", "", "lo", "host", false),
				at("::1/128", "", "lo", "host", false)}},
		{name: "eth0", up: true, hwaddr: "02:fc:00:00:00:01",
			addrs: []address{at("192.168.7.9/24", "192.168.7.255", "eth0", "global", false),
				at("8.8.4.4/30", "", "eth0:1", "global", true), at("fd00::2/64", "", "eth0",
					"global", false), at("fe80::1/64", "", "eth0", "link", false)}},
		{name: "eth1", parent: "eth0", hwaddr: "02:fc:00:00:00:02",
			addrs: []address{at("10.1.2.3/16", "10.1.255.255", "eth1", "global", false)}},
		{name: "tun0", up: true},
	}, nil
}

func registry(t *testing.T, links func() ([]link, error)) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "network",
			New: func(env *loader.Env) (*loader.Module, error) { return newModule(&module{env: env, links: links}) }}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCalls(t *testing.T) { calls.Check(t, "testdata/calls.json", registry(t, host).Invoke) }

// TestHost compares with the answers of Salt 3006.0 when `ip addr show` lists the interfaces of
// host.
func TestHost(t *testing.T) { calls.Check(t, "testdata/host.json", registry(t, host).Invoke) }

func TestSystem(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		v, err := r.Invoke(t.Context(), "network.ip_addrs", nil,
			data.NewMap("include_loopback", true, "cidr", "127.0.0.0/8"))
		if list, ok := v.([]any); err != nil || !ok || len(list) == 0 || list[0] != "127.0.0.1" {
			t.Errorf("network.ip_addrs = %v, %v", v, err)
		}
		v, err = r.Invoke(t.Context(), "network.get_hostname", nil, nil)
		if name, ok := v.(string); err != nil || !ok || name == "" {
			t.Errorf("network.get_hostname = %v, %v", v, err)
		}
		v, err = r.Invoke(t.Context(), "network.get_fqdn", nil, nil)
		if name, ok := v.(string); err != nil || !ok || name == "" {
			t.Errorf("network.get_fqdn = %v, %v", v, err)
		}
	}
}

// names is a resolver with a single address.
type names []string

func (n names) LookupHost(context.Context, string) ([]string, error) {
	if n == nil {
		return nil, errors.New("no such host")
	}
	return []string{"10.0.0.1"}, nil
}

func (n names) LookupAddr(context.Context, string) ([]string, error) { return n, nil }

func TestFullName(t *testing.T) {
	for want, n := range map[string]names{
		"web1.example.net": {"web1", "web1.example.net."}, "localhost": {"localhost", "web1"},
		"web1": nil, "web1 ": {},
	} {
		if got := fullName(t.Context(), n, want); got != want {
			t.Errorf("of %q: %q, want %q", []string(n), got, want)
		}
	}
}
