//go:build linux

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testcluster/faults"
	"github.com/brineproject/brine/internal/test/testcluster/history"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/logging"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// minions is the number of simulated minions of a test.
const minions = 50

// bothVersions lets masters accept minions with protocol version 2 too.
const bothVersions = "minimum_auth_version: 2"

// A fleet is a swarm and what is known of it.
type fleet struct {
	*swarm.Swarm
	c   *Cluster
	ids []string
	h   history.Recorder
}

// gather lets minions connect to masters, which have accepted their keys, and waits until all listen.
func gather(t *testing.T, c *Cluster, o swarm.Options) *fleet {
	t.Helper()
	f := &fleet{c: c}
	wire, err := cli.MinionWire(config.DefaultMinion())
	must(t, err)
	o.Ports = swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe}
	o.Count, o.Prefix, o.Masters, o.Log = minions, "m", c.Addresses(), logging.Discard()
	o.Keys, o.Old, o.Observer = swarm.Keys{Distinct: 4}, 30, &f.h
	o.Alive, o.Patience = time.Second, 3*time.Second
	f.Swarm, err = swarm.New(o)
	must(t, err)
	keys := f.PublicKeys()
	must(t, c.Accept(keys))
	f.ids = slices.Sorted(maps.Keys(keys))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the swarm: %v", err)
		}
	})
	select {
	case <-f.Ready():
	case <-time.After(patience):
		t.Fatalf("%d connections to publish ports", f.Stats.Listening.Load())
	}
	return f
}

// order orders a job for all minions, which have some time to return, and records it.
func (f *fleet) order(t *testing.T, m *Master, fun string, timeout time.Duration) *Answer {
	t.Helper()
	a, err := m.Order(t.Context(), Request{Target: "*", Fun: fun, Timeout: timeout, Minions: f.ids})
	must(t, err)
	f.h.Order(a.Order)
	if a.Refused+a.Lost != "" {
		t.Fatalf("%s on %s: %s%s", fun, m.Name, a.Refused, a.Lost)
	}
	return a
}

// all orders a job and fails the test unless all minions return.
func (f *fleet) all(t *testing.T, m *Master, fun string) *Answer {
	t.Helper()
	a := f.order(t, m, fun, patience)
	if !a.Succeeded() || len(a.Returned) != minions {
		t.Errorf("%s on %s: %d minions returned, %d are missing", fun, m.Name, len(a.Returned),
			len(a.Missing))
	}
	return a
}

// reaches waits until a counter has a value.
func reaches(t *testing.T, what string, n *atomic.Int64, want int64) {
	t.Helper()
	testnats.Eventually(t, func() bool { return n.Load() >= want },
		func() string { return fmt.Sprintf("%s: %d, want %d", what, n.Load(), want) })
}

// verdict reads the job caches and fails the test if the history breaks a rule.
func (f *fleet) verdict(t *testing.T) {
	t.Helper()
	reaches(t, "returns", &f.Stats.Returned, f.Stats.Ran.Load())
	must(t, f.c.Collect(t.Context(), &f.h))
	h := f.h.History()
	for _, v := range history.Check(h, history.Promises{}) {
		t.Error(v)
	}
	if len(h.Acks) == 0 || len(h.Acks) != len(h.Runs) || int64(len(h.Runs)) != f.Stats.Ran.Load() {
		t.Errorf("%d runs, %d acknowledged returns; the swarm counts %d", len(h.Runs), len(h.Acks),
			f.Stats.Ran.Load())
	}
	h.Caches[f.c.Masters[0].Name] = nil
	if len(f.c.Masters) == 1 && len(history.Check(h, history.Promises{})) < len(h.Acks) {
		t.Error("the verdict is void: it does not look at the job cache")
	}
}

