package grains

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// The numbers are those of get_server_id of Salt 3006.18.
func TestServerID(t *testing.T) {
	for id, want := range map[string]int64{
		"m1": 890885657, "a": 804145339, "web01.example.com": 866199252, "12345678": 681092687,
		"größe": 964965252, "日本": 1239297682, "x😀y": 1593283828, "": 2018687061,
		"minion-with-a-rather-long-name.dc1.example.org": 1698406672,
	} {
		c := &collection{Collector: New(Options{Opts: data.NewMap("id", id)})}
		if got := c.serverID(t.Context()).Value("server_id"); got != want {
			t.Errorf("server_id of %q = %v, want %d", id, got, want)
		}
	}
}

// The results are those of Python 3.11's locale.getdefaultlocale if the locale is installed.
func TestLocale(t *testing.T) {
	for setting, want := range map[string][2]any{
		"LC_ALL=C": {nil, nil}, "LC_ALL=POSIX": {nil, nil}, "LANG=C": {"en_US", "UTF-8"},
		"": {"en_US", "UTF-8"}, "LC_ALL=C.UTF-8": {"en_US", "UTF-8"}, "LANG=C.utf8": {"en_US",
			"UTF-8"}, "LC_CTYPE=fr_FR.UTF-8": {"fr_FR", "UTF-8"},
		"LANG=en_US.UTF-8": {"en_US", "UTF-8"}, "LANG=en_US.utf8": {"en_US", "UTF-8"},
		"LANG=de_DE@euro": {"de_DE", "ISO8859-15"}, "LANG=de_DE": {"de_DE", "ISO8859-1"},
		"LANG=fr_FR.iso88591": {"fr_FR", "ISO8859-1"}, "LANG=ja_JP": {"ja_JP", "eucJP"},
		"LANG=sr_RS.UTF-8@latin": {"sr_RS", "UTF-8"}, "LANG=ru_RU": {"ru_RU", "UTF-8"},
		"LANG=en_US.ISO-8859-15": {"en_US", "ISO8859-15"}, "LANG=tr_TR": {"tr_TR", "ISO8859-9"},
	} {
		name, value, _ := strings.Cut(setting, "=")
		language, encoding := locale(func(v string) string { return map[string]string{name: value}[v] })
		if language != want[0] || encoding != want[1] {
			t.Errorf("locale of %q = %v, %v, want %v", setting, language, encoding, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		comments   bool
		want       []string
	}{
		{"plain", "a b\tc\nd", false, []string{"a", "b", "c", "d"}},
		{"quotes inside a word", `a="b c"'d e'f`, false, []string{"a=b cd ef"}},
		{"an empty word", `'' ""`, false, []string{"", ""}},
		{"backslashes", `a\ b "\"\x\\" '\x'`, false, []string{"a b", `"\x\`, `\x`}},
		{"a comment", "a # b c\nd", true, []string{"a", "d"}},
		{"no comments", "a # b", false, []string{"a", "#", "b"}},
		{"a quote that stays open", `a "b c`, false, []string{"a", "b c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shellWords(tt.text, tt.comments); !slices.Equal(got, tt.want) {
				t.Errorf("shellWords(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestBlacklist(t *testing.T) {
	b, err := newBlacklist([]any{"cpu*", "ip[46]_.*", "(broken", int64(5)})
	if err == nil {
		t.Error("an entry that is no text is taken")
	}
	for name, want := range map[string]bool{"cpu_model": true, "ip4_gw": true, "ip_gw": false,
		"(broken": true, "xcpu": false} {
		if got := b.has(name); got != want {
			t.Errorf("blacklist has %q = %v, want %v", name, got, want)
		}
	}
}

func TestZFSSizes(t *testing.T) {
	for text, want := range map[string]any{"1.98T": int64(2177033022996), "512": int64(512),
		"10G": int64(10737418240), "-": "-", "1.5KB": int64(1536)} {
		if got := zfsSize(text); got != want {
			t.Errorf("zfsSize(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestLookups(t *testing.T) {
	hosts := parseHosts("127.0.0.1 localhost\n127.0.1.1\tWeb1.example.org web1 # comment\n2001:db8::9 web1\nbad line\n")
	dns := &fakeDNS{cname: "web1.dns.example.",
		addrs: []string{"::ffff:192.0.2.7", "192.0.2.7", "2001:db8::7"}}
	local := func(keep func(netip.Addr) bool) []netip.Addr {
		return slices.DeleteFunc([]netip.Addr{netip.MustParseAddr("192.0.2.1"),
			netip.MustParseAddr("::1")}, func(a netip.Addr) bool { return !keep(a) })
	}
	for _, tt := range []struct {
		nsswitch, hostname, fqdn, v4, v6 string
	}{
		{"", "web1", "Web1.example.org", "127.0.1.1", "[]"},
		{"hosts: files dns", "web1", "Web1.example.org", "127.0.1.1", "2001:db8::7"},
		{"hosts: dns files", "web1", "web1.dns.example", "192.0.2.7", "2001:db8::7"},
		{"passwd: x\nhosts:  myhostname resolve [!UNAVAIL=return] dns", "web1", "web1", "192.0.2.1", "::1"},
		{"hosts: files", "db1", "db1", "[]", "[]"},
		{"hosts: files resolve", "db1", "web1.dns.example", "192.0.2.7", "2001:db8::7"},
	} {
		t.Run(tt.nsswitch+" "+tt.hostname, func(t *testing.T) {
			n := &names{hostname: tt.hostname, services: nameServices(tt.nsswitch), hosts: hosts,
				dns: dns, local: local}
			if tt.nsswitch == "" {
				n.dns = &fakeDNS{}
			}
			fqdn := n.fqdn(t.Context())
			if fqdn != tt.fqdn {
				t.Errorf("fqdn = %q, want %q", fqdn, tt.fqdn)
			}
			if got := one(n.addresses(t.Context(), fqdn, false)); got != tt.v4 {
				t.Errorf("IPv4 = %s, want %s", got, tt.v4)
			}
			if got := one(n.addresses(t.Context(), fqdn, true)); got != tt.v6 {
				t.Errorf("IPv6 = %s, want %s", got, tt.v6)
			}
		})
	}
}

func one(addrs []netip.Addr) string {
	if len(addrs) == 1 {
		return addrs[0].String()
	}
	return data.Repr(texts(addrs))
}

func TestReverseLookup(t *testing.T) {
	n := &names{services: []string{"files", "dns"},
		hosts: parseHosts("192.0.2.1 short full.example.org other.example.org\n192.0.2.2 only\n"),
		dns:   &fakeDNS{names: []string{"a.example.", "b.example.", "c"}}}
	for addr, want := range map[string][]string{
		"192.0.2.1": {"full.example.org", "full.example.org", "other.example.org"},
		"192.0.2.2": {"only"}, "192.0.2.3": {"a.example", "b.example"},
	} {
		if got := n.reverse(t.Context(), netip.MustParseAddr(addr)); !slices.Equal(got, want) {
			t.Errorf("names of %s = %q, want %q", addr, got, want)
		}
	}
}

// TestSilentNameServer checks that a silent name server delays a collection only up to the common
// deadline, no matter how many look-ups there are.
func TestSilentNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Opts: data.NewMap("id", "x", "enable_fqdns_grains", true), Root: t.TempDir(),
			Run: func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("no programs") }})
		c.dns = &fakeDNS{silent: true}
		c.uname = func() *data.Map { return data.NewMap("nodename", "host7") }
		c.links = func() ([]link, error) {
			var l link
			for i := range 40 {
				l.addrs = append(l.addrs, linkAddr{addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})})
			}
			return []link{l}, nil
		}
		begin := time.Now()
		g, err := c.Collect(t.Context())
		if err != nil || time.Since(begin) != lookupTime {
			t.Errorf("Collect took %v, %v, want %v", time.Since(begin), err, lookupTime)
		}
		if g.Text("fqdn") != "host7" {
			t.Errorf("fqdn = %q, want the name of the host", g.Text("fqdn"))
		}
	})
}

func TestWhich(t *testing.T) {
	root := t.TempDir()
	for path, mode := range map[string]os.FileMode{"usr/bin/a": 0o755, "opt/b": 0o755,
		"usr/bin/plain": 0o644} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(Options{Root: root, Env: func(string) string { return "/opt:relative" }})
	for name, want := range map[string]string{"a": "/usr/bin/a", "b": "/opt/b", "plain": "",
		"none": "", "/opt/b": "/opt/b"} {
		if got := h.which(name); got != want {
			t.Errorf("which(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Options{Root: t.TempDir()}).Collect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Collect = %v, want %v", err, context.Canceled)
	}
}

// TestDeepMerge covers grains_deep_merge: maps from the grains file are merged with those of the
// system.
func TestDeepMerge(t *testing.T) {
	for deep, want := range map[bool]string{false: "{'nameservers': []}", true: "keeps search"} {
		root := t.TempDir()
		writeRoot(t, root, "etc/resolv.conf", "search example.org\n")
		writeRoot(t, root, "conf/grains", "dns: {nameservers: []}\n")
		c := New(Options{Root: root, ConfFile: filepath.Join(root, "conf", "minion"),
			Opts: data.NewMap("grains_deep_merge", deep)})
		c.dns = &fakeDNS{}
		g, err := c.Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := data.Repr(g.Value("dns"))
		if deep && strings.Contains(got, "'search': ['example.org']") {
			got = "keeps search"
		}
		if got != want {
			t.Errorf("dns with grains_deep_merge %v = %s, want %s", deep, got, want)
		}
	}
}

func writeRoot(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeDNS gives the same answer to every question; if silent, it waits for the end of the context.
type fakeDNS struct {
	cname  string
	addrs  []string
	names  []string
	silent bool
}

var errNoAnswer = errors.New("no answer")

func (d *fakeDNS) answer(ctx context.Context, none bool) error {
	if d.silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if none {
		return errNoAnswer
	}
	return nil
}

func (d *fakeDNS) LookupCNAME(ctx context.Context, _ string) (string, error) {
	return d.cname, d.answer(ctx, d.cname == "")
}

func (d *fakeDNS) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	var list []netip.Addr
	for _, a := range d.addrs {
		list = append(list, netip.MustParseAddr(a))
	}
	return list, d.answer(ctx, len(list) == 0)
}

func (d *fakeDNS) LookupAddr(ctx context.Context, _ string) ([]string, error) {
	return slices.Clone(d.names), d.answer(ctx, len(d.names) == 0)
}

// FuzzFiles feeds hostile contents to every parser of a system file: none may panic or run away.
func FuzzFiles(f *testing.F) {
	f.Add("NAME=\"x\\\"\"\nID='a\nVERSION=1 (b)\nCPE_NAME=cpe:/o:suse:sles:1",
		"processor : 0\nmodel name : x")
	f.Add("MemTotal: 99999999999999999999 kB\nnameserver ::1%eth0\nsortlist 1.2.3.4/0 ::/x", "vendor_id\t:\n")
	f.Add("a=\"b\\", "hosts: [\n::1 a b\n")
	f.Add("Class:\tVGA compatible controller\n\nsystemd \n",
		"arch a 1\narch b 9223372036854775807\narch c -9")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b, a + "\n" + b} {
			fields := osRelease(text)
			g := releaseGrains(fields)
			g.Update(lsbRelease(text))
			newHost(Options{Root: "/nonexistent"}).legacy(g, fields)
			releaseInfo(a, b, text)
			cpus(text)
			memory(text)
			gpus(text)
			zpools(text)
			opkgArchs(text)
			parseResolvConf(text)
			parseRelease(text)
			shellFields(text)
			synologyVersion(text)
			n := &names{hostname: "a", services: nameServices(text), hosts: parseHosts(text),
				dns: &fakeDNS{}, local: func(func(netip.Addr) bool) []netip.Addr { return nil }}
			n.addresses(t.Context(), n.fqdn(t.Context()), false)
			for _, read := range []func(*data.Map, string){lsbFromSuse, lsbFromAlt, func(m *data.Map, s string) { lsbFromCentOS(m, s, a) }} {
				read(data.NewMap(), text)
			}
			for _, read := range []func(string, *guest) bool{fromSystemd, fromVirtWhat, fromDMI, fromPCI} {
				read(text, &guest{})
			}
			isFiller(a, text)
		}
	})
}
