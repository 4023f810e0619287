//go:build linux

package testcluster

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/wrongclock"
)

// wrong is how far a wrong clock is off.
const wrong = 2 * time.Minute

// ordersStream is the stream with the orders of the members.
const ordersStream = "test_publications"

// tick is the interval of the scheduled job of clockLines.
const tick = 3 * time.Second

// clockLines are the configuration of masters that fail if their clocks matter: a scheduled job, and a
// login for tokens.
var clockLines = fmt.Sprintf("schedule: {tick: {function: test.arg, seconds: %d, return_job: false}}\n"+
	"external_auth: {sharedsecret: {keeper: ['.*']}}\nsharedsecret: word\n", tick/time.Second)

// TestClusterClock lets the clock of one process of a cluster be wrong: that of a member, of the
// leader and of a server of NATS, ahead and behind.
func TestClusterClock(t *testing.T) {
	need.Time(t, "it runs a cluster")
	need.That(t, "way to change a clock", wrongclock.Allowed())
	k := newCrewOn(t, testnats.Options{Clocks: true}, clockLines, func(c *Cluster) {
		for _, m := range c.Masters {
			must(t, m.SetClock(0))
		}
	})
	t.Run("leader", func(t *testing.T) { k.under(t, k.underClocks(k.wrongLeader)) })
	if long() {
		t.Run("member", func(t *testing.T) { k.under(t, k.underClocks(k.wrongMember)) })
	}
	t.Run("server", func(t *testing.T) { k.under(t, k.underClocks(k.wrongServer)) })
	t.Run("kill the leader that is ahead", func(t *testing.T) { k.under(t, k.underClocks(k.wrongHeir)) })
}

// underClocks returns a fault that is followed by a look at what a wrong clock may not change: who
// leads, and how often scheduled jobs run.
func (k *crew) underClocks(fault func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		begun, logs := time.Now(), k.logLengths(t)
		fault(t)
		if n := k.count(t, logs, "another member has it"); n != 0 {
			t.Errorf("the lead was taken %d times from a member that had it", n)
		}
		passed := time.Since(begun)
		leads := k.count(t, logs, "This master leads the cluster from now on")
		most := int(passed/tick) + 2 + leads // the next leader may run the job at once
		runs := k.count(t, logs, "Running scheduled job: tick ")
		t.Logf("%d runs of the scheduled job in %s, %d new leads", runs, passed.Round(time.Second), leads)
		if runs < 1 || runs > most {
			t.Errorf("the scheduled job ran %d times in %s, want 1 to %d", runs, passed, most)
		}
	}
}

// logLengths returns the length of each master's log.
func (k *crew) logLengths(t *testing.T) (all []int) {
	t.Helper()
	for _, m := range k.c.Masters {
		all = append(all, logLength(t, m))
	}
	return all
}

// count returns how often a text stands in the logs of all masters, after offsets.
func (k *crew) count(t *testing.T, after []int, text string) (n int) {
	t.Helper()
	for i, m := range k.c.Masters {
		all, err := os.ReadFile(m.path("log"))
		must(t, err)
		n += len(regexp.MustCompile(regexp.QuoteMeta(text)).FindAll(all[min(after[i], len(all)):], -1))
	}
	return n
}

// skews waits until a master's log tells that its clock is off.
func skews(t *testing.T, m *Master, off time.Duration) {
	t.Helper()
	var is time.Duration
	testnats.Eventually(t, func() bool {
		var err error
		is, err = m.Skew()
		must(t, err)
		return (is - off).Abs() < 10*time.Second
	}, func() string { return fmt.Sprintf("the log of %s is off by %s, want %s", m.Name, is, off) })
}

// serverSkews fails the test unless a server of NATS tells that its clock is off.
func serverSkews(t *testing.T, n *testnats.Node, off time.Duration) {
	t.Helper()
	if is := time.Until(n.Now(t)); (is - off).Abs() > 10*time.Second {
		t.Errorf("the clock of %s is off by %s, want %s", n.Name, is, off)
	}
}

// wrongLeader steps the clock of the leader.
func (k *crew) wrongLeader(t *testing.T) {
	leads := k.leader(t)
	for i, off := range []time.Duration{wrong, -wrong, 0} {
		must(t, leads.SetClock(off))
		skews(t, leads, off)
		k.wholeBatch(t, k.except(leads)[i%2], fmt.Sprint("leader ", i))
		k.token(t, leads, k.except(leads)[i%2])
		k.ticks(t)
	}
}

