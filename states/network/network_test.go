package network_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/hostfiles"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/network"
)

var dirs = map[string][]string{
	"debian_ip": {"etc/network/interfaces.d", "etc/network/if-up.d", "etc/network/if-down.d", "etc/modprobe.d",
		"etc/default"},
	"rh_ip":   {"etc/sysconfig/network-scripts"},
	"suse_ip": {"etc/sysconfig/network"},
}

// A host has the state network over a module ip.
type host struct {
	*hostfiles.Host
	states *loader.Registry
}

func newHost(t *testing.T, module string, grains any) *host {
	t.Helper()
	var ip loader.Plugin
	for _, p := range modules.Plugins(modules.Brought()) {
		if p.File == module {
			ip = p
		}
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "ifenslave"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	h := &host{Host: hostfiles.NewHost(t, grains, hostfiles.Options{Plugin: ip, Answers: hostfiles.Network()})}
	h.Dirs(t, dirs[module]...)
	of := h.Registry.Env()
	env := &loader.Env{Root: h.Root, Opts: of.Opts, Grains: of.Grains, Functions: h.Registry,
		Call: h.Registry.Invoke}
	states, err := loader.NewRegistry(env, []loader.Plugin{network.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	h.states = states
	return h
}

// run runs a state, and returns its result and the calls that change or start something.
func (h *host) run(t *testing.T, test bool, fun, name string, kwargs *data.Map) (*data.Map, []any) {
	t.Helper()
	h.Called = []any{}
	call := *change.CallOf(t.Context())
	call.Test = test
	args := kwargs.Clone()
	args.Set("name", name)
	v, err := h.states.Invoke(change.WithCall(context.Background(), &call), fun, nil, args)
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		t.Fatalf("%s %s gives %s, %v", fun, data.Repr(args), data.Repr(v), err)
	}
	called := []any{}
	for _, c := range h.Called {
		switch line := c.([]any); line[0] {
		case "network.interfaces":
		case "cmd.run":
			argv := line[1].([]any)
			argv[0] = filepath.Base(argv[0].(string))
			called = append(called, line)
		default:
			called = append(called, line)
		}
	}
	return ret, called
}

// testdata/steps.json has the results of Salt 3006.18, the functions and programs it called, and the files
// it left: each state in test mode, twice for real, and in test mode again.
func TestSteps(t *testing.T) {
	src, err := os.ReadFile("testdata/steps.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.([]any) {
		c := c.(*data.Map)
		h := newHost(t, c.Text("module"), c.Value("grains"))
		files, _ := c.Value("files").(*data.Map)
		h.Write(t, files)
		for i, s := range c.Value("steps").([]any) {
			s := s.(*data.Map)
			before := h.Files(t)
			test := s.Value("test") == true
			ret, called := h.run(t, test, s.Text("fun"), s.Text("name"), s.Value("kwargs").(*data.Map))
			if !data.Equal(ret, s.Value("return")) || !data.Equal(called, s.Value("called")) {
				t.Errorf("%s step %d: %s %s\n got %s\nwant %s\ncalls %s\nwant  %s", c.Text("module"), i, s.Text("fun"),
					data.Repr(s.Value("kwargs")), data.Repr(ret), data.Repr(s.Value("return")), data.Repr(called),
					data.Repr(s.Value("called")))
			}
			if test && !data.Equal(h.Files(t), before) {
				t.Errorf("%s step %d: test mode writes %s", c.Text("module"), i, data.Repr(h.Files(t)))
			}
		}
		if after := h.Files(t); !data.Equal(after, c.Value("after")) {
			t.Errorf("%s leaves\n%s\nwant\n%s", c.Text("module"), data.Repr(after), data.Repr(c.Value("after")))
		}
	}
}

func grains(family string) *data.Map {
	return data.NewMap("os_family", family, "os", family, "osfullname", family, "osrelease", "12",
		"osmajorrelease", int64(12))
}

// In test mode no package is installed and no service is switched. On Debian the settings of the
// system are equal after one run, with all that they hold.
func TestDebian(t *testing.T) {
	for _, full := range []string{"Debian", "Ubuntu"} {
		g := grains("Debian")
		g.Set("osfullname", full)
		h := newHost(t, "debian_ip", g)
		h.Write(t, data.NewMap("etc/resolv.conf", "nameserver 192.0.2.1\n", "etc/hostname", "web1.a.example\n",
			"etc/default/networking", "CONFIGURE_INTERFACES=yes\n"))
		kwargs := data.NewMap("enabled", true, "hostname", "web1.a.example", "search", "a.example b.example")
		for i, want := range []any{nil, true, true, true} {
			ret, called := h.run(t, i == 0 || i == 3, "network.system", "s", kwargs)
			changes := ret.Value("changes").(*data.Map).Len()
			if ret.Value("result") != want || (changes > 0) != (i == 1) {
				t.Errorf("%s, run %d: %s", full, i, data.Repr(ret))
			}
			if text := data.Repr(called); i != 1 && i != 2 && (strings.Contains(text, "enable'") ||
				strings.Contains(text, "disable'")) {
				t.Errorf("%s, run %d calls %s", full, i, text)
			}
		}
		want := "domain a.example\nsearch a.example b.example\nnameserver 192.0.2.1\n"
		if got := h.Files(t).Text("etc/resolv.conf"); got != want {
			t.Errorf("resolv.conf is %q", got)
		}
	}
	h := newHost(t, "debian_ip", grains("Debian"))
	for kind, params := range map[string]*data.Map{"vlan": data.NewMap(), "bridge": data.NewMap("ports", "eth1"),
		"pppoe": data.NewMap("provider", "isp", "user", "u")} {
		params.Update(data.NewMap("type", kind, "proto", "dhcp"))
		if _, called := h.run(t, true, "network.managed", "x0", params); data.Repr(called) != "[]" {
			t.Errorf("test mode calls %s", data.Repr(called))
		}
	}
}

// Routes of an interface with a dot in its name are found again.
func TestRoutesOfVLAN(t *testing.T) {
	h := newHost(t, "debian_ip", grains("Debian"))
	kwargs := data.NewMap("routes", []any{data.NewMap("ipaddr", "10.0.0.0", "netmask", "8")})
	for i, want := range []int{0, 1, 0, 0} {
		ret, _ := h.run(t, i == 0 || i == 3, "network.routes", "bond0.5", kwargs)
		if ret.Value("changes").(*data.Map).Len() != want {
			t.Errorf("run %d: %s", i, data.Repr(ret))
		}
	}
}

// Test mode for a bridge sets no parameter of the kernel and installs nothing.
func TestBridgeInTestMode(t *testing.T) {
	for family, module := range map[string]string{"RedHat": "rh_ip", "Suse": "suse_ip"} {
		g := grains(family)
		g.Set("osrelease", "9")
		h := newHost(t, module, g)
		kwargs := data.NewMap("type", "bridge")
		for i, want := range []string{"[]", "", "", "[]"} {
			ret, called := h.run(t, i == 0 || i == 3, "network.managed", "br0", kwargs)
			if text := data.Repr(called); want != "" && text != want || want == "" && !strings.Contains(text,
				"sysctl.persist") {
				t.Errorf("%s run %d calls %s", module, i, text)
			}
			if i == 3 && ret.Value("result") != true {
				t.Errorf("%s: %s", module, data.Repr(ret))
			}
		}
	}
}

// Slaves that are missing fail the state if nothing can add them; those that are there need nothing.
func TestSlaves(t *testing.T) {
	h := newHost(t, "debian_ip", grains("Debian"))
	t.Setenv("PATH", t.TempDir())
	kwargs := data.NewMap("type", "bond", "mode", "4", "slaves", "eth4 eth5", "proto", "dhcp")
	if ret, _ := h.run(t, false, "network.managed", "bond0", kwargs); ret.Value("result") != false {
		t.Errorf("without ifenslave: %s", data.Repr(ret))
	}
	h.Write(t, data.NewMap("sys/class/net/bond0/bonding/slaves", "eth5 eth4\n"))
	if ret, _ := h.run(t, false, "network.managed", "bond0", kwargs); ret.Value("result") != true {
		t.Errorf("with all slaves: %s", data.Repr(ret))
	}
}

// A program that fails makes the state fail with its command line and output. After a failing ifdown, ifup
// runs: the host may be reached by no other interface.
func TestFailures(t *testing.T) {
	plain := data.NewMap("type", "eth", "proto", "dhcp")
	bond := data.NewMap("type", "bond", "mode", "4", "slaves", "eth4", "proto", "dhcp")
	off := data.NewMap("enabled", false, "proto", "dhcp")
	for _, c := range []struct {
		program, iface, comment, status string
		kwargs                          *data.Map
	}{
		{"ifup", "eth1", "ifup eth1: exit code 3: no lease", "", plain},
		{"ifup", "eth0", "ifup eth0: exit code 3: no lease", "", plain},
		{"ifdown", "eth0", "ifdown eth0: exit code 3: no lease", "", plain},
		{"ifdown", "eth0", "ifdown eth0: exit code 3: no lease", "", off},
		{"ifenslave", "bond0", "ifenslave bond0 eth4: exit code 3: no lease", "Interface bond0 is up", bond},
	} {
		for module, family := range map[string]string{"debian_ip": "Debian", "rh_ip": "RedHat", "suse_ip": "Suse"} {
			if module == "suse_ip" && c.program == "ifenslave" {
				continue // there ifup adds the slaves
			}
			g := grains(family)
			g.Set("osrelease", "9")
			kwargs := c.kwargs.Clone()
			if module != "debian_ip" {
				kwargs.Set("miimon", int64(100))
			}
			h := newHost(t, module, g)
			h.Fails = map[string]string{c.program: "no lease\n"}
			ret, called := h.run(t, false, "network.managed", c.iface, kwargs)
			changes := ret.Value("changes").(*data.Map)
			if ret.Value("result") != false || !strings.Contains(ret.Text("comment"), c.comment) ||
				changes.Text("status") != c.status || changes.Has("enslave") {
				t.Errorf("%s, failing %s: %s", module, c.program, data.Repr(ret))
			}
			ran := data.Repr(called)
			if up := strings.Contains(ran, "['ifup', '"+c.iface+"']"); up != (kwargs.Value("enabled") != false) {
				t.Errorf("%s, failing %s: calls %s", module, c.program, ran)
			}
			h.Fails = nil
			ret, _ = h.run(t, false, "network.managed", c.iface, kwargs)
			if ret.Value("result") != true {
				t.Errorf("%s, %s works again: %s", module, c.program, data.Repr(ret))
			}
		}
	}
	h := newHost(t, "suse_ip", grains("Suse"))
	h.Fails = map[string]string{"netconfig": "no lease\n"}
	ret, _ := h.run(t, false, "network.system", "s", data.NewMap("dns", []any{"192.0.2.1"}))
	if ret.Value("result") != false || ret.Text("comment") != "netconfig update -f: exit code 3: no lease" {
		t.Errorf("failing netconfig: %s", data.Repr(ret))
	}
}

// Slaves that cannot be read are not taken for missing, and settings that the network does not take fail.
func TestFailedLooks(t *testing.T) {
	h := newHost(t, "debian_ip", grains("Debian"))
	h.Dirs(t, "sys/class/net/bond0/bonding/slaves")
	kwargs := data.NewMap("type", "bond", "mode", "4", "slaves", "eth4 eth5", "proto", "dhcp")
	ret, called := h.run(t, false, "network.managed", "bond0", kwargs)
	if ret.Value("result") != false || !strings.Contains(ret.Text("comment"), "read the slaves of bond0") ||
		strings.Contains(data.Repr(called), "ifenslave'") && strings.Contains(data.Repr(called), "'eth4'") {
		t.Errorf("unreadable slaves: %s, %s", data.Repr(ret), data.Repr(called))
	}
	h = newHost(t, "rh_ip", grains("RedHat"))
	h.Answers.Set("service.restart", false)
	h.Registry.Env().GrainsNow().Set("osrelease", "9")
	ret, _ = h.run(t, false, "network.managed", "eth0-range0", data.NewMap("proto", "none"))
	if ret.Value("result") != false || !strings.Contains(ret.Text("comment"), "could not be restarted") {
		t.Errorf("a range: %s", data.Repr(ret))
	}
	routes := data.NewMap("routes", []any{data.NewMap("ipaddr", "10.0.0.0", "netmask", "8")})
	ret, _ = h.run(t, false, "network.routes", "eth0", routes)
	if ret.Value("result") != false || !strings.Contains(ret.Text("comment"), "ip.apply_network_settings") ||
		ret.Value("changes").(*data.Map).Len() != 1 {
		t.Errorf("a network that does not restart: %s", data.Repr(ret))
	}
}

// Names that are paths or options, and values with several lines, fail the state and write nothing.
func TestRefused(t *testing.T) {
	for module, family := range map[string]string{"debian_ip": "Debian", "rh_ip": "RedHat", "suse_ip": "Suse"} {
		g := grains(family)
		g.Set("osrelease", "9")
		h := newHost(t, module, g)
		for _, name := range []string{"../x", "-x", "a\nb", "a b", "..", "$(x)", `a"`} {
			for _, fun := range []string{"managed", "routes"} {
				if ret, called := h.run(t, false, "network."+fun, name, data.NewMap("routes",
					[]any{})); ret.Value("result") != false || len(called) > 0 {
					if fun == "managed" && module == "debian_ip" || ret.Value("result") != false {
						t.Errorf("%s %s %q: %s %s", module, fun, name, data.Repr(ret), data.Repr(called))
					}
				}
			}
		}
		for _, params := range []*data.Map{data.NewMap("gateway", "1\nX=1"), data.NewMap("domain", []any{"a\nb"}),
			data.NewMap("up_cmds", []any{"a\r\nb"})} {
			if ret, _ := h.run(t, false, "network.managed", "eth0", params); ret.Value("result") != false {
				t.Errorf("%s %s: %s", module, data.Repr(params), data.Repr(ret))
			}
		}
		bad := data.NewMap("routes", []any{data.NewMap("ipaddr", "1.1.1.0\nreboot")})
		if ret, _ := h.run(t, false, "network.routes", "eth0", bad); ret.Value("result") != false {
			t.Errorf("%s: %s", module, data.Repr(ret))
		}
		if files := h.Files(t); files.Len() > 0 {
			t.Errorf("%s writes %s", module, data.Repr(files))
		}
	}
}

// The line that includes other files is the same in test mode.
func TestSource(t *testing.T) {
	h := newHost(t, "debian_ip", grains("Debian"))
	kwargs := data.NewMap("type", "source", "source", "interfaces.d/*")
	for i, want := range []any{nil, true, true, true} {
		ret, _ := h.run(t, i == 0 || i == 3, "network.managed", "source", kwargs)
		if ret.Value("result") != want || (ret.Value("changes").(*data.Map).Len() > 0) != (i == 1) {
			t.Errorf("run %d: %s", i, data.Repr(ret))
		}
	}
}
