package network

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// write creates files below a directory.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrograms makes the calls that run programs. Each call finds only the programs that its host
// has.
func TestPrograms(t *testing.T) {
	var cases []struct{ There []string }
	src, err := os.ReadFile("testdata/programs.json")
	if err := errors.Join(err, json.Unmarshal(src, &cases)); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, root, map[string]string{"sbin/ethtool": ""})
	var there []string
	find := func(name string) string {
		if slices.Contains(there, name) {
			return "/usr/bin/" + name
		}
		return ""
	}
	plugin := loader.Plugin{Name: "network", New: func(env *loader.Env) (*loader.Module, error) {
		return newModule(&module{env: env, links: host, find: find})
	}}
	replay.Check(t, "testdata/programs.json", replay.Options{Root: root, Plugins: []loader.Plugin{plugin},
		Before: func(_ *testing.T, i int) { there = cases[i].There }})
}

func TestActiveTcp(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"proc/net/tcp": "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000\n" +
			"   1: 0200000A:0016 0100000A:D431 01 00000000:00000000\n   2: short\n   3: 01:1 02:2 01\n",
		"proc/net/tcp6": "  sl  local_address\n   0: 000000FD000000000000000001000000:0050 0000000000000000FFFF00000100007F:1F90 01 0\n",
	})
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	want := data.NewMap(
		int64(0), data.NewMap("local_addr", "10.0.0.2", "local_port", int64(22), "remote_addr",
			"10.0.0.1", "remote_port", int64(54321)),
		int64(1), data.NewMap("local_addr", "fd00::1", "local_port", int64(80), "remote_addr",
			"127.0.0.1", "remote_port", int64(8080)))
	for range 2 {
		if got, err := r.Invoke(t.Context(), "network.active_tcp", nil, nil); err != nil ||
			!data.Equal(got, want) {
			t.Errorf("network.active_tcp = %s, %v, want %s", data.Repr(got), err, data.Repr(want))
		}
	}
}

func TestConnect(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	answering := answerer(t)
	r := registry(t, host)
	port := func(a net.Addr) string { _, p, _ := net.SplitHostPort(a.String()); return p }
	for _, tt := range []struct {
		args   []any
		kwargs *data.Map
		result bool
		want   string
	}{
		{[]any{"127.0.0.1", port(l.Addr())}, nil, true,
			"Successfully connected to 127.0.0.1 (127.0.0.1) on tcp port " + port(l.Addr())},
		{[]any{"127.0.0.1", port(gone.Addr())}, nil, false,
			"Unable to connect to 127.0.0.1 (127.0.0.1) on tcp port " + port(gone.Addr())},
		{[]any{"127.0.0.1", port(answering)}, data.NewMap("proto", "udp"), true,
			"Successfully connected to 127.0.0.1 (127.0.0.1) on udp port " + port(answering)},
		{[]any{"127.0.0.1", port(gone.Addr())}, data.NewMap("family", "ipv6"), false,
			"Unable to resolve host 127.0.0.1 on tcp port " + port(gone.Addr())},
		{[]any{"127.0.0.1", port(l.Addr())}, data.NewMap("family", []any{"ipv4"}), true,
			"Successfully connected to 127.0.0.1 (127.0.0.1) on tcp port " + port(l.Addr())},
		{[]any{""}, nil, false, "Required argument, host, is missing."},
		{[]any{"127.0.0.1"}, nil, false, "Required argument, port, is missing."},
	} {
		for range 2 {
			got, err := r.Invoke(t.Context(), "network.connect", tt.args, tt.kwargs)
			if m, ok := got.(*data.Map); err != nil || !ok || m.Value("result") != tt.result ||
				m.Text("comment") != tt.want {
				t.Errorf("network.connect %v = %s, %v, want %q", tt.args, data.Repr(got), err, tt.want)
			}
		}
	}
}

// answerer returns a UDP socket that answers everything it receives.
func answerer(t *testing.T) net.Addr {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { c.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 255)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			c.WriteTo(buf[:n], from)
		}
	}()
	return c.LocalAddr()
}

