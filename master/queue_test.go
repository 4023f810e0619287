package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
)

// tracked keeps the last progress of each minion.
type tracked map[string]returners.Progress

func (t tracked) Track(_ job.ID, list ...returners.Progress) {
	for _, p := range list {
		t[p.Minion] = p
	}
}

func (t tracked) Progress(context.Context, job.ID) ([]returners.Progress, error) { return nil, nil }

func (t tracked) State(_ context.Context, _ job.ID, minion string) (returners.State, error) {
	return t[minion].State, nil
}

// queues makes the part that queues jobs, which tells of their progress.
func (b *bench) queues() (*publishing, tracked) {
	pub, told := newPublishing(b.parts), tracked{}
	pub.offline.tracker = told
	return pub, told
}

// queueJob publishes a job that is to be queued.
func (b *bench) queueJob(t *testing.T, pub *publishing, load *data.Map) job.ID {
	t.Helper()
	kwargs, _ := load.Value("kwargs").(*data.Map)
	kwargs = kwargs.Clone()
	kwargs.Set("queue", int64(600))
	load.Set("kwargs", kwargs)
	reply, err := pub.publish(t.Context(), commandOf(t, "publish", "", load))
	must(t, err)
	return job.ID(reply.(*data.Map).Value("load").(*data.Map).Text("jid"))
}

// droppedJobs is a job cache that has dropped all jobs, and that is locked where it is told so.
type droppedJobs struct {
	returners.JobCache
	locked bool
}

func (*droppedJobs) Job(context.Context, job.ID) (*returners.Job, error) {
	return nil, returners.ErrUnknownJob
}

func (d *droppedJobs) SaveJob(ctx context.Context, j *returners.Job) error {
	if d.locked {
		return errLocked
	}
	return d.JobCache.SaveJob(ctx, j)
}

// TestQueuedJobOutlivesALockedJobCache sends a queued job whose record was dropped to a minion of
// Salt's while the job cache is locked: nothing was sent, so that it is sent once the cache
// answers, and not given up.
func TestQueuedJobOutlivesALockedJobCache(t *testing.T) {
	b := newBench(t, nil, "web1")
	pub, told := b.queues()
	id := b.queueJob(t, pub, rootLoad(b))
	jobs := &droppedJobs{pub.jobs, true}
	pub.jobs = jobs
	before := len(b.wire.messages())
	if err := pub.offline.sendAll(t.Context(), "web1"); !errors.Is(err, errLocked) {
		t.Errorf("with a locked job cache: %v", err)
	}
	jobs.locked = false
	must(t, pub.offline.sendAll(t.Context(), "web1"))
	if sent := len(b.wire.messages()) - before; sent != 1 || !pub.offline.Has(id) {
		t.Errorf("%d publications, want 1; it waits: %v; its progress: %v", sent,
			pub.offline.Has(id), told["web1"])
	}
}

// TestQueuedJobIsNotSentWithoutRights takes a right from users after their jobs were
// queued: these are not sent, and their progress says so. Those of root and of users with the right
// are.
func TestQueuedJobIsNotSentWithoutRights(t *testing.T) {
	acl := data.NewMap("daemon", []any{"test.ping"}, "fred", []any{"test.*"})
	other := data.NewMap("someone", []any{"test.*"})
	for _, tt := range []struct {
		name  string
		load  func(b *bench) *data.Map
		lose  func(c *config.Master)
		sends bool
	}{
		{"root", rootLoad, func(c *config.Master) { c.PublisherACL = other }, true},
		{"a user who may", daemonLoad, func(*config.Master) {}, true},
		{"a user who may not", daemonLoad, func(c *config.Master) { c.PublisherACL = other }, false},
		{"a user who may do something else", daemonLoad,
			func(c *config.Master) { c.PublisherACL = data.NewMap("daemon", []any{"test.echo"}) }, false},
		{"a user who may it elsewhere", daemonLoad, func(c *config.Master) {
			c.PublisherACL = data.NewMap("daemon", []any{data.NewMap("db*", []any{"test.ping"})})
		}, false},
		{"a user on the blacklist", daemonLoad,
			func(c *config.Master) {
				c.PublisherACLBlacklist = data.NewMap("users",
					[]any{"daemon"})
			}, false},
		{"a login", fredLoad, func(*config.Master) {}, true},
		{"a login that is named no more", fredLoad,
			func(c *config.Master) { c.ExternalAuth = data.NewMap("auto", other) }, false},
		{"a login of a system that is gone", fredLoad,
			func(c *config.Master) { c.ExternalAuth = data.NewMap() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(c *config.Master) { c.ExternalAuth, c.PublisherACL = data.NewMap("auto", acl), acl }, "web1")
			pub, told := b.queues()
			id := b.queueJob(t, pub, tt.load(b))
			if !pub.offline.Has(id) {
				t.Fatal("it is not queued")
			}
			changed := *b.cfg
			tt.lose(&changed)
			b.Renew(&changed)
			sent := len(b.wire.messages())
			must(t, pub.offline.sendAll(t.Context(), "web1"))
			// until it is known to have come
			if got := len(b.wire.messages()) > sent; got != tt.sends || pub.offline.Has(id) != tt.sends {
				t.Errorf("sent: %v; waits: %v", got, pub.offline.Has(id))
			}
			if want := map[bool]returners.State{true: returners.Sent,
				false: returners.Refused}[tt.sends]; told["web1"].State != want {
				t.Errorf("it is told as %q, want %q", told["web1"].State, want)
			}
		})
	}
}

