//go:build linux

package testcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/test/testcluster/history"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/testnet"
)

// A parted is a crew of three hosts. Each has a member and a server of NATS; minions and orderers reach
// all hosts, whatever is cut between these.
type parted struct {
	*crew
	cut   testnet.Cut
	since time.Time // of the cut
	hosts []*testnet.Host
	ebb   bool // whether the islands are rejected

	mu    sync.Mutex
	words []word // of the present fault
}

// Keys that change while a member is cut off: on the member, on another, and on both.
const (
	north = "north"
	south = "south"
	both  = "both"
)

// islands are all of them.
var islands = []string{north, south, both}

// lease is the time of the leases.
func lease() time.Duration { return ofForm(5*time.Second, 10*time.Second) }

// newParted starts a cluster on three hosts.
func newParted(t *testing.T) *parted {
	t.Helper()
	p := &parted{hosts: testnet.Start(t, 3)}
	for _, h := range p.hosts {
		if !long() {
			h.Retries(t, 4) // a cut of some seconds ends connections as a long one does
		}
	}
	p.crew = &crew{nats: testnats.Start(t, testnats.Options{Nodes: 3, MaxFile: 64 << 30, Hosts: p.hosts}),
		pause: 2 * orderPause, wait: 2 * time.Second}
	p.now.Store(&history.Recorder{})
	option := Option("test", 3, p.nats.URLs()...)
	p.c = New(t, Options{Masters: 3, Config: bothVersions + "\ngather_job_timeout: 2", Hosts: p.hosts,
		Cluster: func(m *Master) string {
			return option(m) + fmt.Sprintf("  lease_seconds: %d\n", int(lease().Seconds()))
		}})
	key, err := crypto.GenerateKey(2048)
	must(t, err)
	for _, id := range islands {
		must(t, p.c.Accept(map[string]string{id: key.Public().PEM()}))
	}
	p.begin(t)
	return p
}

// others returns the hosts other than one.
func (p *parted) others(not *testnet.Host) []*testnet.Host {
	return slices.DeleteFunc(slices.Clone(p.hosts), func(h *testnet.Host) bool { return h == not })
}

// node returns the server of NATS on a host.
func (p *parted) node(h *testnet.Host) *testnats.Node { return p.nats.Nodes[slices.Index(p.hosts, h)] }

// routes returns the ports on which servers of NATS talk with each other.
func (p *parted) routes() (ports []int) {
	for _, n := range p.nats.Nodes {
		ports = append(ports, n.Route())
	}
	return ports
}

// status returns what cluster.status says on a member.
func status(t *testing.T, m *Master) *data.Map {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effect)
	defer cancel()
	answer, err := control(ctx, m, "runner", "cluster.status")
	must(t, err)
	of, ok := answer.(*data.Map)
	if !ok {
		t.Fatalf("cluster.status on %s: %s", m.Name, data.Repr(answer))
	}
	return of
}

// leads waits until one master leads, by the logs of all, and returns it with marks that lie after it began
// and before it ceases.
func (p *parted) leads(t *testing.T) (*Master, marks) {
	t.Helper()
	p.quorum(t)
	var leads []*Master
	var since marks
	testnats.Eventually(t, func() bool {
		leads, since = nil, marks{}
		for _, m := range p.c.Masters {
			log := logAfter(t, m, 0)
			since[m] = len(log)
			if strings.LastIndex(log, logLeads) > strings.LastIndex(log, logCeased) {
				leads = append(leads, m)
			}
		}
		return len(leads) == 1
	}, func() string { return fmt.Sprintf("%d masters lead by their logs", len(leads)) })
	return leads[0], since
}

// linked returns the server that a member uses.
func (p *parted) linked(t *testing.T, m *Master) *testnats.Node {
	t.Helper()
	return p.named(t, "server of "+m.Name, func() string {
		of, _ := status(t, m).Value("nats").(*data.Map)
		return of.Text("server")
	})
}

// orderLeader returns the server that leads the stream of orders, other than one, which may be nil.
func (p *parted) orderLeader(t *testing.T, not *testnats.Node) *testnats.Node {
	t.Helper()
	return p.named(t, "leader of the stream of orders", func() string {
		for _, m := range p.c.Masters {
			of, _ := status(t, m).Value("nats").(*data.Map)
			replicas, _ := of.Value("replicas").(*data.Map)
			for name, state := range replicas.All() {
				if state == "leader" && (not == nil || name != not.Name) {
					return data.Str(name)
				}
			}
		}
		return ""
	})
}

// named waits until a function returns the name of a server, and returns this server.
func (p *parted) named(t *testing.T, what string, ask func() string) *testnats.Node {
	t.Helper()
	var name string
	at := -1
	testnats.Eventually(t, func() bool {
		name = ask()
		at = slices.IndexFunc(p.nats.Nodes, func(n *testnats.Node) bool { return n.Name == name })
		return at >= 0
	}, func() string { return fmt.Sprintf("the %s is %q", what, name) })
	return p.nats.Nodes[at]
}

// host returns the host of a server.
func (p *parted) host(n *testnats.Node) *testnet.Host { return p.hosts[slices.Index(p.nats.Nodes, n)] }