// TestOneMaster orders jobs through the client and the program, while the master stands still,
// restarts and is killed.
func TestOneMaster(t *testing.T) {
	t.Parallel()
	need.Time(t, "it builds programs")
	c := Start(t, Options{Config: bothVersions})
	m := c.Masters[0]
	f := gather(t, c, swarm.Options{})
	answer := f.all(t, m, "state.apply")
	shown, err := m.Lookup(t.Context(), answer.JID)
	must(t, err)
	if states, ok := shown["m00007"].(map[string]any); len(shown) != minions || !ok || len(states) < 10 {
		t.Errorf("salt-run shows %d returns, of which m00007 has %d states", len(shown), len(states))
	}
	out, code, err := m.Run(t.Context(), "salt", "--out=json", "--static", "*", "test.ping")
	must(t, err)
	if code != 0 || strings.Count(string(out), ": true") != minions {
		t.Errorf("salt ends with %d: %s", code, out)
	}
	keys, err := m.Keys(t.Context())
	must(t, err)
	if len(keys) != minions || keys["m00007"] != "accepted" {
		t.Errorf("keys %v", keys)
	}

	pid := m.Pid()
	must(t, m.Stop())
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := m.Wait(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped master: %v", err)
	}
	if !testnats.Stopped(pid) {
		t.Error("a stopped master runs")
	}
	must(t, m.Continue())
	f.all(t, m, "test.ping")

	for _, end := range []func() error{m.Kill, m.End} {
		pid := m.Pid()
		must(t, end())
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) || m.Pid() != 0 {
			t.Errorf("process %d is there: %v; Pid() = %d", pid, err, m.Pid())
		}
		if end() == nil || m.Stop() == nil {
			t.Error("a master that does not run can be ended or stopped")
		}
		must(t, m.Restart(t.Context()))
		f.back(t, m)
	}
	f.verdict(t)
}

// back waits until all minions answer a master that has restarted.
func (f *fleet) back(t *testing.T, m *Master) {
	t.Helper()
	var a *Answer
	testnats.Eventually(t, func() bool {
		a = f.order(t, m, "test.ping", time.Second)
		return len(a.Returned) == minions
	}, func() string { return fmt.Sprintf("%s: %d minions are missing", m.Name, len(a.Missing)) })
}

// TestMinionsOfOneOfSeveralMasters takes masters away from minions that have one of them each.
func TestMinionsOfOneOfSeveralMasters(t *testing.T) {
	t.Parallel()
	need.Time(t, "it builds programs")
	c := Start(t, Options{Masters: 3, Config: bothVersions})
	f := gather(t, c, swarm.Options{})
	for i, m := range c.Masters {
		a := f.order(t, m, "state.apply", time.Second)
		if most := (minions + 2 - i) / 3; len(a.Returned) > most || len(a.Missing) < minions-most || a.Succeeded() {
			t.Errorf("%s: %d minions returned, %d are connected", m.Name, len(a.Returned), most)
		}
	}
	reaches(t, "jobs run", &f.Stats.Ran, minions)
	must(t, c.Masters[0].Kill())
	reaches(t, "moves", &f.Stats.Moves, (minions+2)/3)
	reaches(t, "connections", &f.Stats.Listening, minions)
	must(t, c.Masters[1].Stop())
	reaches(t, "moves", &f.Stats.Moves, 2*((minions+2)/3)+(minions+1)/3)
	reaches(t, "connections", &f.Stats.Listening, minions)
	f.all(t, c.Masters[2], "test.ping")
	must(t, c.Masters[1].Continue())
	must(t, c.Masters[0].Restart(t.Context()))
	f.verdict(t)
}

// TestMinionsOfAllMasters takes masters away from minions that are connected to all of them.
func TestMinionsOfAllMasters(t *testing.T) {
	t.Parallel()
	need.Time(t, "it builds programs")
	c := Start(t, Options{Masters: 3, Config: bothVersions})
	f := gather(t, c, swarm.Options{HotHot: true})
	for _, m := range c.Masters {
		f.all(t, m, "state.apply")
	}
	must(t, c.Masters[0].Kill())
	must(t, c.Masters[1].Stop())
	f.all(t, c.Masters[2], "test.ping")
	must(t, c.Masters[1].Continue())
	f.all(t, c.Masters[1], "test.ping")
	must(t, c.Masters[0].Restart(t.Context()))
	f.back(t, c.Masters[0])
	if n := f.Stats.Moves.Load(); n != 0 {
		t.Errorf("%d moves", n)
	}
	f.verdict(t)
}

