package tokenfiles

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

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testnats"
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

func (s *site) join(t testing.TB, id string) *cluster.Cluster {
	t.Helper()
	o := s.o
	o.Member = id
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := cluster.Open(ctx, o)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// member is a master of a site: its directory and the Files that run.
type member struct {
	t      testing.TB
	base   string
	joined *cluster.Cluster
	values *cluster.Values
	log    *logtest.Hook
	o      Options
	ahead  time.Duration // of the clock of its Files
	files  *Files

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// member returns a master whose files are kept equal.
func (s *site) member(t testing.TB, id string) *member {
	t.Helper()
	m := s.visitor(t, id)
	m.start()
	return m
}

// visitor is member without Run.
func (s *site) visitor(t testing.TB, id string) *member {
	t.Helper()
	c := s.join(t, id)
	m := &member{t: t, base: t.TempDir(), joined: c, values: c.Values(cluster.Tokens)}
	log, hook := logtest.NewNullLogger()
	m.log = hook
	m.o = Options{State: filepath.Join(m.base, "state"), Log: log}
	m.mkdir()
	t.Cleanup(m.stop)
	return m
}

func (m *member) dir() string { return filepath.Join(m.base, "tokens") }

func (m *member) path(name string) string { return filepath.Join(m.dir(), name) }

func (m *member) mkdir() { m.t.Helper(); must(m.t, os.MkdirAll(m.dir(), 0o700)) }

func (m *member) start() {
	m.t.Helper()
	var err error
	m.files, err = Open(m.dir(), m.values, m.o)
	must(m.t, err)
	m.files.full = time.Second
	m.files.now = func() time.Time { return time.Now().Add(m.ahead) }
	m.files.pause = 0
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.Background())
	files := m.files
	m.running.Go(func() {
		if err := files.Run(ctx); err != nil {
			m.t.Errorf("Run: %v", err)
		}
	})
}

func (m *member) stop() {
	if m.cancel != nil {
		m.cancel()
		m.running.Wait()
		m.cancel = nil
	}
}

// tokens opens the token store as the programs of a master do.
func (m *member) tokens() *auth.Tokens {
	m.t.Helper()
	s, err := auth.OpenTokens(m.dir(), "sha256", nil)
	must(m.t, err)
	m.t.Cleanup(func() { s.Close() })
	return s
}

// add makes a token that is good for an hour.
func (m *member) add(user string) string {
	m.t.Helper()
	return m.addUntil(user, time.Now().Add(time.Hour))
}

func (m *member) addUntil(user string, end time.Time) string {
	m.t.Helper()
	e := data.NewMap("start", auth.Seconds(time.Now()), "expire", auth.Seconds(end),
		"name", user, "eauth", "pam")
	must(m.t, m.tokens().Add(e))
	return e.Text("token")
}

func (m *member) delete(name string) { m.t.Helper(); must(m.t, m.tokens().Delete(name)) }

func (m *member) has(name string) bool {
	_, err := os.Lstat(m.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Error(err)
	}
	return err == nil
}

// gets waits until the file of a token is there, and checks that the token is good.
func (m *member) gets(name, user string) {
	m.t.Helper()
	m.eventually("a token of "+user+" does not come", func() bool { return m.has(name) })
	got, err := m.tokens().Get(name)
	must(m.t, err)
	if got.Text("name") != user {
		m.t.Errorf("the token is that of %s, want %s", got.Text("name"), user)
	}
}

func (m *member) loses(name string) {
	m.t.Helper()
	m.eventually("a token does not go", func() bool { return !m.has(name) })
}

func (m *member) settles() {
	m.t.Helper()
	m.eventually("it does not settle", m.files.Settled)
}

func (m *member) eventually(what string, done func() bool) {
	m.t.Helper()
	testnats.Eventually(m.t, done, func() string {
		return fmt.Sprintf("%s: %s; log: %s", m.dir(), what, m.logged())
	})
}

// shared returns whether the cluster has a value for a token, and whether it knows of a deletion.
func (m *member) shared(name string) (value, gone bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, revision, err := m.values.Get(ctx, idOf(name).key())
	must(m.t, err)
	return body != nil, body == nil && revision > 0
}

func (m *member) sharesDeletion(name string) {
	m.t.Helper()
	m.eventually("a deletion is not shared", func() bool { _, gone := m.shared(name); return gone })
}

func (m *member) logged() string {
	var b strings.Builder
	for _, e := range m.log.AllEntries() {
		fmt.Fprintf(&b, "%s %v\n", e.Message, e.Data[logrus.ErrorKey])
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
