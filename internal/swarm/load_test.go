package swarm_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestLoad makes a swarm fetch a file of a little more than two pieces, and send returns of a given
// size.
func TestLoad(t *testing.T) {
	dir := testsalt.Dir(t)
	srv := filepath.Join(dir, "srv")
	content := bytes.Repeat([]byte("0123456789abcde\n"), 5<<15)
	if err := os.MkdirAll(srv, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(srv, "big"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "master")
	if err := os.WriteFile(conf, []byte("root_dir: "+dir+"\nfile_roots: {base: ["+srv+"]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := testsalt.MasterConfig(dir)
	cfg.Interface, cfg.PublishPort, cfg.RetPort, cfg.AutoAccept, cfg.PidFile,
		cfg.User = base.Interface, 0, 0, true, "", base.User
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = base.PKIDir, base.CacheDir, base.SockDir
	m := testsalt.StartMaster(t, cfg)
	s := run(t, swarm.Options{Count: 3, Prefix: "web", Master: m.Address,
		Keys: swarm.Keys{Distinct: 1}, Returns: 2, Size: 10_000, Fetch: "big", Log: m.Log})
	if got, want := s.Stats.Fetched.Load(), int64(3*len(content)); got != want {
		t.Errorf("%d bytes of files, want %d", got, want)
	}
	if got := s.Stats.Requests.Load(); got != 3*2+3 || s.Stats.Failures.Load() != 0 {
		t.Errorf("%d requests and %d failures, want 9 and none", got, s.Stats.Failures.Load())
	}
	if s := run(t, swarm.Options{Count: 1, Prefix: "db", Master: m.Address,
		Keys: swarm.Keys{Distinct: 1}, Fetch: "missing", Log: m.Log}); s.Stats.Failures.Load() != 1 {
		t.Errorf("%d failures for a file that is not there", s.Stats.Failures.Load())
	}
}

// run runs a swarm until its load is done.
func run(t *testing.T, o swarm.Options) *swarm.Swarm {
	t.Helper()
	wire, err := cli.MinionWire(config.DefaultMinion())
	if err != nil {
		t.Fatal(err)
	}
	o.Ports = swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe}
	s, err := swarm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	select {
	case <-s.Loaded():
	case err := <-done:
		t.Fatal("the swarm ended: ", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return s
}
