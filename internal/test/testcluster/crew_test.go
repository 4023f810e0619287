//go:build linux

package testcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testcluster/history"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/logging"
)

const (
	// stormVar is the environment variable with the duration of a storm, for example 30m. It also asks for
	// the long form of the other tests.
	stormVar = "BRINE_CLUSTER_STORM"
	// minionsVar is the environment variable with the number of minions.
	minionsVar = "BRINE_CLUSTER_MINIONS"
	// spares is how many keys belong to no minion that runs, so that their state can change.
	spares = 3
)

// long reports whether the long form of the tests is asked for.
func long() bool { return os.Getenv(stormVar) != "" }

// ofForm returns a duration of the default form or of the long one.
func ofForm(short, whole time.Duration) time.Duration {
	if long() {
		return whole
	}
	return short
}

// A crew is a cluster of three masters on three servers of NATS, with minions that have one of the
// masters each.
type crew struct {
	*swarm.Swarm
	c     *Cluster
	nats  *testnats.Cluster
	ids   []string
	spare []string
	now   atomic.Pointer[history.Recorder] // of the present fault
	turn  int                              // number of the fault
	pause time.Duration                    // between two orders of a stream
	wait  time.Duration                    // of such an order for returns
}

// Ran implements swarm.Observer.
func (k *crew) Ran(minion, jid string) { k.now.Load().Ran(minion, jid) }

// Acknowledged implements swarm.Observer.
func (k *crew) Acknowledged(minion, jid, master string) {
	k.now.Load().Acknowledged(minion, jid, master)
}

var _ swarm.Observer = (*crew)(nil)

// minionCount returns the number of minions.
func minionCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(minionsVar)
	if text == "" {
		if long() {
			return 1000
		}
		return 60
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// newCrew starts a cluster with minions, and waits until all listen and one master leads. more are
// lines for the configuration of masters. prepare, if not nil, is called before the masters start.
func newCrew(t *testing.T, more string, prepare func(c *Cluster)) *crew {
	t.Helper()
	return newCrewOn(t, testnats.Options{}, more, prepare)
}

// newCrewOn is like newCrew, with options for the servers of NATS.
func newCrewOn(t *testing.T, o testnats.Options, more string, prepare func(c *Cluster)) *crew {
	t.Helper()
	o.Nodes, o.MaxFile = 3, 64<<30
	k := &crew{nats: testnats.Start(t, o), pause: orderPause, wait: 4 * time.Second}
	k.now.Store(&history.Recorder{})
	k.c = New(t, Options{Masters: 3, Cluster: Option("test", 3, k.nats.URLs()...),
		Config: bothVersions + "\n" + more})
	if prepare != nil {
		prepare(k.c)
	}
	k.begin(t)
	return k
}

// begin starts the masters with minions, and waits until all listen and one master leads.
func (k *crew) begin(t *testing.T) {
	t.Helper()
	k.makeMinions(t, k.c.Addresses())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, m := range k.c.Masters {
		must(t, m.Start())
	}
	for _, m := range k.c.Masters {
		must(t, m.Wait(ctx))
	}
	k.gather(t)
}

// makeMinions makes the minions and has all masters accept their keys.
func (k *crew) makeMinions(t *testing.T, masters []string) {
	t.Helper()
	wire, err := cli.MinionWire(config.DefaultMinion())
	must(t, err)
	o := swarm.Options{Ports: swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe},
		Count: minionCount(t), Prefix: "m", Masters: masters, Log: logging.Discard(),
		Keys: swarm.Keys{Distinct: 4}, Old: 30, Observer: k, Alive: time.Second, Patience: 3 * time.Second}
	k.Swarm, err = swarm.New(o)
	must(t, err)
	keys := k.PublicKeys()
	k.ids = slices.Sorted(maps.Keys(keys))
	for i := range spares {
		id := fmt.Sprintf("spare%d", i)
		k.spare = append(k.spare, id)
		keys[id] = keys[k.ids[i]]
	}
	must(t, k.c.Accept(keys))
}

// gather runs the minions and waits until all listen.
func (k *crew) gather(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the swarm: %v", err)
		}
	})
	select {
	case <-k.Ready():
	case <-time.After(2 * patience):
		t.Fatalf("%d connections to publish ports", k.Stats.Listening.Load())
	}
	k.leader(t)
}