// marks are the lengths of the logs of masters at a time.
type marks map[*Master]int

func (p *parted) marks(t *testing.T) marks {
	t.Helper()
	all := marks{}
	for _, m := range p.c.Masters {
		all[m] = logLength(t, m)
	}
	return all
}

// during cuts something while orders of all kinds are given, and judges what was observed after all is
// healed. acted waits until the fault shows; what it does not show after a minute fails the test.
func (p *parted) during(t *testing.T, drops []testnet.Drop, acted func(t *testing.T, since marks)) {
	t.Helper()
	p.under(t, func(t *testing.T) {
		p.speaking(t, func() {
			rest(t, time.Second)
			since := p.marks(t)
			p.begins(t, drops)
			acted(t, since)
			p.heal(t)
		})
	})
	p.ended(t)
}

// begins begins to drop packets.
func (p *parted) begins(t *testing.T, drops []testnet.Drop) {
	t.Helper()
	p.cut.Start(t, drops...)
	p.since = time.Now()
}

// agreement is how long members may see keys differently after they have a quorum again: until a follower
// notices that its consumer is gone, and has made another.
const agreement = 30 * time.Second

// heal ends the cut, waits until each member has a quorum and all see the same keys, and watches that this
// remains so.
func (p *parted) heal(t *testing.T) {
	t.Helper()
	met := 0
	var texts []string
	for i, drop := range p.cut.Drops() {
		n := p.cut.Dropped(t)[i]
		met += n
		texts = append(texts, fmt.Sprintf("%d %s", n, drop))
	}
	t.Logf("packets dropped: %s", strings.Join(texts, ", "))
	if met == 0 {
		t.Error("the run is void: no packet was dropped")
	}
	p.cut.Heal(t)
	begun := time.Now()
	p.quorum(t)
	whole := time.Since(begun)
	p.sameKeys(t)
	same := time.Since(begun) - whole
	if same > agreement {
		t.Errorf("members saw keys differently for %s after each had a quorum", same)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	must(t, p.c.WatchKeys(ctx, p.now.Load(), 50*time.Millisecond, slices.Concat(islands, p.spare)))
	t.Logf("the cut took %.1f s; each member had a quorum %.1f s after it healed, the same keys %.1f s later",
		begun.Sub(p.since).Seconds(), whole.Seconds(), same.Seconds())
}

// sameKeys waits until all members see the same keys.
func (p *parted) sameKeys(t *testing.T) {
	t.Helper()
	var seen []map[string]string
	testnats.Eventually(t, func() bool {
		seen = nil
		for _, m := range p.c.Masters {
			states, err := m.Keys(t.Context())
			must(t, err)
			seen = append(seen, states)
		}
		return maps.Equal(seen[0], seen[1]) && maps.Equal(seen[0], seen[2])
	}, func() string {
		text := "members see keys differently:"
		for i, m := range p.c.Masters {
			for _, id := range islands {
				text += fmt.Sprintf(" %s on %s %s;", id, m.Name, seen[i][id])
			}
		}
		return text
	})
}

// changeIslands changes keys on a member that is cut off and on another, which do not learn of each other.
func (p *parted) changeIslands(t *testing.T, cut, other *Master) {
	t.Helper()
	before, after := "accepted", "rejected"
	if p.ebb {
		before, after = after, before
	}
	p.ebb = !p.ebb
	change := func(m *Master, id string, away bool) {
		fun, from := "key.accept", "include_rejected"
		if p.ebb {
			fun, from = "key.reject", "include_accepted"
		}
		args := data.NewMap(from, true)
		if away {
			fun, args = "key.delete", nil
		}
		l, done, err := m.client(t.Context())
		must(t, err)
		defer done()
		answer, err := l.Control(t.Context(), "wheel", fun, []any{id}, args)
		must(t, err)
		if answer.Value("success") != true {
			t.Errorf("%s of %s on %s: %s", fun, id, m.Name, data.Repr(answer))
		}
	}
	change(cut, north, false)
	change(other, south, false)
	change(cut, both, false)
	change(other, both, p.ebb) // the stricter wins: rejected before deleted
	for _, at := range []struct {
		m              *Master
		changed, stays string
	}{{cut, north, south}, {other, south, north}} {
		states, err := at.m.Keys(t.Context())
		must(t, err)
		if states[at.changed] != after || states[at.stays] != before {
			t.Errorf("keys on %s, between which and others is a cut: %v", at.m.Name, states)
		}
	}
}

// sameIslands fails the test unless each member has the last change of each island.
func (p *parted) sameIslands(t *testing.T) {
	t.Helper()
	want := "accepted"
	if p.ebb {
		want = "rejected"
	}
	for _, m := range p.c.Masters {
		states, err := m.Keys(t.Context())
		must(t, err)
		for _, id := range islands {
			if states[id] != want {
				t.Errorf("the key of %s is %s on %s, want %s", id, states[id], m.Name, want)
			}
		}
	}
}

// quorum waits until each member has a quorum.
func (p *parted) quorum(t *testing.T) {
	t.Helper()
	for _, m := range p.c.Masters {
		var of *data.Map
		testnats.Eventually(t, func() bool {
			of = status(t, m)
			return of.Value("quorum") == true
		}, func() string { return fmt.Sprintf("%s has no quorum: %s", m.Name, data.Repr(of)) })
	}
}

// A word is how a run of the program salt ended.
type word struct {
	member, argument string
	kind             string // whole, told, refused, unknown, late, or what is wrong
}

// speaking runs the program salt on each member again and again while do runs.
func (p *parted) speaking(t *testing.T, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var speakers errgroup.Group
	defer func() {
		stop()
		must(t, speakers.Wait())
	}()
	for _, m := range p.c.Masters {
		speakers.Go(func() error {
			for i := 0; clock.Sleep(ctx, time.Second) == nil; i++ {
				argument := fmt.Sprintf("word %d.%d of %s", p.turn, i, m.Name)
				kind := p.speak(ctx, m, argument)
				p.mu.Lock()
				p.words = append(p.words, word{m.Name, argument, kind})
				p.mu.Unlock()
			}
			return nil
		})
	}
	do()
}

// speak runs salt once and returns how it ended.
func (p *parted) speak(ctx context.Context, m *Master, argument string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	out, said, code, err := m.Speak(ctx, "salt", "-t", "3", "--out=json", "m*", "test.echo", argument)
	if err != nil {
		return err.Error()
	}
	wrong := fmt.Sprintf("exit code %d, %.1000s %.1000s", code, out, said)
	const refusal = "ERROR: The job was not published since it cannot be recorded: "
	if reason, ok := strings.CutPrefix(string(said), refusal); ok {
		if strings.TrimSpace(reason) == "" || code == 0 || len(strings.TrimSpace(string(out))) != 0 {
			return wrong
		}
		return "refused"
	}
	if strings.HasPrefix(string(out), `"it is unknown whether job `) && code != 0 {
		return "unknown"
	}
	if strings.Contains(string(out), client.ErrTimeout.Error()) && code != 0 {
		return "late"
	}
	shown, err := returnsOf(out)
	if err != nil {
		return wrong
	}
	whole := 0
	for _, id := range p.ids {
		switch text, _ := shown[id].(string); {
		case text == argument:
			whole++
		case !strings.HasPrefix(text, "Minion did not return"):
			return fmt.Sprintf("%s: %q; %s", id, text, wrong)
		}
	}
	if len(shown) != len(p.ids) || (code == 0) != (whole == len(p.ids)) {
		return wrong
	}
	if whole < len(p.ids) {
		return "told"
	}
	return "whole"
}

// returnsOf reads what salt prints with --out=json: a map for each return.
func returnsOf(out []byte) (map[string]any, error) {
	shown := map[string]any{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		one := map[string]any{}
		switch err := d.Decode(&one); {
		case errors.Is(err, io.EOF):
			return shown, nil
		case err != nil:
			return nil, err
		}
		for id, value := range one {
			if _, twice := shown[id]; twice {
				return nil, fmt.Errorf("salt shows %s twice", id)
			}
			shown[id] = value
		}
	}
}

// ended fails the test unless each order and each run of salt ended with a true word.
func (p *parted) ended(t *testing.T) {
	t.Helper()
	h := p.now.Load().History()
	refusals, late := map[string]int{}, 0
	for _, o := range h.Orders {
		if o.Lost == client.ErrTimeout.Error() {
			late++
		} else if o.Lost != "" && !strings.HasPrefix(o.Lost, "it is unknown whether job ") {
			t.Errorf("an order on %s at %s ended after %s with %q", o.Member, o.Begin.Format("15:04:05.000"),
				o.End.Sub(o.Begin), o.Lost)
		}
		if o.Refused != "" {
			reason, _, _ := strings.Cut(o.Refused, " the last heartbeat was acknowledged")
			refusals[o.Member+": "+reason]++
		}
	}
	for text, n := range refusals {
		t.Logf("%d refusals of %s", n, text)
	}
	p.mu.Lock()
	words := p.words
	p.words = nil
	p.mu.Unlock()
	kinds := map[string]int{}
	for _, w := range words {
		switch w.kind {
		case "late":
			late++
		case "whole", "told", "unknown":
		case "refused":
			if jobs, err := jobsWith(t.Context(), p.c.Masters[0], w.argument); err != nil || len(jobs) != 0 {
				t.Errorf("salt on %s said that %q was not published: jobs %v, %v", w.member, w.argument, jobs, err)
			}
		default:
			t.Errorf("salt %q on %s: %s", w.argument, w.member, w.kind)
			continue
		}
		kinds[w.member+" "+w.kind]++
	}
	t.Logf("%d runs of salt: %v", len(words), kinds)
	// That no answer came is a true word. On a busy machine there are many; that replies come in time is tested
	// by master.TestClientsGetAReplyBeforeTheyGiveUp.
	if late > (len(words)+len(h.Orders))/2 {
		t.Errorf("%d of %d orders and %d runs of salt had no answer of the master in time", late, len(h.Orders),
			len(words))
	}
	if len(words) == 0 {
		t.Error("the run is void: salt did not run")
	}
}
