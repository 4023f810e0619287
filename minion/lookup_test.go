package minion_test

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/minion"
)

// names looks up names from a table. No name is found before some look-ups have failed and the minion
// has logged some retries.
type names struct {
	failures, retries int

	mu    sync.Mutex
	table map[string]string
	logs  *test.Hook
}

func (n *names) set(name, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.table[name] = address
}

func (n *names) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	address, ok := n.table[host]
	if n.failures--; n.failures >= 0 || logged(n.logs, retrying) < n.retries || !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(address)}, nil
}

// A named is a minion whose masters have names.
type named struct {
	names *names
	logs  *test.Hook
	stop  context.CancelFunc
	done  chan error
}

func startNamed(t *testing.T, cfg *config.Minion, n *names) *named {
	t.Helper()
	o := testsalt.MinionOptions(t, cfg)
	o.Resolve = n.resolve
	log := testsalt.Log(t)
	o.Log = log
	m := &named{names: n, logs: test.NewLocal(log), done: make(chan error, 1)}
	n.logs = m.logs
	run, err := minion.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	m.stop = stop
	go func() { m.done <- run.Run(ctx, func() {}) }()
	return m
}

// end stops the minion, which must still be running.
func (m *named) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-m.done:
		t.Fatalf("the minion has ended: %v", err)
	default:
	}
	m.stop()
	if err := <-m.done; err != nil {
		t.Error(err)
	}
}

func logged(logs *test.Hook, text string) (times int) {
	for _, e := range logs.AllEntries() {
		if strings.Contains(e.Message, text) {
			times++
		}
	}
	return times
}

const retrying = "not found or not responsive. Retrying in"

// renamed returns the address of a master with a name instead of the host.
func renamed(t *testing.T, name, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(name, port)
}

// TestNameIsAwaited has the name of the master appear after the second retry, or without retry_dns
// after the third look-up.
func TestNameIsAwaited(t *testing.T) {
	for _, tt := range []struct {
		name              string
		pause             time.Duration
		count             int
		failures, retries int
	}{
		{"for ever", 10 * time.Millisecond, -1, 0, 2},
		{"often enough", 10 * time.Millisecond, 2, 0, 2},
		{"with each sign-in", 0, 0, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fleet{master: testsalt.StartMaster(t, testsalt.MasterConfig(testsalt.Dir(t))), dir: testsalt.Dir(t)}
			f.events = f.master.Listen(t)
			cfg := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
			cfg.Master = []string{renamed(t, "salt.invalid", f.master.Address)}
			cfg.RetryDNS, cfg.RetryDNSCount, cfg.AcceptanceWaitTime = tt.pause, tt.count, 10*time.Millisecond
			m := startNamed(t, cfg, &names{failures: tt.failures, retries: tt.retries,
				table: map[string]string{"salt.invalid": "127.0.0.1"}})
			f.await(t, "salt/minion/web1/start")
			if n := logged(m.logs, retrying); n != tt.retries {
				t.Errorf("%d retries, want %d", n, tt.retries)
			}
			m.end(t)
		})
	}
}

// TestNameIsNotFound ends the minion after the last look-up, with Salt's text.
func TestNameIsNotFound(t *testing.T) {
	cfg := testsalt.MinionConfig(testsalt.Dir(t), "web1", "salt.invalid:4506")
	cfg.RetryDNS, cfg.RetryDNSCount = 10*time.Millisecond, 2
	m := startNamed(t, cfg, &names{})
	defer m.stop()
	err := <-m.done
	if want := "Master address: 'salt.invalid' could not be resolved. Invalid or unresolveable address. " +
		"Set 'master' value in minion config"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run = %v, want %s", err, want)
	}
	if n := logged(m.logs, retrying); n != 2 {
		t.Errorf("%d retries, want 2", n)
	}
}

// TestNameOfOneIsNotFound leaves the other master of a list connected, and has a failover go to it.
func TestNameOfOneIsNotFound(t *testing.T) {
	for _, kind := range []string{"str", "failover"} {
		t.Run(kind, func(t *testing.T) {
			p := newPair(t)
			p.cfg.Master = []string{"salt.invalid:4506", p.masters[1].Address}
			p.cfg.MasterType = kind
			p.cfg.RetryDNS, p.cfg.RetryDNSCount = 10*time.Millisecond, 0
			if kind == "failover" { // as if it were 0
				p.cfg.RetryDNS = time.Hour
			}
			m := startNamed(t, p.cfg, &names{})
			p.awaitStart(t, 1)
			if got := p.run(t, 1, "test.ping"); got != true {
				t.Errorf("the other master got %v", got)
			}
			end := time.Now().Add(20 * time.Second)
			for kind == "str" && logged(m.logs, "could not be resolved") == 0 {
				if time.Now().After(end) {
					t.Fatal("nothing in the log about the name")
				}
				time.Sleep(2 * time.Millisecond) // logs send no events
			}
			m.end(t)
		})
	}
}

// TestMasterMoves has the master come back at another address of the same name.
func TestMasterMoves(t *testing.T) {
	ports := freeport.New(t, 2)
	mcfg := testsalt.MasterConfig(testsalt.Dir(t))
	mcfg.PublishPort, mcfg.RetPort = ports[0], ports[1]
	f := &fleet{master: testsalt.StartMaster(t, mcfg), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	cfg := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
	cfg.Master = []string{renamed(t, "salt.invalid", f.master.Address)}
	m := startNamed(t, cfg, &names{table: map[string]string{"salt.invalid": "127.0.0.1"}})
	f.await(t, "salt/minion/web1/start")
	f.events.Close()
	f.master.Stop(t)
	mcfg.Interface = "127.0.0.2"
	f.master = testsalt.StartMaster(t, mcfg)
	f.events = f.master.Listen(t)
	m.names.set("salt.invalid", "127.0.0.2") // not earlier, or the sign-in may be before Listen
	f.await(t, "salt/auth")
	awaitFile(t, filepath.Join(mcfg.PKIDir, "minions", "web1"), true)
	if got := f.give(t, "test.ping"); got != true {
		t.Errorf("the moved master got %v", got)
	}
	m.end(t)
}
