package saltmaster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/cli/saltmaster"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
)

func noEnv(string) string { return "" }

// masterConfig reads a configuration of a master with its files below a directory of the test.
func masterConfig(t *testing.T, text string) *config.Master {
	t.Helper()
	dir := testsalt.Dir(t)
	usual := testsalt.MasterConfig(dir)
	text += fmt.Sprintf("\npki_dir: %s\ncachedir: %s\nsock_dir: %s\npidfile: ''\nuser: root\nauto_accept: true\ninterface: 127.0.0.1\n",
		usual.PKIDir, usual.CacheDir, usual.SockDir)
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(dir, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RetPort, cfg.PublishPort = 0, 0
	return cfg
}

// minionConfig reads a configuration of a minion.
func minionConfig(t *testing.T, id, address, text string) *config.Minion {
	t.Helper()
	dir := testsalt.Dir(t)
	usual := testsalt.MinionConfig(dir, id, address)
	text += fmt.Sprintf("\nid: %s\npki_dir: %s\ncachedir: %s\nsock_dir: %s\nmaster: 127.0.0.1\nmaster_port: %d\npidfile: ''\n",
		id, usual.PKIDir, usual.CacheDir, usual.SockDir, usual.MasterPort)
	if err := os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMinion(dir, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ReconDefault, cfg.ReconMax, cfg.RandomReauthDelay = usual.ReconDefault, usual.ReconMax,
		usual.RandomReauthDelay
	return cfg
}

// start runs a master, and minions with different options, until each has announced its start.
func start(t *testing.T, cfg *config.Master, minions map[string]string) (*testsalt.Master, *eventbus.Client) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	m := testsalt.StartMaster(t, cfg)
	events := m.Listen(t)
	for id, text := range minions {
		testsalt.StartMinion(t, minionConfig(t, id, m.Address, text))
		testsalt.AwaitEvent(t, events, "salt/minion/"+id+"/start")
	}
	return m, events
}

// reach submits a job and waits until each of ids has returned.
func reach(
	t *testing.T, m *testsalt.Master, events *eventbus.Client, kind string, target any, ids ...string,
) {
	t.Helper()
	j, err := m.Client(t).Publish(t.Context(),
		client.Request{Fun: "test.ping", Target: target, Kind: kind, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Sorted(slices.Values(j.Minions)), ids) {
		t.Errorf("the job is for %q, want %q", j.Minions, ids)
	}
	missing := slices.Clone(ids)
	for len(missing) > 0 {
		tag := testsalt.AwaitEvent(t, events, "salt/job/"+string(j.ID)+"/ret/").Tag
		missing = slices.DeleteFunc(missing, func(id string) bool { return strings.HasSuffix(tag, "/"+id) })
	}
}

// awaitBack submits jobs to each of ids until it returns one: minions may be back before anybody
// listens to the master's events.
func awaitBack(t *testing.T, m *testsalt.Master, events *eventbus.Client, ids ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, id := range ids {
		for back := false; !back; {
			j, err := m.Client(t).Publish(ctx,
				client.Request{Fun: "test.ping", Target: "*", Kind: "glob", Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			moment, stop := context.WithTimeout(ctx, time.Second)
			for !back {
				e, err := events.Next(moment)
				if err != nil {
					break
				}
				back = e.Tag == "salt/job/"+string(j.ID)+"/ret/"+id
			}
			stop()
			if ctx.Err() != nil {
				t.Fatalf("%s is not back", id)
			}
		}
	}
}

// TestTransportTCP runs a master, minions and a client over tcp. After a restart of the master the
// minions identify themselves again, and get the messages that are only for them.
func TestTransportTCP(t *testing.T) {
	m, events := start(t, masterConfig(t, "transport: tcp"),
		map[string]string{"web1": "transport: tcp", "web2": "transport: tcp"})
	reach(t, m, events, "glob", "web*", "web1", "web2")
	reach(t, m, events, "list", []any{"web2"}, "web2")
	reach(t, m, events, "compound", "web1 or web2", "web1", "web2")
	events.Close()
	m.Stop(t)
	m = testsalt.StartMaster(t, m.Config)
	events = m.Listen(t)
	awaitBack(t, m, events, "web1", "web2")
	reach(t, m, events, "glob", "*", "web1", "web2")
	reach(t, m, events, "list", []any{"web1"}, "web1")
}

// TestTransportOpts runs both transports at one master: jobs reach the minions of both.
func TestTransportOpts(t *testing.T) {
	for _, main := range []string{"zeromq", "tcp"} {
		t.Run(main, func(t *testing.T) {
			other := map[string]string{"zeromq": "tcp", "tcp": "zeromq"}[main]
			ret, publish := freeport.One(t), freeport.One(t)
			cfg := masterConfig(t, fmt.Sprintf("transport: %s\ntransport_opts: {%s: {ret_port: %d, publish_port: %d}}", main, other, ret, publish))
			m, events := start(t, cfg, map[string]string{"main": "transport: " + main})
			testsalt.StartMinion(t, minionConfig(t, "other", fmt.Sprintf("127.0.0.1:%d", ret),
				"transport: "+other))
			testsalt.AwaitEvent(t, events, "salt/minion/other/start")
			reach(t, m, events, "glob", "*", "main", "other")
			reach(t, m, events, "list", []any{"other"}, "other")
		})
	}
}

// TestTransportTLS does the same with TLS and certificates on both sides.
func TestTransportTLS(t *testing.T) {
	cert, key := certificate(t)
	ssl := fmt.Sprintf("transport: tcp\nssl: {certfile: %s, keyfile: %s, ca_certs: %s, cert_reqs: CERT_REQUIRED}", cert, key, cert)
	m, events := start(t, masterConfig(t, ssl), map[string]string{"web1": ssl})
	reach(t, m, events, "glob", "*", "web1")
}

// certificate writes a self-signed certificate for both sides.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestFaultsOfTransports(t *testing.T) {
	for _, tt := range []struct{ text, validate string }{
		{"transport: tcp\nssl: true", "certfile is not set"},
		{"transport: tcp\nssl: {certfile: /no/such}", "/no/such"},
		{"transport_opts: {ws: {}}", "ws: unsupported transport"},
		{"transport_opts: {tcp: {ret_port: 0}}", "is not a port"},
		{"transport_opts: {tcp: {worker_threads: 9}}", "worker_threads"},
		{"transport_opts: {zeromq: {ret_port: 4606}}", "already"},
		{"transport_opts: {tcp: {ret_port: 4606}}\nssl: {certfile: /no/such}", "/no/such"},
	} {
		if _, err := saltmaster.Ports(masterConfig(t, tt.text)); err == nil ||
			!strings.Contains(err.Error(), tt.validate) {
			t.Errorf("%s: %v, want %q in it", tt.text, err, tt.validate)
		}
	}
	if _, err := saltmaster.Ports(masterConfig(t, "ssl: {certfile: /no/such}")); err != nil {
		t.Errorf("ssl without effect: %v", err)
	}
}