// wrongMember steps the clock of a member that does not lead, and starts it with a wrong clock.
func (k *crew) wrongMember(t *testing.T) {
	leads := k.leader(t)
	m := k.except(leads)[1]
	for i, off := range []time.Duration{wrong, -wrong, 0} {
		must(t, m.SetClock(off))
		if off == -wrong {
			must(t, m.Restart(t.Context()))
		}
		skews(t, m, off)
		k.wholeBatch(t, m, fmt.Sprint("member ", i))
		k.token(t, m, leads)
		k.token(t, leads, m)
		k.ticks(t)
	}
}

// wrongServer steps the clock of the server of NATS that leads the stream of orders, and starts it with
// a wrong clock.
func (k *crew) wrongServer(t *testing.T) {
	n := k.nats.Leader(t, ordersStream)
	for i, off := range []time.Duration{wrong, -wrong, 0} {
		n.SetClock(t, off)
		serverSkews(t, n, off)
		k.wholeBatch(t, k.c.Masters[i], fmt.Sprint("server ", i))
		k.token(t, k.c.Masters[i], k.c.Masters[(i+1)%3])
		k.ticks(t)
		if off == -wrong {
			n.Restart(t)
			k.nats.Wait(t)
			serverSkews(t, n, off)
			k.ticks(t)
		}
	}
}

// wrongHeir kills the leader while its clock is ahead: the next one must not wait for that time.
func (k *crew) wrongHeir(t *testing.T) {
	leads := k.leader(t)
	must(t, leads.SetClock(wrong))
	k.ticks(t)
	skews(t, leads, wrong)
	pid := leads.Pid()
	must(t, leads.Kill())
	gone(t, pid)
	if next := k.leader(t); next == leads {
		t.Errorf("%s was killed and leads", leads.Name)
	}
	k.ticks(t)
	must(t, leads.SetClock(0))
	must(t, leads.Restart(t.Context()))
}

// ticks waits until the scheduled job runs.
func (k *crew) ticks(t *testing.T) {
	t.Helper()
	logs := k.logLengths(t)
	testnats.Eventually(t, func() bool { return k.count(t, logs, "Running scheduled job: tick ") > 0 },
		func() string { return "the scheduled job does not run" })
}

// wholeBatch runs salt -b on a master, with an argument that no other job has, and fails the test
// unless each minion that is shown has run the job once, and no other one has.
func (k *crew) wholeBatch(t *testing.T, on *Master, argument string) {
	t.Helper()
	out, code, err := on.Run(t.Context(), "salt", "-b", strconv.Itoa(len(k.ids)/3+1), "--out=json", "--static",
		"m*", "test.echo", argument)
	must(t, err)
	shown := map[string]any{}
	if err := json.Unmarshal(out, &shown); err != nil || code != 0 || len(shown) < len(k.ids)/2 {
		t.Errorf("salt -b on %s ends with %d and %d of %d returns: %v: %.2000s", on.Name, code, len(shown),
			len(k.ids), err, out)
	}
	ids, err := jobsWith(t.Context(), on, argument)
	must(t, err)
	if len(ids) != 1 {
		t.Fatalf("jobs of the batch on %s: %v", on.Name, ids)
	}
	runs := runsOf(k.now.Load().History(), ids[0])
	for _, minion := range k.ids {
		// one that moves to another master at the beginning of the batch is not part of it
		if value, ok := shown[minion]; ok != (runs[minion] == 1) || ok && value != argument || runs[minion] > 1 {
			t.Errorf("%s ran the job of a batch on %s %d times, and salt shows %v, want %q", minion, on.Name,
				runs[minion], value, argument)
		}
	}
}

// token makes a token on a master and orders a job with it on another.
func (k *crew) token(t *testing.T, from, on *Master) {
	t.Helper()
	there, done, err := from.client(t.Context())
	must(t, err)
	defer done()
	token, err := there.MakeToken(t.Context(), data.NewMap("eauth", "sharedsecret", "username", "keeper",
		"password", "word"))
	must(t, err)
	here, closeHere, err := on.client(t.Context())
	must(t, err)
	defer closeHere()
	here.LogIn(data.NewMap("token", token))
	testnats.Eventually(t, func() bool { // tokens are good on all members within a second
		_, err = here.Publish(t.Context(), client.Request{Target: k.ids[0], Kind: "glob", Fun: "test.ping",
			Timeout: 5 * time.Second})
		return err == nil
	}, func() string { return fmt.Sprintf("a token of %s on %s: %v", from.Name, on.Name, err) })
}
