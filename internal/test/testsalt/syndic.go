package testsalt

import (
	"context"

	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/syndic"
	"github.com/brineproject/brine/transport"
)

// A Syndic is a syndic in this process.
type Syndic struct {
	Syndic *syndic.Syndic
	stop   context.CancelFunc
	done   chan error
}

// StartSyndic runs a syndic, with an id of its own, that connects a master to masters above it. It
// ends with Stop or with the test. Its keys are in dir, so that a later one of the same id has the
// same keys.
func StartSyndic(t testing.TB, low *Master, dir, id string, above ...*Master) *Syndic {
	t.Helper()
	minion := MinionConfig(dir, id, above[0].Address)
	master := *low.Config
	var addresses []any
	for _, m := range above {
		addresses = append(addresses, m.Address)
	}
	master.SyndicMaster = addresses
	s := &Syndic{done: make(chan error, 1)}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	var err error
	if s.Syndic, err = syndic.New(ctx, &master, minion, syndicOptions(t, low, minion)); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() { s.done <- s.Syndic.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() { s.Stop(t) })
	select {
	case <-ready:
	case <-time.After(time.Minute):
		t.Fatal("the syndic does not become ready within a minute")
	}
	return s
}

func syndicOptions(t testing.TB, low *Master, minion *config.Minion) syndic.Options {
	t.Helper()
	log := Log(t)
	wire, err := cli.MinionWire(minion)
	if err != nil {
		t.Fatal(err)
	}
	out := wire.Request(transport.Dialer{Addr: "tcp://" + low.Address})
	t.Cleanup(func() { out.Close() })
	jobs, err := jobstore.OpenReadOnly(t.Context(), filepath.Join(low.Config.CacheDir, "jobs.db"), jobstore.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jobs.Close() })
	opts := low.Config.Map()
	return syndic.Options{
		Ports: syndic.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
		Order: func(ctx context.Context) (syndic.Orderer, error) {
			return client.Open(ctx, client.Options{CacheDir: low.Config.CacheDir, SockDir: low.Config.SockDir,
				User: "root", Caller: "root", Out: out, Tiers: client.TiersOf(opts), Log: log})
		},
		Jobs: func() syndic.JobReader { return jobs },
		Keys: pki.Visit(low.Config.PKIDir, pki.Options{}), Log: log,
	}
}

// Stop ends the syndic.
func (s *Syndic) Stop(t testing.TB) {
	t.Helper()
	s.stop()
	if s.done == nil {
		return
	}
	if err := <-s.done; err != nil {
		t.Errorf("syndic: %v", err)
	}
	s.done = nil
}