func rootLoad(b *bench) *data.Map { return b.load("web1", "list", "test.ping", []any{}) }

func daemonLoad(b *bench) *data.Map {
	load := rootLoad(b)
	key, _ := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".daemon_key"))
	load.Set("user", "daemon")
	load.Set("key", string(key))
	return load
}

func fredLoad(b *bench) *data.Map {
	load := rootLoad(b)
	load.Delete("key")
	load.Set("kwargs", data.NewMap("eauth", "auto", "username", "fred", "password", "x"))
	return load
}

// TestQueuedJobsGoWithTheKey deletes the key of a minion in each way that there is (CVE-2016-9639
// is of this kind): the machine that gets its name next gets none of its jobs, and is not taken for
// one that never runs a job twice.
func TestQueuedJobsGoWithTheKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		drop func(t *testing.T, b *bench, away *offline)
	}{
		{"salt-key, seen when the queue is looked at", func(t *testing.T, b *bench, away *offline) {
			must(t, b.keys.Delete(pki.Accepted, "web1"))
			must(t, away.sendQueued(t.Context()))
		}},
		{"salt-key, with another key waiting already", func(t *testing.T, b *bench, away *offline) {
			must(t, b.keys.Move("web1", pki.Accepted, pki.Rejected))
			must(t, away.sendQueued(t.Context()))
		}},
		{"salt-key, seen by the maintenance", func(t *testing.T, b *bench, away *offline) {
			must(t, b.keys.Delete(pki.Accepted, "web1"))
			m := newMaintenance(b.parts, away.pub)
			must(t, m.forgetSessions(t.Context()))
		}},
		{"revoke_auth", func(t *testing.T, b *bench, away *offline) {
			c := commandOf(t, "revoke_auth", "web1", data.NewMap("id", "web1", "preserve_minion_cache", true))
			_, err := keyCommands(b.parts.base, b.parts.keyring, b.parts.data, b.parts.compiler, away)["revoke_auth"].do(t.Context(), c)
			must(t, err)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(c *config.Master) { c.RotateAESKey = false }, "web1", "db1")
			pub, told := b.queues()
			away := pub.offline
			load := rootLoad(b)
			load.Set("tgt", []any{"web1", "db1"})
			id := b.queueJob(t, pub, load)
			for _, minion := range []string{"web1", "db1"} {
				away.noteBrine(minion)
				b.parts.presence.note(minion, &net.TCPAddr{})
			}
			tt.drop(t, b, away)
			if got := fmt.Sprint(away.queue.Minions()); got != "[db1]" || !away.Has(id) {
				t.Errorf("jobs wait for %s", got)
			}
			_, web1 := away.brine.Load("web1")
			_, db1 := away.brine.Load("db1")
			if web1 || !db1 || told["web1"].State != returners.Gone || told["web1"].Why != textNoKey {
				t.Errorf("web1 is remembered: %v, db1: %v; told %+v", web1, db1, told["web1"])
			}
		})
	}
}

// crowdAway makes a queue of one job for so many minions, which are all away.
func crowdAway(t testing.TB, minions int) *offline {
	b := newBench(t, nil)
	pub, _ := b.queues()
	item := queue.Item{ID: job.NewID(time.Now()), Owner: queue.Owner{Full: true},
		Expires: time.Now().Add(time.Hour)}
	for n := range minions {
		item.Minions = append(item.Minions, fmt.Sprintf("a-minion-with-quite-a-long-name-%05d", n))
	}
	if _, err := pub.offline.queue.Put(item); err != nil {
		t.Fatal(err)
	}
	pub.offline.keys = everyKey{pub.offline.keys, item.Minions}
	return pub.offline
}

func TestLookLeavesMinionsThatAreAway(t *testing.T) {
	away := crowdAway(t, 20_000)
	must(t, away.sendQueued(t.Context()))
	if n := away.queue.Len(); n != 20_000 {
		t.Errorf("%d entries are left", n)
	}
}

// BenchmarkLook looks at a queue of minions that are all away, which the master does each second:
// the time for one minion is to be the same in a full queue.
func BenchmarkLook(b *testing.B) {
	for _, minions := range []int{2_000, 20_000} {
		b.Run(fmt.Sprint(minions), func(b *testing.B) {
			away := crowdAway(b, minions)
			for b.Loop() {
				if err := away.sendQueued(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*minions), "ns/minion")
		})
	}
}

// everyKey has keys of many minions.
type everyKey struct {
	pki.Store
	ids []string
}

func (e everyKey) List(pki.State) ([]string, error) { return e.ids, nil }

// TestOwnersExpireIfJobsAreKeptForever checks that the records of job owners do not grow for ever
// if jobs are kept for ever.
func TestOwnersExpireIfJobsAreKeptForever(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.KeepJobsSeconds = 0 })
	pub, _ := b.queues()
	m := newMaintenance(b.parts, pub)
	old, fresh := job.NewID(time.Now().Add(-2*ownersLife)), job.NewID(time.Now())
	for _, id := range []job.ID{old, fresh} {
		must(t, m.owners.set(id, "web1"))
	}
	then := time.Now().Add(-ownersLife - time.Hour)
	must(t, os.Chtimes(filepath.Join(m.owners.dir, string(old)), then, then))
	must(t, m.clean(t.Context()))
	if who, err := m.owners.of(old); err == nil {
		t.Errorf("%s is remembered for an old job", who)
	}
	if who, err := m.owners.of(fresh); err != nil || who != "web1" {
		t.Errorf("of a new job %q, %v", who, err)
	}
}
