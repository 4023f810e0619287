package keyfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/pki"
)

const patience = 60 * time.Second

// site is a cluster on servers of its own.
type site struct {
	servers *testnats.Cluster
	o       cluster.Options
}

func newSite(t testing.TB, nodes int) *site {
	t.Helper()
	s := &site{servers: testnats.Start(t, testnats.Options{Nodes: nodes})}
	key := filepath.Join(t.TempDir(), "cluster.key")
	must(t, cluster.NewKey(key))
	s.o = cluster.Options{Servers: s.servers.URLs(), Name: "test", Replicas: nodes, KeyFile: key,
		PublicationsBytes: 16 << 20, ReturnsBytes: 64 << 20, AllowOldServer: true}
	return s
}

func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// member is a master of a site: its directories, its membership and the Files that run.
type member struct {
	t     testing.TB
	s     *site
	id    string
	root  string // pki_dir
	o     Options
	log   *logtest.Hook
	dir   *pki.Dir
	c     *cluster.Cluster
	keys  *cluster.Keys
	files *Files

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	changed []string // what Changed was told
}

// member returns a master that is in the cluster and whose files are kept equal.
func (s *site) member(t testing.TB, id string) *member {
	t.Helper()
	m := s.visitor(t, id)
	m.start()
	return m
}

// visitor is member without Run.
func (s *site) visitor(t testing.TB, id string) *member {
	t.Helper()
	base := t.TempDir()
	m := &member{t: t, s: s, id: id, root: filepath.Join(base, "pki")}
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.InfoLevel)
	m.log = hook
	m.o = Options{State: filepath.Join(base, "state"), Member: id, Log: log.WithField("member", id),
		Changed: func(id string, from, to cluster.KeySet) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.changed = append(m.changed, fmt.Sprintf("%s: %s to %s", id, stateOf(from), stateOf(to)))
		}}
	m.prepare()
	t.Cleanup(m.leave)
	return m
}

func stateOf(s set) string { state, _ := s.Find(); return state.String() }

func (m *member) prepare() {
	m.t.Helper()
	var err error
	m.dir, err = pki.Open(m.root, pki.Options{})
	must(m.t, err)
}

// join opens the cluster and its keys.
func (m *member) join() {
	m.t.Helper()
	o := m.s.o
	o.Member = m.id
	var err error
	m.c, err = cluster.Open(patiently(m.t), o)
	must(m.t, err)
	m.keys, err = m.c.OpenKeys(patiently(m.t), cluster.KeyOptions{})
	must(m.t, err)
}

// open joins if necessary and opens the Files.
func (m *member) open() {
	m.t.Helper()
	if m.c == nil {
		m.join()
	}
	var err error
	m.files, err = Open(m.dir, m.keys, m.o)
	must(m.t, err)
}

func (m *member) start() {
	m.t.Helper()
	m.open()
	m.run()
}

// run starts Run.
func (m *member) run() {
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	files := m.files
	m.running.Go(func() {
		if err := files.Run(ctx); err != nil {
			m.t.Errorf("%s: %v", m.id, err)
		}
	})
}

// stop ends Run.
func (m *member) stop() {
	if m.cancel != nil {
		m.cancel()
		m.running.Wait()
		m.cancel = nil
	}
}

// leave ends Run and the membership.
func (m *member) leave() {
	m.stop()
	if m.c != nil {
		m.keys.Close()
		m.c.Close()
		m.c = nil
	}
}

func (m *member) path(s pki.State, id string) string { return filepath.Join(m.root, s.Dir(), id) }

// write puts a key file, as cp does.
func (m *member) write(s pki.State, id, pem string) {
	m.t.Helper()
	must(m.t, os.WriteFile(m.path(s, id), []byte(pem), 0o644))
}

// mv renames a key file.
func (m *member) mv(id string, from, to pki.State) {
	m.t.Helper()
	must(m.t, os.Rename(m.path(from, id), m.path(to, id)))
}

func (m *member) rm(s pki.State, id string) {
	m.t.Helper()
	must(m.t, os.Remove(m.path(s, id)))
}

// has returns the keys of an id in the files.
func (m *member) has(id string) (all set) {
	for _, state := range states {
		text, err := os.ReadFile(m.path(state, id))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			m.t.Error(err)
		}
		*all.Place(state) = string(text)
	}
	return all
}

// awaits waits until the files of an id are those of a set.
func (m *member) awaits(id string, want set) {
	m.t.Helper()
	eventually(m.t, func() bool { return m.has(id) == want }, func() string {
		r, err := m.keys.Record(id)
		return fmt.Sprintf("%s has %s of %s, want %s; the cluster has %s, %v; log: %s", m.id,
			describe(m.has(id)), id, describe(want), describe(r.Keys), err, m.logged())
	})
}

// shares waits until the cluster has a set for an id.
func (m *member) shares(id string, want set) {
	m.t.Helper()
	equal := func() bool {
		r, err := m.keys.Record(id)
		return err == nil && r.Keys == want
	}
	eventually(m.t, equal, func() string {
		r, err := m.keys.Record(id)
		return fmt.Sprintf("the cluster has %s of %s, want %s; %v; log: %s", describe(r.Keys), id,
			describe(want), err, m.logged())
	})
}

// settles waits until files and cluster have been equal for all ids.
func (m *member) settles() {
	m.t.Helper()
	eventually(m.t, m.files.agreed.Load, func() string { return m.id + " does not settle: " + m.logged() })
}

func (m *member) logged() string {
	var b strings.Builder
	for _, e := range m.log.AllEntries() {
		fmt.Fprintf(&b, "%s %v\n", e.Message, e.Data[logrus.ErrorKey])
	}
	return b.String()
}

func eventually(t testing.TB, done func() bool, why func() string) {
	t.Helper()
	testnats.Eventually(t, done, why)
}

// newKeys returns n different keys.
func newKeys(t testing.TB, n int) (texts []string) {
	t.Helper()
	for range n {
		k, err := crypto.GenerateKey(2048)
		must(t, err)
		texts = append(texts, k.Public().PEM())
	}
	return texts
}
