package master

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// saveReturn records a return of size bytes.
func (b *bench) saveReturn(t *testing.T, id job.ID, minion string, size int) {
	t.Helper()
	load, err := payload.MarshalBin(data.NewMap("id", minion, "jid", string(id), "return",
		strings.Repeat("x", size), "retcode", int64(0)))
	must(t, err)
	_, err = b.parts.jobs.SaveReturn(t.Context(), id, &returners.Return{Minion: minion, Load: load, Received: time.Now()})
	must(t, err)
}

// returnsOf asks for returns, and lists their minions; or it is the name of the error.
func (b *bench) returnsOf(t *testing.T, load *data.Map) (ids []string, more bool) {
	t.Helper()
	reply, _ := b.clear(t, load).(*data.Map)
	if name := errorName(reply); name != "" {
		return []string{name}, false
	}
	m, ok := reply.Value("load").(*data.Map)
	if !ok {
		t.Fatalf("reply: %s", data.Repr(reply))
	}
	for _, v := range m.Value("returns").([]any) {
		fields, err := payload.ParseFields(data.Raw(fmt.Sprintf("%s", v)), payload.WireLimits())
		must(t, err)
		id, _ := fields.Text("id")
		ids = append(ids, id)
	}
	return ids, data.Truth(m.Value("more"))
}

// TestJobReturns asks for the returns of jobs: who ordered a job gets those of the minions that they name,
// and others get nothing.
func TestJobReturns(t *testing.T) {
	b := aclBench(t, nil)
	daemonKey, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".daemon_key"))
	must(t, err)
	publish := func(load *data.Map) string {
		m, _ := b.clear(t, load).(*data.Map)
		inner, _ := m.Value("load").(*data.Map)
		return inner.Text("jid")
	}
	byKey := func(name, key string) *data.Map {
		load := b.load("*", "glob", "test.ping", []any{})
		load.Update(data.NewMap("user", name, "key", key))
		return load
	}
	ofRoot, ofDaemon := publish(byKey("root", b.key)), publish(byKey("daemon", string(daemonKey)))
	for _, id := range []string{ofRoot, ofDaemon} {
		for _, minion := range []string{"web1", "db1"} {
			b.saveReturn(t, job.ID(id), minion, 10)
		}
	}
	fred := b.with("*", "test.ping", loginAs("fred", "right"))
	for _, tt := range []struct {
		name string
		load *data.Map
		jid  string
		ids  []any
		want []string
	}{
		{"root", byKey("root", b.key), ofRoot, []any{"web1", "db1"}, []string{"web1", "db1"}},
		{"root, of another", byKey("root", b.key), ofDaemon, []any{"db1"}, []string{"db1"}},
		{"the owner", byKey("daemon", string(daemonKey)), ofDaemon, []any{"web1", "nosuch"}, []string{"web1"}},
		{"the owner, of nobody", byKey("daemon", string(daemonKey)), ofDaemon, []any{}, nil},
		{"of root", byKey("daemon", string(daemonKey)), ofRoot, []any{"web1"}, []string{"AuthorizationError"}},
		{"no job", byKey("daemon", string(daemonKey)), "20010101000000000000", []any{"web1"}, []string{"AuthorizationError"}},
		{"no job, root", byKey("root", b.key), "20010101000000000000", []any{"web1"}, nil},
		{"a login, of another", fred, ofDaemon, []any{"web1"}, []string{"AuthorizationError"}},
		{"a wrong key", byKey("root", "x"), ofRoot, []any{"web1"}, []string{"AuthenticationError"}},
		{"no key", data.NewMap(), ofRoot, []any{"web1"}, []string{"AuthenticationError"}},
	} {
		tt.load.Update(data.NewMap("cmd", "job_returns", "jid", tt.jid, "tgt", tt.ids))
		got, more := b.returnsOf(t, tt.load)
		if d := cmp.Diff(tt.want, got); d != "" || more {
			t.Errorf("%s: more = %v\n%s", tt.name, more, d)
		}
	}
}

// TestJobReturnsComeInParts asks for returns of more than a reply has.
func TestJobReturnsComeInParts(t *testing.T) {
	b := newBench(t, func(*config.Master) {}, "web1", "db1", "db2")
	id := job.ID("20260101000000000001")
	must(t, b.parts.jobs.SaveJob(t.Context(), &returners.Job{ID: id, Minions: []string{"web1", "db1", "db2"}, Started: time.Now()}))
	for _, minion := range []string{"web1", "db1", "db2"} {
		b.saveReturn(t, id, minion, mostReturns*2/3)
	}
	load := b.load("", "list", "", []any{})
	ask := func(want string, more bool, ids ...any) {
		t.Helper()
		load.Update(data.NewMap("cmd", "job_returns", "jid", string(id), "tgt", ids))
		if got, further := b.returnsOf(t, load); strings.Join(got, " ") != want || further != more {
			t.Errorf("returns of %v, more = %v; want %s, %v", got, further, want, more)
		}
	}
	ask("web1", true, "web1", "db1", "db2")
	ask("db1", true, "db1", "db2")
	ask("db2", false, "db2")
}

// TestUsersReadTheReturnsOfTheirLogins gives the returns of a job that was ordered with a login to programs
// of the same user of this host.
func TestUsersReadTheReturnsOfTheirLogins(t *testing.T) {
	w := newWatchers(0)
	w.remember("1", initiator{uid: 1000})
	if w.mayRead("1", &auth.Identity{Kind: auth.ByEauth, Name: "fred"}, nil) {
		t.Error("a sender of no known user may read them")
	}
	w.remember("2", initiator{uid: 1000, name: "daemon"})
	for name, want := range map[string]bool{"daemon": true, "bin": false, "": false} {
		if got := w.mayRead("2", &auth.Identity{Kind: auth.ByKey, Name: name}, nil); got != want {
			t.Errorf("%q may read = %v", name, got)
		}
		if w.mayRead("2", &auth.Identity{Kind: auth.ByEauth, Name: name}, nil) {
			t.Errorf("the login %q may read what a user of this name has ordered", name)
		}
	}
}
