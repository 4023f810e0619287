package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/test/testnats"
)

const patience = 60 * time.Second

// site is a set of servers with a cluster key, for members of one test.
type site struct {
	servers *testnats.Cluster
	key     string
	o       Options
}

func newSite(t testing.TB, o testnats.Options) *site {
	t.Helper()
	s := &site{servers: testnats.Start(t, o), key: filepath.Join(t.TempDir(), "cluster.key")}
	must(t, NewKey(s.key))
	s.o = Options{Servers: s.servers.URLs(), Name: "test", Replicas: max(o.Nodes, 1), KeyFile: s.key,
		PublicationsBytes: 16 << 20, ReturnsBytes: 64 << 20, LeaseTime: 2 * time.Second, AllowOldServer: true}
	return s
}

func one(t testing.TB) *site { return newSite(t, testnats.Options{}) }

func three(t testing.TB) *site { return newSite(t, testnats.Options{Nodes: 3}) }

// join returns a member, which leaves at the end of the test.
func (s *site) join(t testing.TB, member string) *Cluster {
	t.Helper()
	c, err := s.open(t, member)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func (s *site) open(t testing.TB, member string) (*Cluster, error) {
	t.Helper()
	o := s.o
	o.Member = member
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.WarnLevel)
	o.Log = log.WithField("member", member)
	return Open(patiently(t), o)
}

// patiently returns a context that ends before the test's patience is over.
func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until done reports true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	testnats.Eventually(t, done, func() string { return "in vain waited for: " + what })
}

// receive returns the next n values of a channel.
func receive[T any](t testing.TB, from <-chan T, n int) []T {
	t.Helper()
	var all []T
	end := time.After(patience)
	for len(all) < n {
		select {
		case v := <-from:
			all = append(all, v)
		case <-end:
			t.Fatalf("got %d of %d: %v", len(all), n, clip(all))
		}
	}
	return all
}

func clip(v any) string { return fmt.Sprintf("%.300v", v) }

func rewrite(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}
