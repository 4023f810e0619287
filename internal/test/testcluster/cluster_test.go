//go:build linux

package testcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testcluster/faults"
	"github.com/brineproject/brine/internal/test/testcluster/history"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/wrongclock"
)

// TestCluster makes faults happen to one cluster in turn. Each leaves it whole. In the short form processes
// are killed and stopped of each kind once, the leader first; TestClusterStorm draws from all of them.
func TestCluster(t *testing.T) {
	need.Time(t, "it runs a cluster")
	k := newCrew(t, reactorLines(t), nil)
	for _, m := range k.some(t) {
		t.Run("kill master "+m.Name, func(t *testing.T) { k.under(t, k.killMaster(m)) })
	}
	servers := k.nats.Nodes
	if !long() {
		servers = servers[:1]
	}
	for _, n := range servers {
		t.Run("kill server "+n.Name, func(t *testing.T) { k.under(t, k.killNode(n)) })
	}
	for _, m := range k.some(t) {
		t.Run("stop master "+m.Name, func(t *testing.T) { k.under(t, k.stopMaster(m)) })
	}
	for _, n := range servers {
		t.Run("stop server "+n.Name, func(t *testing.T) { k.under(t, k.stopNode(n)) })
	}
	t.Run("kill the leader in a batch", func(t *testing.T) { k.under(t, k.killInBatch) })
	t.Run("kill the leader in a reaction", func(t *testing.T) { k.under(t, k.killInReaction) })
	t.Run("rolling restart", func(t *testing.T) { k.under(t, k.rollingRestart) })
	t.Run("wipe a master", func(t *testing.T) { k.under(t, k.wipe) })
}

// some returns all masters, or in the short form the one that leads.
func (k *crew) some(t *testing.T) []*Master {
	if long() {
		return k.c.Masters
	}
	return []*Master{k.leader(t)}
}

// gone fails the test if a process is there.
func gone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d is there: %v", pid, err)
	}
}

func (k *crew) killMaster(m *Master) func(*testing.T) {
	return func(t *testing.T) {
		rest(t, time.Second)
		pid := m.Pid()
		must(t, m.Kill())
		gone(t, pid)
		rest(t, ofForm(3*time.Second, 20*time.Second))
		must(t, m.Restart(t.Context()))
		rest(t, time.Second)
	}
}

func (k *crew) killNode(n *testnats.Node) func(*testing.T) {
	return func(t *testing.T) {
		rest(t, time.Second)
		pid := n.Pid()
		n.Kill(t)
		gone(t, pid)
		rest(t, ofForm(3*time.Second, 20*time.Second))
		n.Restart(t)
		rest(t, time.Second)
	}
}

func (k *crew) stopMaster(m *Master) func(*testing.T) {
	return func(t *testing.T) {
		rest(t, time.Second)
		must(t, m.Stop())
		rest(t, ofForm(5*time.Second, time.Minute))
		if !testnats.Stopped(m.Pid()) {
			t.Errorf("%s did not stand still", m.Name)
		}
		must(t, m.Continue())
		rest(t, time.Second)
	}
}

func (k *crew) stopNode(n *testnats.Node) func(*testing.T) {
	return func(t *testing.T) {
		rest(t, time.Second)
		n.Stop(t)
		rest(t, ofForm(5*time.Second, time.Minute))
		if !testnats.Stopped(n.Pid()) {
			t.Errorf("%s did not stand still", n.Name)
		}
		n.Continue(t)
		rest(t, time.Second)
	}
}

// runsOf returns how often minions ran a job.
func runsOf(h *history.History, jid string) map[string]int {
	all := map[string]int{}
	for _, r := range h.Runs {
		if r.JID == jid {
			all[r.Minion] += r.Count
		}
	}
	return all
}

// A batch is a run of salt -b and what it showed.
type batch struct {
	id, argument string
	size         int // of a step
	shown        map[string]any
	code         int
	out          []byte
}

