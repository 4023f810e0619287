package netconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// The results are those of Salt's salt.utils.validate.net.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		v                 any
		v4, v6, mask, mac bool
	}{
		{v: "10.0.0.1", v4: true}, {v: "10.0.0.1/24", v4: true}, {v: "10.0.0.1/0"}, {v: "10.0.0.1/33"},
		{v: "10.0.0.01"},
		{v: "::1", v6: true}, {v: "::1/128", v6: true}, {v: "::1/129"}, {v: "fe80::1%eth0"}, {v: "::ffff:10.0.0.1",
			v6: true},
		{v: "255.255.255.0", v4: true, mask: true}, {v: "255.0.255.0", v4: true}, {v: "255.255.64.0", v4: true},
		{v: "aa:bb:cc:dd:ee:ff", mac: true}, {v: "A-B-C-D-E-F", mac: true}, {v: "aa:bb-cc:dd:ee:ff"},
		{v: "aa:bb:cc:dd:ee"},
		{v: int64(5)}, {v: nil}, {v: "x/y"}, {v: ""},
	} {
		if IPv4(c.v) != c.v4 || IPv6(c.v) != c.v6 || Netmask(c.v) != c.mask || MAC(c.v) != c.mac {
			t.Errorf("%s: %t %t %t %t", data.Repr(c.v), IPv4(c.v), IPv6(c.v), Netmask(c.v), MAC(c.v))
		}
	}
}

func TestSwitches(t *testing.T) {
	for _, v := range []any{"yes", "on", "true", "1", true, int64(1), 1.0} {
		if !On(v) || Off(v) {
			t.Errorf("%s is not on", data.Repr(v))
		}
	}
	for _, v := range []any{"no", "off", "false", "0", false, int64(0), 0.0} {
		if !Off(v) || On(v) {
			t.Errorf("%s is not off", data.Repr(v))
		}
	}
	for _, v := range []any{"Yes", "", nil, int64(2), []any{}} {
		if On(v) || Off(v) {
			t.Errorf("%s is on or off", data.Repr(v))
		}
	}
}

func TestQuotes(t *testing.T) {
	for in, want := range map[string]string{`"a"`: "a", `'a'`: "a", `"a'`: `"a'`, "": "", `"`: `"`, "aa": "aa",
		`""`: ""} {
		if got := Unquoted(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// A link stays a link, and the file that it names changes. A missing file is made.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "run-resolv.conf"), filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(target, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run-resolv.conf", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{link: 0o640, filepath.Join(dir, "new"): 0o644} {
		if err := Write(path, "new\n", 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(src) != "new\n" || info.Mode().Perm() != want {
			t.Errorf("%s has %q, %v, %v, %v", path, src, info, err, statErr)
		}
	}
	if name, err := os.Readlink(link); err != nil || name != "run-resolv.conf" {
		t.Errorf("the link leads to %q, %v", name, err)
	}
}

// What is no address or number in a route is an error that names it, as it would be part of a script.
func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		option string
		v      any
		good   bool
	}{
		{"ipaddr", "10.0.0.0", true}, {"ipaddr", "10.0.0.0/8", true}, {"ipaddr", "2001:db8::/32", true},
		{"ipaddr", "default", true}, {"ipaddr", "0.0.0.0/0", true}, {"ipaddr", "1.1.1.1; reboot", false},
		{"ipaddr", "$(reboot)", false}, {"ipaddr", "fe80::1%$(reboot)", false},
		{"netmask", "255.255.255.0", true}, {"netmask", "24", true}, {"netmask", int64(24), true},
		{"netmask", "-", true}, {"netmask", "24;reboot", false}, {"netmask", "24 ", false},
		{"gateway", "-", true}, {"gateway", "--", false}, {"dev", "eth1", true}, {"dev", "eth1 x", false},
		{"gateway", "10.0.0.1", true}, {"gateway", "fe80::1", true}, {"gateway", "fe80::1%`x`", false},
		{"gateway", "10.0.0.1 dev x", false}, {"metric", int64(5), true}, {"metric", "5", true},
		{"metric", "5 | x", false}, {"metric", true, false}, {"metric", []any{"x"}, false},
	} {
		route := data.NewMap("ipaddr", "10.0.0.0")
		route.Set(c.option, c.v)
		_, err := Routes("eth0", data.NewMap("routes", []any{route}))
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), data.Repr(c.v)) {
			t.Errorf("%s %s: %v", c.option, data.Repr(c.v), err)
		}
	}
}

// A dash stands for no netmask and no gateway. A network has its length once.
func TestRoutesWithoutNetmask(t *testing.T) {
	dash := data.NewMap("ipaddr", "10.0.0.0/8", "netmask", "-", "gateway", "-")
	routes, err := Routes("eth0", data.NewMap("routes", []any{dash}))
	if err != nil || len(routes) != 1 || routes[0].Has("netmask") || routes[0].Has("gateway") ||
		dash.Len() != 3 {
		t.Errorf("a dash gives %v, %v from %s", routes, err, data.Repr(dash))
	}
	twice := data.NewMap("ipaddr", "10.0.0.0/8", "netmask", "24")
	if routes, err := Routes("eth0", data.NewMap("routes", []any{twice})); err == nil {
		t.Errorf("two lengths give %v", routes)
	}
}

// Names of interfaces are words of scripts and files as they are.
func TestNames(t *testing.T) {
	for _, name := range []string{"eth0", "eth0:1", "bond0.5", "br-lan", "eth0-range0", "wlan_0", "veth@if3",
		"é0", "a+b"} {
		if err := Name(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "-a", "a b", "a\tb", "a\u00a0b", "a\nb", "a\x1bb",
		"$(x)", "a$b", `a"b`, "a'b", "a`b`", `a\b`, "a;b", "a&b", "a|b", "a<b", "a>b", "a(b", "a)b",
		"a*", "a?", "a[b]", "{a,b}", "~a", "#a", "!a", "^a", "a=b", "a%b"} {
		if Name(name) == nil {
			t.Errorf("%q is taken for the name of an interface", name)
		}
	}
}

// A value that a shell would run or that ends its quote is refused.
func TestFileRefuses(t *testing.T) {
	for _, c := range []struct {
		quote, value string
		good         bool
	}{
		{`"`, "a b", true}, {`"`, `a"b`, false}, {`"`, "$(x)", false}, {`"`, "`x`", false}, {`"`, `a\`, false},
		{"'", `{"a": "$b"}`, true}, {"'", "a'b", false}, {"", "web1", true}, {"", "web1 reboot", false},
		{"", `"a b"`, true}, {"", `"$(x)"`, false}, {"", "a;b", false},
	} {
		f := &File{}
		f.Put("X", c.quote, c.value)
		if _, err := f.Text(); (err == nil) != c.good {
			t.Errorf("%s%s: %v", c.quote, c.value, err)
		}
	}
}
