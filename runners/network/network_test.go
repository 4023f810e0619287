package network_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/runners/network"
)

type grainsArgs struct{ Tgt, TgtType any }

// registry returns the runner beside a runner cache that knows two minions.
func registry(t *testing.T, cards *data.Map) *loader.Registry {
	t.Helper()
	functions, err := loader.NewRegistry(&loader.Env{Opts: &data.Map{}}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	cache := loader.Plugin{Name: "cache", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("grains",
			func(_ context.Context, a grainsArgs) (any, error) {
				if a.Tgt != "web*" || a.TgtType != "glob" {
					t.Errorf("cache.grains %v %v", a.Tgt, a.TgtType)
				}
				return data.NewMap("web1", data.NewMap("hwaddr_interfaces", cards)), nil
			})}}, nil
	}}
	env := &loader.Env{Opts: &data.Map{}, Registries: map[string]*loader.Registry{"modules": functions}}
	r, err := loader.NewRegistry(env, []loader.Plugin{cache, network.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPackets receives what network.wol, network.wollist and network.wolmatch send.
func TestPackets(t *testing.T) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	port := int64(conn.LocalAddr().(*net.UDPAddr).Port)
	list := filepath.Join(t.TempDir(), "macs")
	if err := os.WriteFile(list, []byte("08-00-27-13-69-77\n080027136978\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := registry(t, data.NewMap("lo", "00:00:00:00:00:00", "eth0", " 08:00:27:13:69:79"))
	to := data.NewMap("bcast", "127.0.0.1", "destport", port)
	for _, c := range []struct {
		fun, arg string
		want     any
		last     []byte
	}{
		{"network.wol", "08:00:27:13:69:77", true, []byte{0x77}},
		{"network.wollist", list, []any{"08-00-27-13-69-77", "080027136978"}, []byte{0x77, 0x78}},
		{"network.wolmatch", "web*", []any{"08:00:27:13:69:79"}, []byte{0x79}},
	} {
		v, err := r.Invoke(t.Context(), c.fun, []any{c.arg}, to)
		if err != nil || !data.Equal(v, c.want) {
			t.Errorf("%s = %s, %v, want %s", c.fun, data.Repr(v), err, data.Repr(c.want))
			continue
		}
		for _, last := range c.last {
			packet := make([]byte, 200)
			n, _, err := conn.ReadFrom(packet)
			want := append(bytes.Repeat([]byte{0xff}, 6),
				bytes.Repeat([]byte{8, 0, 0x27, 0x13, 0x69, last}, 16)...)
			if err != nil || !bytes.Equal(packet[:n], want) {
				t.Errorf("%s sends %x, %v, want %x", c.fun, packet[:n], err, want)
			}
		}
	}
}

// TestFaults uses invalid addresses, and minions without network cards.
func TestFaults(t *testing.T) {
	r := registry(t, nil)
	if _, err := r.Invoke(t.Context(), "network.wol", []any{"08-00", "127.0.0.1"},
		nil); err == nil || err.Error() != "Invalid MAC address" {
		t.Errorf("network.wol: %v", err)
	}
	if v, err := r.Invoke(t.Context(), "network.wollist", []any{"/nonexistent/macs"},
		nil); err != nil || !data.Equal(v, []any{}) {
		t.Errorf("network.wollist: %s, %v", data.Repr(v), err)
	}
}