// runBatch runs salt -b for all minions on a master, in some steps, with an argument that no other job has.
// middle is called when more minions than a step has have begun, and not all.
func (k *crew) runBatch(t *testing.T, on *Master, steps int, argument float64, middle func(begun int)) *batch {
	t.Helper()
	b := &batch{argument: fmt.Sprint(argument), size: max(len(k.ids)/steps, 1), shown: map[string]any{}}
	type result struct {
		out  []byte
		code int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		out, code, err := on.Run(t.Context(), "salt", "-b", strconv.Itoa(b.size), "--out=json", "--static",
			"m*", "test.sleep", b.argument)
		done <- result{out, code, err}
	}()
	ran := 0
	testnats.Eventually(t, func() bool {
		found, err := jobsWith(t.Context(), on, b.argument)
		must(t, err)
		if len(found) > 0 {
			b.id = found[0]
		}
		return b.id != ""
	}, func() string { return "the batch does not begin" })
	testnats.Eventually(t, func() bool {
		ran = len(runsOf(k.now.Load().History(), b.id))
		return ran > b.size
	}, func() string { return fmt.Sprintf("batch %q goes no further than %d runs", b.id, ran) })
	if ran >= len(k.ids) {
		t.Errorf("the run is void: the batch had ended")
	}
	middle(ran)
	r := <-done
	must(t, r.err)
	b.out, b.code = r.out, r.code
	if err := json.Unmarshal(r.out, &b.shown); err != nil || len(b.shown) != len(k.ids) {
		t.Errorf("salt ends with %d and %d of %d returns: %v: %.2000s", r.code, len(b.shown), len(k.ids), err,
			r.out)
	}
	return b
}

// killInBatch kills the leader in the middle of a batch that was ordered on another member.
func (k *crew) killInBatch(t *testing.T) {
	leads := k.leader(t)
	on := k.except(leads)[0]
	b := k.runBatch(t, on, 8, 1.75, func(begun int) {
		pid := leads.Pid()
		must(t, leads.Kill())
		gone(t, pid)
		t.Logf("%s, which led, was killed after %d of %d minions had begun", leads.Name, begun, len(k.ids))
		if k.leader(t) == leads {
			t.Errorf("%s was killed and leads", leads.Name)
		}
	})
	if b.code != 0 {
		t.Errorf("salt ends with %d: %.2000s", b.code, b.out)
	}
	must(t, leads.Restart(t.Context()))
	runs := runsOf(k.now.Load().History(), b.id)
	lost := 0 // the leader died between the note of their step and sending it to them: salt names them
	for _, minion := range k.ids {
		silent := data.Repr(b.shown[minion]) != "True"
		if runs[minion] == 0 && silent {
			lost++
			continue
		}
		if runs[minion] != 1 {
			t.Errorf("%s ran the batch's job %d times, and salt says %v", minion, runs[minion], b.shown[minion])
		}
	}
	if lost > b.size {
		t.Errorf("%d minions did not get the job, a step has %d", lost, b.size)
	}
	if all, err := jobsWith(t.Context(), on, b.argument); err != nil || len(all) != 1 {
		t.Errorf("jobs of the batch: %v, %v", all, err)
	}
}

// killInReaction kills the leader between two steps of a reaction.
func (k *crew) killInReaction(t *testing.T) {
	leads := k.leader(t)
	other := k.except(leads)[0]
	tag := fmt.Sprintf("ask/%d", time.Now().UnixNano())
	_, err := control(t.Context(), other, "runner", "event.send", tag, data.NewMap("x", int64(1)))
	must(t, err)
	jobs := func(what string) []string {
		found, err := jobsWith(t.Context(), other, what+" of "+tag)
		must(t, err)
		return found
	}
	testnats.Eventually(t, func() bool { return len(jobs("first")) > 0 },
		func() string { return "the reaction does not begin" })
	pid := leads.Pid()
	must(t, leads.Kill())
	gone(t, pid)
	if found := jobs("last"); len(found) != 0 {
		t.Errorf("the run is void: the reaction had ended with job %v", found)
	}
	next := k.leader(t)
	t.Logf("%s led after %s was killed", next.Name, leads.Name)
	testnats.Eventually(t, func() bool { return len(jobs("last")) > 0 },
		func() string { return "the next leader does not end the reaction" })
	must(t, leads.Restart(t.Context()))
	rest(t, 2*time.Second)
	for _, what := range []string{"first", "last"} {
		if found := jobs(what); len(found) != 1 {
			t.Errorf("the %s step was taken %d times: %v", what, len(found), found)
		}
	}
}