// TestWol sends the packet to a socket of this host: six bytes of ones, then sixteen times the
// address.
func TestWol(t *testing.T) {
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, port, _ := net.SplitHostPort(c.LocalAddr().String())
	for _, mac := range []string{"08:00:27:13:69:77", "080027136977", "08-00-27-13-69-77"} {
		if v, err := registry(t, host).Invoke(t.Context(),
			"network.wol", []any{mac, "127.0.0.1", port}, nil); v != true || err != nil {
			t.Fatalf("network.wol %s = %v, %v", mac, v, err)
		}
		buf := make([]byte, 200)
		n, _, err := c.ReadFrom(buf)
		want := strings.Repeat("\xff", 6) + strings.Repeat("\x08\x00\x27\x13\x69\x77", 16)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("packet %x, %v, want %x", buf[:n], err, want)
		}
	}
}

func TestFqdns(t *testing.T) {
	r, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "network", New: func(env *loader.Env) (*loader.Module, error) {
			return newModule(&module{env: env, links: host, resolver: names{"web1", "web1.example.net."}})
		}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := r.Invoke(t.Context(), "network.fqdns", nil, nil)
		if want := data.NewMap("fqdns", []any{"web1.example.net"}); err != nil || !data.Equal(got, want) {
			t.Errorf("network.fqdns = %s, %v, want %s", data.Repr(got), err, data.Repr(want))
		}
	}
}

// TestModHostname renames a host of each family twice. The second call writes nothing.
func TestModHostname(t *testing.T) {
	const hosts = "# web1 here\n127.0.0.1 localhost\n10.0.0.1  web1.example web1\n"
	for family, want := range map[string]map[string]string{
		"Debian": {"etc/hostname": "web2\n", "etc/sysconfig/network": "NET=yes\nHOSTNAME=\"web1\"\n"},
		"RedHat": {"etc/hostname": "web1\n", "etc/sysconfig/network": "NET=yes\nHOSTNAME=\"web2\"\n"},
	} {
		root := t.TempDir()
		write(t, root, map[string]string{"etc/hosts": hosts, "etc/hostname": "web1\n",
			"etc/sysconfig/network": "NET=yes\nHOSTNAME=\"web1\"\n"})
		for _, old := range []string{"web1", "web2"} {
			rename(t, root, family, old, "web2")
			want["etc/hosts"] = "#\tweb2\there\n127.0.0.1 localhost\n10.0.0.1\tweb1.example\tweb2\n"
			for name, text := range want {
				if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != text {
					t.Errorf("%s: %s is %q, %v, want %q", family, name, got, err, text)
				}
			}
		}
	}
}

// rename calls network.mod_hostname on a host whose old name comes from hostnamectl.
func rename(t *testing.T, root, family, old, name string) {
	t.Helper()
	shell := &replay.Shell{Answers: data.NewMap(
		"hostnamectl status", data.NewMap("retcode", int64(0), "stdout", "   Static hostname: "+old+
			"\n         Icon name: x", "stderr", ""),
		"hostnamectl set-hostname "+name, data.NewMap("retcode", int64(0), "stdout", "", "stderr", ""))}
	env := &loader.Env{Root: root,
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux", "os_family", family) }}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{shell.Plugin(), {Name: "network", New: func(env *loader.Env) (*loader.Module, error) {
			return newModule(&module{env: env, links: host,
				find: func(name string) string { return "/usr/bin/" + name }})
		}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.Invoke(t.Context(), "network.mod_hostname", []any{name}, nil); v != true || err != nil {
		t.Fatalf("network.mod_hostname = %v, %v", v, err)
	}
	if want := []any{[]any{"hostnamectl", "status"},
		[]any{"hostnamectl", "set-hostname", name}}; !data.Equal(shell.Ran, want) {
		t.Errorf("ran %s, want %s", data.Repr(shell.Ran), data.Repr(want))
	}
	if v, err := r.Invoke(t.Context(), "network.mod_hostname", []any{"-x"}, nil); err == nil {
		t.Errorf("network.mod_hostname -x = %v", v)
	}
}

func FuzzReaders(f *testing.F) {
	f.Add(" 1  gate (10.0.0.1)  0.1 ms  0.2 ms  0.3 ms")
	f.Add("tcp ESTAB 0 0 a:1 b:2 users:((\"x\",pid=1,fd=2)) uid:1 ino:2 sk:3")
	f.Add("0: 0100007F:0CEA 00000000:0000 01")
	f.Add("default via fe80::1 dev eth0")
	f.Fuzz(func(_ *testing.T, line string) {
		for _, read := range []func(string) *data.Map{hopNew, hopOld, hopBSD, bufferSizes} {
			read(line)
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			return
		}
		netstatLine(words)
		ssLine(words)
		connection(words)
		ipRoute4(words)
		ipRoute6(words)
		renamed(line, words[0], "x")
	})
}