// TestMastersFailAtRandom makes faults of a random seed happen to masters alone, while jobs are
// ordered and keys watched: what each promises alone it keeps.
func TestMastersFailAtRandom(t *testing.T) {
	need.Time(t, "it builds programs")
	t.Parallel()
	schedule := faults.New(faults.Seed(t), faults.Options{Length: 15 * time.Second, Longest: 5 * time.Second,
		Away: 3 * time.Second, Groups: []faults.Group{
			{Names: []string{"m1", "m2", "m3"}, Most: 2, Pause: 2 * time.Second, Rest: time.Second},
		}})
	t.Log(schedule)
	c := Start(t, Options{Masters: 3, Config: bothVersions})
	f := gather(t, c, swarm.Options{HotHot: true})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var others errgroup.Group
	others.Go(func() error {
		return c.Load(ctx, &f.h, 200*time.Millisecond, func(i int) Request {
			r := Request{Target: "*", Fun: []string{"test.ping", "state.apply", "test.sleep"}[i/3%3], Minions: f.ids}
			if r.Fun == "test.sleep" { // so that returns are under way when a master fails
				r.Args = []any{0.5}
			}
			return r
		})
	})
	others.Go(func() error { return c.WatchKeys(ctx, &f.h, 100*time.Millisecond, f.ids) })
	begun, undone := map[faults.Kind]int{}, map[faults.Kind]int{}
	var mu sync.Mutex
	must(t, schedule.Play(ctx, c.Targets(), func(fault faults.Fault, isUndone bool) {
		mu.Lock()
		defer mu.Unlock()
		if isUndone {
			undone[fault.Kind]++
		} else {
			begun[fault.Kind]++
		}
	}))
	for _, m := range c.Masters {
		must(t, m.Wait(ctx))
	}
	stop()
	must(t, others.Wait())
	h := f.h.History()
	succeeded, lost := 0, 0
	for _, o := range h.Orders {
		if o.Succeeded() {
			succeeded++
		} else if o.Lost != "" {
			lost++
		}
	}
	t.Logf("%v faults; of %d orders %d succeeded and %d were lost; "+
		"%d repeated publications, %d returns sent again", begun, len(h.Orders), succeeded, lost,
		f.Stats.Repeated.Load(), f.Stats.Resent.Load())
	if succeeded == 0 || !maps.Equal(begun, undone) || len(h.Sights) < 100*minions {
		t.Errorf("the run is void: %v faults were undone, %d sights of keys", undone, len(h.Sights))
	}
	f.verdict(t)
}

// TestWipe deletes the files of a master alone, which then has another key and knows no minion.
func TestWipe(t *testing.T) {
	t.Parallel()
	need.Time(t, "it builds programs")
	c := Start(t, Options{})
	m := c.Masters[0]
	must(t, m.Accept(map[string]string{"web1": "key"}))
	before, err := os.ReadFile(m.path("pki/master.pub"))
	must(t, err)
	must(t, m.Wipe(t.Context()))
	after, err := os.ReadFile(m.path("pki/master.pub"))
	must(t, err)
	if slices.Equal(before, after) {
		t.Error("the key of a master is left")
	}
	if _, err := os.Stat(m.path("pki/minions/web1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key of a minion is left: %v", err)
	}
}

// TestMembersHaveTheirOption checks the configuration of members, whatever their masters make of it.
func TestMembersHaveTheirOption(t *testing.T) {
	c := New(t, Options{Masters: 2, Cluster: Option("test", 3, "nats://127.0.0.1:1", "nats://127.0.0.1:2")})
	for i, m := range c.Masters {
		text, err := os.ReadFile(m.path("master"))
		must(t, err)
		want := fmt.Sprintf("cluster:\n  servers: [nats://127.0.0.1:1, nats://127.0.0.1:2]\n  name: test\n"+
			"  member: m%d\n  key: %s\n  replicas: 3\n", i+1, c.KeyFile)
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks\n%s", text, want)
		}
	}
}