// rollingRestart restarts the masters, and the servers of NATS, one after the other.
func (k *crew) rollingRestart(t *testing.T) {
	for _, m := range k.c.Masters {
		pid := m.Pid()
		must(t, m.Restart(t.Context()))
		if gone(t, pid); m.Pid() == pid {
			t.Errorf("%s has its pid %d", m.Name, pid)
		}
		rest(t, time.Second)
	}
	for _, n := range k.nats.Nodes {
		pid := n.Pid()
		n.Restart(t)
		if gone(t, pid); n.Pid() == pid {
			t.Errorf("%s has its pid %d", n.Name, pid)
		}
		k.nats.Wait(t)
	}
}

// wipe deletes the files of a member, which joins again, and asks it for a job before its time.
func (k *crew) wipe(t *testing.T) {
	m := k.c.Masters[1]
	a, err := k.c.Masters[0].Order(t.Context(), Request{Target: "m*", Fun: "test.ping", Timeout: 10 * time.Second,
		Minions: k.ids})
	must(t, err)
	k.now.Load().Order(a.Order)
	before, err := m.Keys(t.Context())
	must(t, err)
	must(t, m.Wipe(t.Context()))
	var after map[string]string
	testnats.Eventually(t, func() bool {
		after, err = m.Keys(t.Context())
		must(t, err)
		return len(after) == len(before)
	}, func() string { return fmt.Sprintf("%d keys, want %d", len(after), len(before)) })
	var found map[string][]string
	testnats.Eventually(t, func() bool {
		found, err = m.Returned(t.Context(), a.JID)
		must(t, err)
		return len(found[a.JID]) == len(a.Returned)
	}, func() string { return fmt.Sprintf("%d returns, want %d", len(found[a.JID]), len(a.Returned)) })
	rest(t, time.Second)
}

// TestClusterStorm makes faults of a random seed happen to members and servers.
func TestClusterStorm(t *testing.T) {
	seed, length := faults.Seed(t), stormTime(t)
	k := newCrew(t, "", nil)
	kinds := []faults.Kind{faults.Kill, faults.Stop, faults.Restart}
	if err := wrongclock.Allowed(); err != nil {
		t.Logf("clocks stay right: %v", err)
	} else {
		kinds = append(kinds, faults.Clock)
	}
	schedule := faults.New(seed, faults.Options{Length: length, Longest: ofForm(8*time.Second, time.Minute),
		Away: ofForm(6*time.Second, 20*time.Second), Groups: []faults.Group{
			{Names: []string{"m1", "m2", "m3"}, Kinds: kinds, Pause: min(8*time.Second, length/3)},
			{Names: []string{"n1", "n2", "n3"}, Kinds: kinds, Pause: min(8*time.Second, length/3), Rest: 10 * time.Second},
		}})
	t.Log(schedule)
	targets := k.c.Targets()
	for name, n := range Servers(t, k.nats) {
		targets[name] = n
	}
	for _, m := range k.c.Masters {
		m.Keep() // NATS may have no quorum for longer than a start waits
	}
	hit, undone := make(chan string, 4*len(schedule.Faults)+1), 0
	k.under(t, func(t *testing.T) {
		must(t, schedule.Play(t.Context(), targets, func(f faults.Fault, isUndone bool) {
			if isUndone {
				hit <- string(f.Kind)
			}
		}))
	})
	close(hit)
	happened := map[string]int{}
	for kind := range hit {
		happened[kind]++
		undone++
	}
	if undone != len(schedule.Faults) {
		t.Errorf("%d of %d faults happened", undone, len(schedule.Faults))
	}
	t.Logf("%d faults: %v", undone, happened)
	for _, m := range k.c.Masters {
		for _, why := range m.Ends() {
			t.Logf("%s ended by itself and was started again: %s", m.Name, why)
		}
	}
}
