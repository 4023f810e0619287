package debianip_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/hostfiles"
	"github.com/brineproject/brine/modules/debianip"
)

func options() hostfiles.Options {
	return hostfiles.Options{Plugin: debianip.Plugin(), Answers: hostfiles.Network(),
		Dirs: []string{"etc/network/interfaces.d", "etc/network/if-up.d", "etc/network/if-down.d",
			"etc/modprobe.d", "etc/default", "etc/ppp/peers"}}
}

// testdata/calls.json has the results of Salt 3006.18, the files it wrote, and the modules it called.
func TestCalls(t *testing.T) { hostfiles.Check(t, "testdata/calls.json", options()) }

func host(t *testing.T) *hostfiles.Host {
	t.Helper()
	o := options()
	h := hostfiles.NewHost(t, data.NewMap("os_family", "Debian", "os", "Debian", "osfullname", "Debian",
		"osrelease", "12"), o)
	h.Dirs(t, o.Dirs...)
	return h
}

// The password of a provider is for its owner only, and the scripts of routes can be run.
func TestModes(t *testing.T) {
	h := host(t)
	for _, call := range [][]any{
		{"ip.build_interface", []any{"dsl0", "pppoe", true}, data.NewMap("proto", "ppp", "provider", "isp", "user",
			"u", "password", "p")},
		{"ip.build_routes", []any{"eth0"}, data.NewMap("routes", []any{data.NewMap("ipaddr", "10.0.0.0")})},
	} {
		if _, err := h.Registry.Invoke(t.Context(), call[0].(string), call[1].([]any),
			call[2].(*data.Map)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]os.FileMode{"etc/ppp/peers/isp": 0o600,
		"etc/network/if-up.d/route-eth0":   0o755,
		"etc/network/if-down.d/route-eth0": 0o755, "etc/network/interfaces": 0o644} {
		if info, err := os.Stat(filepath.Join(h.Root, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, %v, want %v", path, info, err, want)
		}
	}
}

// Settings that Salt crashes with, and names that are paths, are errors that write nothing.
func TestRefused(t *testing.T) {
	h := host(t)
	for text, call := range map[string][]any{
		"Option: mode": {"ip.build_interface", []any{"bond0", "bond", true}, data.NewMap("slaves",
			"eth1")},
		"not written by Salt":  {"ip.build_interface", []any{"x", "alias", true}, nil},
		"Option: provider":     {"ip.build_interface", []any{"dsl0", "pppoe", true}, nil},
		"source is a required": {"ip.build_interface", []any{"source", "source", true}, nil},
		"name of an interface": {"ip.build_interface", []any{"a/b", "eth", true}, nil},
		"'../x' is not": {"ip.build_interface", []any{"dsl0", "pppoe", true}, data.NewMap("proto", "ppp",
			"provider", "../x", "user", "u")},
		"more than one line": {"ip.build_interface", []any{"eth0", "eth", true}, data.NewMap("up_cmds",
			[]any{"a\nb"})},
		"'-x' is not":      {"ip.up", []any{"-x", "eth"}, nil},
		"'../../x' is not": {"ip.get_bond", []any{"../../x"}, nil},
		"the network of each": {"ip.build_routes", []any{"eth0"}, data.NewMap("routes",
			[]any{data.NewMap("name", "x")})},
		"interfaces.d/no cannot": {"ip.build_interface", []any{"eth0", "eth", true}, data.NewMap("filename",
			"no/x")},
	} {
		kwargs, _ := call[2].(*data.Map)
		before := h.Files(t)
		v, err := h.Registry.Invoke(t.Context(), call[0].(string), call[1].([]any), kwargs)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s %s gives %s, %v, want %q", call[0], data.Repr(call[1]), data.Repr(v), err, text)
		}
		if !data.Equal(h.Files(t), before) {
			t.Errorf("%s %s writes %s", call[0], data.Repr(call[1]), data.Repr(h.Files(t)))
		}
	}
}

// Line ends at the end of commands are left out, so that the interface is the same when it is read
// again.
func TestLineEnds(t *testing.T) {
	h := host(t)
	kwargs := data.NewMap("proto", "dhcp", "up_cmds", []any{"ip a\n"})
	built, err := h.Registry.Invoke(t.Context(), "ip.build_interface", []any{"eth0", "eth", true}, kwargs)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.Registry.Invoke(t.Context(), "ip.get_interface", []any{"eth0"}, nil); err != nil ||
		!data.Equal(got, built) {
		t.Errorf("read %s, %v, built %s", data.Repr(got), err, data.Repr(built))
	}
}

// A dash as netmask or gateway is left out of the scripts, and so is what a shell reads in a name.
func TestRouteWithDash(t *testing.T) {
	h := hostfiles.NewHost(t, data.NewMap("os_family", "Debian"), options())
	h.Dirs(t, options().Dirs...)
	routes := data.NewMap("routes", []any{data.NewMap("ipaddr", "10.0.0.0/8", "netmask", "-", "gateway", "-")})
	if v, err := h.Registry.Invoke(t.Context(), "ip.build_routes", []any{`$(reboot)"`}, routes); err == nil {
		t.Errorf("the name of a command gives %s", data.Repr(v))
	}
	if _, err := h.Registry.Invoke(t.Context(), "ip.build_routes", []any{"eth0"}, routes); err != nil {
		t.Fatal(err)
	}
	text := h.Files(t).Text("etc/network/if-up.d/route-eth0")
	if !strings.HasSuffix(text, "\nip route add 10.0.0.0/8  dev eth0\n") {
		t.Errorf("the script is %q", text)
	}
}

// Interfaces that cannot be read are not dropped from the file. A link without a file is none of them.
func TestUnreadable(t *testing.T) {
	h := host(t)
	h.Write(t, data.NewMap("etc/network/interfaces", "auto lo\niface lo inet loopback\n"))
	more := filepath.Join(h.Root, "etc/network/interfaces.d")
	for name, target := range map[string]string{"gone": "nowhere", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(more, name)); err != nil {
			t.Fatal(err)
		}
		_, err := h.Registry.Invoke(t.Context(), "ip.build_interface", []any{"eth0", "eth", true},
			data.NewMap("proto", "dhcp"))
		if (err == nil) != (name == "gone") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(more, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// A user or a password is one word for pppd, and none of its options.
func TestPeerWords(t *testing.T) {
	h := host(t)
	for text, want := range map[string]string{"plain#1": "plain#1", `"in quotes"`: `"in quotes"`,
		"two words": `"two words"`, `a"b\c`: `"a\"b\\c"`, "#x": `"#x"`,
		`"a" connect "b"`: `"\"a\" connect \"b\""`} {
		kwargs := data.NewMap("proto", "ppp", "provider", "isp", "user", text, "password", text, "linkname", text)
		if _, err := h.Registry.Invoke(t.Context(), "ip.build_interface", []any{"dsl0", "pppoe", true},
			kwargs); err != nil {
			t.Fatal(err)
		}
		file := h.Files(t).Text("etc/ppp/peers/isp")
		for _, line := range []string{"user " + want + "\n", "password " + want + " \n",
			"linkname " + want + "\n"} {
			if !strings.Contains(file, line) {
				t.Errorf("%q lacks %q", file, line)
			}
		}
	}
}
