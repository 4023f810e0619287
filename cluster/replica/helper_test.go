package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/test/testnats"
)

const patience = 60 * time.Second

// site is a set of servers with a cluster key.
type site struct {
	servers *testnats.Cluster
	key     string
	name    string
	nodes   int
}

func newSite(t testing.TB, nodes int) *site {
	t.Helper()
	s := &site{servers: testnats.Start(t, testnats.Options{Nodes: nodes}), name: "test", nodes: nodes,
		key: filepath.Join(t.TempDir(), "cluster.key")}
	must(t, cluster.NewKey(s.key))
	return s
}

// join returns a member, which leaves at the end of the test.
func (s *site) join(t testing.TB, id string) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := cluster.Open(ctx, cluster.Options{Servers: s.servers.URLs(), Name: s.name, Member: id,
		Replicas: s.nodes, KeyFile: s.key, PublicationsBytes: 1 << 20, ReturnsBytes: 1 << 20, Log: logTo(t, id)})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func logTo(t testing.TB, id string) logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(t.Output())
	log.SetLevel(logrus.WarnLevel)
	return log.WithField("member", id)
}

// counting counts what goes through a shelf.
type counting struct {
	Shelf
	writes, told atomic.Int64
}

func (c *counting) Set(ctx context.Context, key string, body []byte, revision uint64) (uint64, error) {
	c.writes.Add(1)
	return c.Shelf.Set(ctx, key, body, revision)
}

func (c *counting) Put(ctx context.Context, key string, body []byte) (uint64, error) {
	c.writes.Add(1)
	return c.Shelf.Put(ctx, key, body)
}

func (c *counting) Follow(
	ctx context.Context, after uint64, synced func(), handle func(cluster.Value) error,
) error {
	return c.Shelf.Follow(ctx, after, synced, func(v cluster.Value) error {
		c.told.Add(1)
		return handle(v)
	})
}

// member is a Bank with its directories, over a shelf.
type member struct {
	*Bank
	t       testing.TB
	files   *localfs.Cache
	dir     string
	shelf   *counting
	o       Options
	stop    context.CancelFunc
	work    sync.WaitGroup
	mu      sync.Mutex
	changed map[string]int // calls of Changed by name
}

// newMember makes a Bank in new directories. It runs after start.
func newMember(t testing.TB, shelf Shelf, o Options) *member {
	t.Helper()
	m := &member{t: t, dir: t.TempDir(), shelf: &counting{Shelf: shelf}, o: o, changed: map[string]int{}}
	must(t, os.Mkdir(filepath.Join(m.dir, "cache"), 0o700))
	var err error
	m.files, err = localfs.Open(filepath.Join(m.dir, "cache"))
	must(t, err)
	m.open()
	t.Cleanup(func() {
		m.end()
		m.Close()
		m.files.Close()
	})
	return m
}

func (m *member) open() {
	m.t.Helper()
	o := m.o
	o.Dir = m.dir
	if o.Lazy == nil && o.Durable == nil {
		o.Lazy, o.Durable = []string{"minions"}, []string{"batches"}
	}
	o.Changed = func(bank, key string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed[bank+"/"+key]++
	}
	if o.Log == nil {
		o.Log = logTo(m.t, m.dir)
	}
	var err error
	m.Bank, err = Open(m.files, m.shelf, o)
	must(m.t, err)
}

// reopen is a restart of the process: without an end of Run it is a crash.
func (m *member) reopen() {
	m.t.Helper()
	m.end()
	must(m.t, m.Close())
	m.open()
}

func (m *member) start() *member {
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	m.work.Go(func() {
		if err := m.Run(ctx); err != nil {
			m.t.Errorf("Run: %v", err)
		}
	})
	return m
}

func (m *member) end() {
	if m.stop != nil {
		m.stop()
		m.work.Wait()
		m.stop = nil
	}
}

// sent waits until this member has read the shelf and nothing waits.
func (m *member) sent() {
	m.t.Helper()
	eventually(m.t, "that all is sent", func() bool {
		m.Bank.mu.Lock()
		defer m.Bank.mu.Unlock()
		return m.whole && m.Bank.current && len(m.waiting)+len(m.flights) == 0 && !m.overflow && !m.comparing
	})
}

// content returns all values of the copy by name.
func (m *member) content() map[string]string {
	m.t.Helper()
	all := map[string]string{}
	for _, top := range []string{"minions", "batches"} {
		must(m.t, m.walk(top, func(e entry) error {
			value, err := m.Fetch(e.bank, e.key)
			all[e.name] = string(value)
			return err
		}))
	}
	return all
}

func (m *member) has(bank, key, want string) bool {
	got, err := m.Fetch(bank, key)
	return err == nil && string(got) == want
}

func (m *member) lacks(bank, key string) bool {
	_, err := m.Fetch(bank, key)
	return err != nil && isMissing(err)
}

// agree waits until all members have the same, and returns it.
func agree(t testing.TB, members ...*member) map[string]string {
	t.Helper()
	for _, m := range members {
		m.sent()
	}
	var all []map[string]string
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		all = nil
		equal := true
		for _, m := range members {
			all = append(all, m.content())
			equal = equal && maps.Equal(all[0], all[len(all)-1])
		}
		if equal {
			return all[0]
		}
		if time.Now().After(end) {
			for name, value := range all[0] {
				for i := range all {
					if all[i][name] != value {
						t.Errorf("%s: the first member has %.20q, member %d has %.20q", name, value, i, all[i][name])
					}
				}
			}
			t.Fatalf("the members have %s values", fmt.Sprint(lengths(all)))
		}
	}
}

func lengths(all []map[string]string) (n []int) {
	for _, m := range all {
		n = append(n, len(m))
	}
	return n
}

func isMissing(err error) bool { return errors.Is(err, cache.ErrNotFound) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	testnats.Eventually(t, done, func() string { return "in vain waited for: " + what })
}
