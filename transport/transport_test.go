package transport

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/brineproject/brine/internal/test/need"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseEndpoint(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Endpoint
		bad  bool
	}{
		{in: "tcp://127.0.0.1:4506", want: Endpoint{Host: "127.0.0.1", Port: 4506}},
		{in: "tcp://salt.example.com:4506", want: Endpoint{Host: "salt.example.com", Port: 4506}},
		{in: "tcp://[::1]:4506", want: Endpoint{Host: "::1", Port: 4506}},
		{in: "tcp://[fe80::1%eth0]:4506", want: Endpoint{Host: "fe80::1%eth0", Port: 4506}},
		{in: "tcp://*:*", want: Endpoint{}},
		{in: "ipc:///run/x.ipc", want: Endpoint{Path: "/run/x.ipc"}},
		{in: "tcp://127.0.0.1", bad: true},
		{in: "tcp://::1:4506", bad: true},
		{in: "tcp://h:65536", bad: true},
		{in: "tcp://h:-1", bad: true},
		{in: "tcp://h:http", bad: true},
		{in: "udp://h:1", bad: true},
		{in: "ipc://", bad: true},
		{in: "h:1", bad: true},
		{in: "", bad: true},
	} {
		got, err := ParseEndpoint(tt.in)
		if (err != nil) != tt.bad || got != tt.want {
			t.Errorf("ParseEndpoint(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	f.Add("tcp://[::1]:4506")
	f.Add("ipc:///run/x")
	f.Fuzz(func(t *testing.T, s string) {
		if e, err := ParseEndpoint(s); err == nil && e.Path != "" && (e.Host != "" || e.Port != 0) {
			t.Errorf("ParseEndpoint(%q) = %+v", s, e)
		}
	})
}

func TestSource(t *testing.T) {
	for _, tt := range []struct {
		name, iface, address string
		port                 int
		want                 string
	}{
		{name: "nothing", want: "<nil>"},
		{name: "address", address: "127.0.0.2", want: "127.0.0.2:0"},
		{name: "address and port", address: "127.0.0.2", port: 5000, want: "127.0.0.2:5000"},
		{name: "bracketed address", address: "[::1]", want: "[::1]:0"},
		{name: "port alone", port: 5000, want: ":5000"},
		{name: "no address", address: "salt.example.com"},
		{name: "no such interface", iface: "none-such", address: "127.0.0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Source(tt.iface, tt.address, tt.port)
			if (err != nil) != (tt.want == "") || err == nil && got.String() != tt.want {
				t.Errorf("Source = %v, %v, want %s", got, err, tt.want)
			}
		})
	}
	if runtime.GOOS == "linux" {
		if got, err := Source("lo", "192.0.2.1", 7); err != nil || got.String() != "127.0.0.1:7" {
			t.Errorf("Source of lo = %v, %v", got, err)
		}
	}
}

// TestKeepAliveOr checks that only Salt's defaults are replaced.
func TestKeepAliveOr(t *testing.T) {
	other := KeepAlive{Count: 5}
	if got := SaltKeepAlive(true, 300, -1, -1).Or(other); got != other {
		t.Errorf("Salt's defaults became %+v, want %+v", got, other)
	}
	for _, k := range []KeepAlive{{}, SaltKeepAlive(true, 301, -1, -1), SaltKeepAlive(true, 300, 9, -1),
		SaltKeepAlive(true, 300, -1, 75), SaltKeepAlive(false, 300, -1, -1)} {
		if got := k.Or(other); got != k {
			t.Errorf("%+v became %+v", k, got)
		}
	}
}

func TestSaltKeepAlive(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  KeepAlive
		want net.KeepAliveConfig
	}{
		{"Salt's defaults", SaltKeepAlive(true, 300, -1, -1),
			net.KeepAliveConfig{Enable: true, Idle: 300 * time.Second, Interval: -time.Second, Count: -1}},
		{"all set", SaltKeepAlive(true, 60, 4, 15),
			net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}},
		{"off", SaltKeepAlive(false, 60, 4, 15),
			net.KeepAliveConfig{Idle: time.Minute, Interval: 15 * time.Second, Count: 4}},
		{"ours", KeepAlive{}, net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second,
			Interval: 10 * time.Second, Count: 3}},
	} {
		if diff := cmp.Diff(tt.want, tt.got.Config()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestDeadSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.ipc")
	l, err := Listen(t.Context(), "ipc://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if _, err := Listen(t.Context(), "ipc://"+path); err == nil {
		t.Error("a socket in use was bound again")
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	again, err := Listen(t.Context(), "ipc://"+path)
	if err != nil {
		t.Fatalf("a dead socket is in the way: %v", err)
	}
	again.Close()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "ipc://"+path); err == nil {
		t.Error("a file was taken for a dead socket")
	}
}

// TestAllAddressesAreTried has a name whose first address refuses, and which is looked up at each
// attempt.
func TestAllAddressesAreTried(t *testing.T) {
	l, err := Listen(t.Context(), "tcp://127.0.0.2:0")
	if err != nil {
		need.That(t, "127.0.0.2", err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	lookups := 0
	d := Dialer{Addr: "tcp://salt:" + port, Local: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if lookups++; host != "salt" {
				t.Errorf("looked up %q", host)
			}
			return []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.1"),
				netip.MustParseAddr("127.0.0.2")}, nil
		}}
	for range 2 {
		c, err := d.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := SourceOf(c.LocalAddr()).String(); got != "127.0.0.3" {
			t.Errorf("connected from %s", got)
		}
		c.Close()
	}
	if lookups != 2 {
		t.Errorf("%d look-ups, want 2", lookups)
	}
}

func TestIPv6(t *testing.T) {
	l, err := Listen(t.Context(), "tcp://[::1]:0")
	if err != nil {
		need.That(t, "IPv6", err)
	}
	defer l.Close()
	d := Dialer{Addr: "tcp://" + l.Addr().String()}
	c, err := d.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestBackoff(t *testing.T) {
	d := Dialer{BackoffMin: time.Second, BackoffMax: 5 * time.Second}
	b := d.Backoff()
	var got []time.Duration
	for range 5 {
		got = append(got, b.Pause())
	}
	b.Reset()
	got = append(got, b.Pause())
	if diff := cmp.Diff([]time.Duration{1e9, 2e9, 4e9, 5e9, 5e9, 1e9}, got); diff != "" {
		t.Error(diff)
	}
	d.Jitter = true
	b = d.Backoff()
	different := map[time.Duration]bool{}
	for range 100 {
		p := b.Pause()
		if different[p] = true; p <= 0 || p > 5*time.Second {
			t.Errorf("pause of %v", p)
		}
	}
	if len(different) < 90 {
		t.Errorf("only %d different pauses of 100", len(different))
	}
}

// noDescriptors is a listener of a program that has run out of them.
type noDescriptors struct {
	net.Listener
	calls int
}

func (l *noDescriptors) Accept() (net.Conn, error) { l.calls++; return nil, syscall.EMFILE }
func (l *noDescriptors) Close() error              { return nil }
func (l *noDescriptors) Addr() net.Addr            { return &net.TCPAddr{} }

func TestAcceptorBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &noDescriptors{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a := Acceptor{Listener: l, Limits: Limits{}.ServerLimits(), Counters: &Counters{}}
		var wg sync.WaitGroup
		a.Serve(ctx, &wg, nil)
		if l.calls > 80 {
			t.Errorf("%d attempts in a minute", l.calls)
		}
	})
}

func TestSourcesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Sources
		a := netip.MustParseAddr("192.0.2.1")
		if s.Trusted(a) {
			t.Error("trusted from the start")
		}
		s.Trust(a)
		time.Sleep(trustLasts - time.Second)
		if !s.Trusted(a) {
			t.Error("forgotten too early")
		}
		time.Sleep(time.Second)
		if s.Trusted(a) {
			t.Error("trusted for ever")
		}
		for i := range trustHolds + 10 {
			s.Trust(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		}
		if len(s.until) > trustHolds {
			t.Errorf("%d addresses", len(s.until))
		}
		s.Trust(netip.Addr{})
		if s.Trusted(netip.Addr{}) {
			t.Error("peers without an address are trusted")
		}
	})
}

func TestPerSourceLimit(t *testing.T) {
	l, err := Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := Acceptor{Listener: l, Limits: Limits{MaxPerSource: 2}.ServerLimits(), Counters: &Counters{}}
	var wg sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Serve(ctx, &wg, func(c net.Conn, h *Arrival) {
			defer h.End()
			h.Done()
			defer c.Close()
			_, _ = c.Read(make([]byte, 1))
		})
	}()
	var conns []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	if _, err := conns[2].Read(make([]byte, 1)); err == nil {
		t.Error("the third connection of one address was taken")
	}
	if n := a.Open(); n != 2 {
		t.Errorf("Open = %d, want 2", n)
	}
	for _, c := range conns {
		c.Close()
	}
	cancel()
	<-done
	wg.Wait()
	if n := len(a.sources); n != 0 {
		t.Errorf("%d sources are kept", n)
	}
}