// control calls a function of a runner or a wheel on a master.
func control(ctx context.Context, m *Master, kind, fun string, args ...any) (any, error) {
	l, done, err := m.client(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	job, err := l.Control(ctx, kind, fun, args, nil)
	if err != nil {
		return nil, err
	}
	if job.Value("success") != true {
		return nil, errors.New(data.Repr(job))
	}
	return job.Value("return"), nil
}

// leader waits until a master that runs leads, and returns it.
func (k *crew) leader(t *testing.T) *Master {
	t.Helper()
	var leads *Master
	var why string
	testnats.Eventually(t, func() bool {
		for _, m := range k.c.Masters {
			if m.Pid() == 0 || testnats.Stopped(m.Pid()) {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			status, err := control(ctx, m, "runner", "cluster.status")
			cancel()
			of, ok := status.(*data.Map)
			if why = fmt.Sprint(err); !ok {
				continue
			}
			why = data.Repr(of)
			for _, other := range k.c.Masters {
				if other.Name == of.Text("leader") && other.Pid() != 0 && !testnats.Stopped(other.Pid()) {
					leads = other
					return true
				}
			}
		}
		return false
	}, func() string { return "no master leads: " + why })
	return leads
}

// except returns the masters other than one.
func (k *crew) except(not *Master) []*Master {
	return slices.DeleteFunc(slices.Clone(k.c.Masters), func(m *Master) bool { return m == not })
}

// request returns the i-th order of a stream of jobs.
func (k *crew) request(i int) Request {
	r := Request{Target: "m*", Minions: k.ids, Fun: []string{"test.ping", "test.echo", "test.sleep"}[i/3%3],
		Timeout: max(k.wait, k.answerTime()+time.Second)}
	switch r.Fun {
	case "test.sleep": // so that returns are under way when something fails
		r.Args = []any{0.4}
	case "test.echo":
		r.Args = []any{fmt.Sprintf("order %d", i)}
	}
	return r
}

// orderPause is the usual time between two orders of a stream.
const orderPause = 250 * time.Millisecond

// betweenOrders returns the time between two orders: a large crew returns no more often than one of 60.
func (k *crew) betweenOrders() time.Duration {
	return max(k.pause, time.Duration(len(k.ids))*time.Second/240)
}

// answerTime returns how long all minions may take to return when nothing fails.
func (k *crew) answerTime() time.Duration {
	return max(3*time.Second, time.Duration(len(k.ids))*15*time.Millisecond)
}

// under makes a fault happen while jobs are ordered on all masters and keys change, and judges what
// was observed once everything is back. fault returns when the fault is undone.
func (k *crew) under(t *testing.T, fault func(t *testing.T)) {
	t.Helper()
	begun := time.Now()
	k.now.Store(&history.Recorder{})
	k.turn++
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var others errgroup.Group
	defer func() {
		stop()
		_ = others.Wait() // if the test fails
	}()
	others.Go(func() error { return k.c.Load(ctx, k.now.Load(), k.betweenOrders(), k.request) })
	fault(t)
	stop()
	must(t, others.Wait())
	undone := time.Since(begun)
	k.settle(t)
	k.changeKeys(t)
	settled := time.Since(begun)
	k.judge(t)
	t.Logf("%.1f s, of which %.1f s until all was settled and %.1f s for the judgement",
		time.Since(begun).Seconds(), (settled - undone).Seconds(), (time.Since(begun) - settled).Seconds())
}

// settle waits until all processes serve, all minions listen, and answer to each master.
func (k *crew) settle(t *testing.T) {
	t.Helper()
	k.nats.Wait(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, m := range k.c.Masters {
		must(t, m.Wait(ctx))
	}
	reaches(t, "connections", &k.Stats.Listening, int64(len(k.ids)))
	for _, m := range k.c.Masters {
		var a *Answer
		testnats.Eventually(t, func() bool {
			var err error
			a, err = m.Order(t.Context(), Request{Target: "m*", Fun: "test.ping", Timeout: k.answerTime(),
				Minions: k.ids})
			must(t, err)
			k.now.Load().Order(a.Order)
			return a.Succeeded() && len(a.Returned) == len(k.ids)
		}, func() string {
			return fmt.Sprintf("%s: %d of %d minions returned, missing are %v; %s%s", m.Name, len(a.Returned),
				len(k.ids), a.Missing, a.Refused, a.Lost)
		})
	}
}

// changeKeys rejects a key on one master and accepts it on another, in turn with each fault, and waits
// until all masters have the same state of all keys.
func (k *crew) changeKeys(t *testing.T) {
	t.Helper()
	id, on := k.spare[k.turn%spares], k.c.Masters[k.turn%3]
	want, change, from := "accepted", "key.accept", "include_rejected"
	if k.turn/spares%2 == 0 {
		want, change, from = "rejected", "key.reject", "include_accepted"
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, done, err := on.client(ctx)
	must(t, err)
	defer done()
	answer, err := l.Control(ctx, "wheel", change, []any{id}, data.NewMap(from, true))
	must(t, err)
	var seen []map[string]string
	testnats.Eventually(t, func() bool {
		seen = nil
		for _, m := range k.c.Masters {
			states, err := m.Keys(t.Context())
			must(t, err)
			seen = append(seen, states)
		}
		return seen[0][id] == want && maps.Equal(seen[0], seen[1]) && maps.Equal(seen[0], seen[2])
	}, func() string {
		return fmt.Sprintf("key of %s on m1, m2, m3: %s, %s, %s, want %s; of %d, %d, %d keys; %s on %s: %s",
			id, seen[0][id], seen[1][id], seen[2][id], want, len(seen[0]), len(seen[1]), len(seen[2]), change,
			on.Name, data.Repr(answer))
	})
}

// judge waits until the job caches of all masters are equal and the history breaks no rule, and fails
// the test if that does not come.
func (k *crew) judge(t *testing.T) {
	t.Helper()
	reaches(t, "returns", &k.Stats.Returned, k.Stats.Ran.Load())
	var wrong []string
	var h *history.History
	testnats.Eventually(t, func() bool {
		must(t, k.c.Collect(t.Context(), k.now.Load()))
		h = k.now.Load().History()
		wrong = differences(h)
		for _, v := range history.Check(h, history.Promises{Shared: true}) {
			wrong = append(wrong, v.String())
		}
		return len(wrong) == 0
	}, func() string {
		return fmt.Sprintf("%d violations:\n%s", len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	})
	whole, told, refused, lost := 0, 0, 0, map[string]int{}
	for _, o := range h.Orders {
		switch {
		case o.Lost != "":
			lost[o.Member]++
		case o.Refused != "":
			refused++
		case o.Succeeded():
			whole++
		default:
			told++
		}
	}
	t.Logf("%d orders: %d with every return, %d with minions that were reported as missing, %d refused, "+
		"%v ended with an error; %d runs, %d acknowledged returns", len(h.Orders), whole, told, refused, lost,
		len(h.Runs), len(h.Acks))
	if whole == 0 || len(h.Acks) == 0 {
		t.Error("the run is void")
	}
}

// differences returns the jobs whose returns are not the same on all members.
func differences(h *history.History) (all []string) {
	members := slices.Sorted(maps.Keys(h.Caches))
	jids := map[string]bool{}
	for _, jobs := range h.Caches {
		for jid := range jobs {
			jids[jid] = true
		}
	}
	for _, jid := range slices.Sorted(maps.Keys(jids)) {
		for _, m := range members[1:] {
			if a, b := h.Caches[members[0]][jid], h.Caches[m][jid]; !slices.Equal(a, b) {
				all = append(all, fmt.Sprintf("job %s has %d returns on %s and %d on %s", jid, len(a), members[0],
					len(b), m))
			}
		}
	}
	return all
}

// rest lets the load go on for a time.
func rest(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// logged waits until the log of a master has a text after an offset.
func logged(t *testing.T, m *Master, after int, text string) {
	t.Helper()
	testnats.Eventually(t, func() bool { return strings.Contains(logAfter(t, m, after), text) },
		func() string { return fmt.Sprintf("the log of %s lacks %q", m.Name, text) })
}

// logAfter returns the log of a master after an offset.
func logAfter(t *testing.T, m *Master, after int) string {
	t.Helper()
	all, err := os.ReadFile(m.path("log"))
	must(t, err)
	return string(all[min(after, len(all)):])
}

// logLength returns the length of a master's log.
func logLength(t *testing.T, m *Master) int {
	t.Helper()
	info, err := os.Stat(m.path("log"))
	must(t, err)
	return int(info.Size())
}

// stormTime returns how long a storm takes.
func stormTime(t *testing.T) time.Duration {
	t.Helper()
	length := 2 * time.Minute
	if testing.Short() {
		length = 5 * time.Second
	}
	if text := os.Getenv(stormVar); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		must(t, err)
	}
	return length
}

// reactions is the reactor file of the tests: two jobs with a runner's wait between them.
const reactions = `first:
  local.test.echo:
  - tgt: 'm*'
  - args:
    - text: {{ ("first of " ~ tag) | json }}
wait:
  runner.test.sleep:
  - args:
    - s_time: 6
last:
  local.test.echo:
  - tgt: 'm*'
  - args:
    - text: {{ ("last of " ~ tag) | json }}
`

// reactorLines writes the reactor file and returns the option that names it.
func reactorLines(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "steps.sls")
	must(t, os.WriteFile(path, []byte(reactions), 0o600))
	return "reactor: [{'ask/*': [" + path + "]}]"
}

// jobsWith returns the ids of the jobs that a master knows with a text in their arguments, sorted.
func jobsWith(ctx context.Context, m *Master, text string) ([]string, error) {
	jobs, err := control(ctx, m, "runner", "jobs.list_jobs")
	if err != nil {
		return nil, err
	}
	all, ok := jobs.(*data.Map)
	if !ok {
		return nil, errors.New(data.Repr(jobs))
	}
	var found []string
	for id, about := range all.All() {
		if m, ok := about.(*data.Map); ok && strings.Contains(data.Repr(m.Value("Arguments")), text) {
			found = append(found, data.Str(id))
		}
	}
	slices.Sort(found)
	return found, nil
}
