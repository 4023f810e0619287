//go:build linux

package testcluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/testnet"
)

// What masters log.
const (
	logLost   = "the connection to NATS is lost"
	logNone   = "the cluster has no quorum for this member"
	logLeads  = "This master leads the cluster from now on"
	logCeased = "This master no longer leads the cluster"
)

// TestClusterPartitions cuts the network between three hosts in turn, in different ways, of which the short
// form has three. Minions reach each host all the time.
func TestClusterPartitions(t *testing.T) {
	need.Time(t, "it runs a cluster")
	if !testnet.Need(t) {
		return
	}
	p := newParted(t)
	t.Run("the leader in a batch from NATS", p.cutInBatch)
	t.Run("a host from the others", p.cutHost)
	t.Run("one direction from NATS to the leader", func(t *testing.T) { p.deafMember(t, false) })
	if !long() {
		return
	}
	t.Run("a node from the others", p.cutNode)
	t.Run("members from NATS", p.cutMembers)
	t.Run("one direction from a node to the others", func(t *testing.T) { p.deafNode(t, true) })
	t.Run("one direction from the others to a node", func(t *testing.T) { p.deafNode(t, false) })
	t.Run("one direction from the leader to NATS", func(t *testing.T) { p.deafMember(t, true) })
	for _, h := range p.hosts {
		t.Run(h.Name+" from the others", func(t *testing.T) { p.cutOff(t, h) })
	}
}

// hold is how long a cut is there at least.
func hold() time.Duration { return ofForm(2*time.Second, 25*time.Second) }

// cutMembers cuts all members but the leader from all servers, and changes keys on both sides.
func (p *parted) cutMembers(t *testing.T) {
	leads, _ := p.leads(t)
	cut := p.except(leads)
	p.during(t, slices.Concat(p.fromNATS(cut[0]), p.fromNATS(cut[1])), func(t *testing.T, since marks) {
		for _, m := range cut {
			logged(t, m, since[m], logLost)
			logged(t, m, since[m], logNone)
		}
		p.changeIslands(t, cut[0], leads)
		rest(t, hold())
	})
	p.sameIslands(t)
}

// fromNATS returns the drops that cut a member from all servers.
func (p *parted) fromNATS(m *Master) (drops []testnet.Drop) {
	for _, h := range p.hosts {
		drops = append(drops, testnet.Both(m.Host, h, p.node(h).Port())...)
	}
	return drops
}

// cutInBatch cuts the leader from all servers in the middle of a batch that was ordered on another member.
func (p *parted) cutInBatch(t *testing.T) {
	leads, since := p.leads(t)
	on := p.except(leads)[0]
	var b *batch
	p.under(t, func(t *testing.T) {
		p.speaking(t, func() {
			b = p.runBatch(t, on, 5, 1.25, func(begun int) {
				p.begins(t, p.fromNATS(leads))
				t.Logf("%s, which led, was cut off after %d of %d minions had begun", leads.Name, begun, len(p.ids))
				logged(t, leads, since[leads], logCeased)
				p.succeeds(t, leads, since)
				rest(t, hold())
				p.heal(t)
			})
		})
	})
	p.ended(t)
	runs := runsOf(p.now.Load().History(), b.id)
	silent := 0 // minions of the leader get no steps of the next, and their returns wait on its disk
	for _, minion := range p.ids {
		shown := data.Repr(b.shown[minion])
		switch {
		case runs[minion] > 1:
			t.Errorf("%s ran the batch's job %d times", minion, runs[minion])
		case shown == "True" && runs[minion] == 0:
			t.Errorf("%s did not run the batch's job, and salt says %s", minion, shown)
		case shown != "True":
			silent++
		}
	}
	t.Logf("salt ended with %d; %d of %d minions did not return in time", b.code, silent, len(p.ids))
	if silent > len(p.ids)/2+b.size {
		t.Errorf("%d of %d minions did not return: %.2000s", silent, len(p.ids), b.out)
	}
	if all, err := jobsWith(t.Context(), on, b.argument); err != nil || len(all) != 1 {
		t.Errorf("jobs of the batch: %v, %v", all, err)
	}
}

// succeeds waits until a master other than one leads, by its log.
func (p *parted) succeeds(t *testing.T, not *Master, since marks) {
	t.Helper()
	var next string
	testnats.Eventually(t, func() bool {
		for _, m := range p.except(not) {
			if strings.Contains(logAfter(t, m, since[m]), logLeads) {
				next = m.Name
			}
		}
		return next != ""
	}, func() string { return "nobody leads instead of " + not.Name })
	t.Logf("%s leads instead of %s", next, not.Name)
}

// cutNode cuts the server that the leader uses from the other servers, and not from members.
func (p *parted) cutNode(t *testing.T) {
	leads, _ := p.leads(t)
	n := p.linked(t, leads)
	var drops []testnet.Drop
	for _, h := range p.others(p.host(n)) {
		drops = append(drops, testnet.Both(p.host(n), h, p.routes()...)...)
	}
	p.during(t, drops, func(t *testing.T, since marks) {
		t.Logf("%s, which leads, uses %s", leads.Name, n.Name)
		headless(t, n)
		p.quorum(t) // on another server
		if now := p.linked(t, leads); now == n {
			t.Errorf("%s uses %s, which is cut off", leads.Name, n.Name)
		}
		rest(t, hold())
	})
}

// headless waits until a server knows no leader of the meta group.
func headless(t *testing.T, n *testnats.Node) {
	t.Helper()
	leader := "?"
	testnats.Eventually(t, func() bool {
		leader = n.MetaLeader(t)
		return leader == ""
	}, func() string { return n.Name + " is cut off and knows the leader " + leader })
}

// fromHosts returns the drops that cut a host from the others.
func (p *parted) fromHosts(not *testnet.Host) (drops []testnet.Drop) {
	for _, h := range p.others(not) {
		drops = append(drops, testnet.Both(not, h)...)
	}
	return drops
}

// cutOff cuts a host from the others, whether its member leads or not.
func (p *parted) cutOff(t *testing.T, h *testnet.Host) {
	m := p.c.Masters[slices.Index(p.hosts, h)]
	p.during(t, p.fromHosts(h), func(t *testing.T, since marks) {
		logged(t, m, since[m], logNone)
		headless(t, p.node(h))
		p.changeIslands(t, m, p.except(m)[0])
		rest(t, hold())
	})
	p.sameIslands(t)
}

// cutHost cuts the host of the leader from the others.
func (p *parted) cutHost(t *testing.T) {
	leads, led := p.leads(t)
	p.during(t, p.fromHosts(leads.Host), func(t *testing.T, since marks) {
		logged(t, leads, since[leads], logNone)
		logged(t, leads, led[leads], logCeased)
		p.succeeds(t, leads, led)
		headless(t, p.node(leads.Host))
		p.changeIslands(t, leads, p.except(leads)[0])
		rest(t, hold())
	})
	p.sameIslands(t)
}

// deafNode drops what the server that leads the stream of orders sends to the others, or the opposite.
func (p *parted) deafNode(t *testing.T, away bool) {
	n := p.orderLeader(t, nil)
	var drops []testnet.Drop
	for _, h := range p.others(p.host(n)) {
		drop := testnet.Drop{From: h, To: p.host(n), Ports: p.routes()}
		if away {
			drop.From, drop.To = drop.To, drop.From
		}
		drops = append(drops, drop)
	}
	p.during(t, drops, func(t *testing.T, since marks) {
		t.Logf("%s leads the stream of orders instead of %s", p.orderLeader(t, n).Name, n.Name)
		rest(t, hold())
	})
}

// deafMember drops what the leader sends to servers, or what they send to it.
func (p *parted) deafMember(t *testing.T, away bool) {
	leads, led := p.leads(t)
	drops := slices.DeleteFunc(p.fromNATS(leads), func(d testnet.Drop) bool {
		return d.From != d.To && (d.From == leads.Host) != away
	})
	p.during(t, drops, func(t *testing.T, since marks) {
		logged(t, leads, since[leads], logLost)
		logged(t, leads, led[leads], logCeased)
		p.succeeds(t, leads, led)
		rest(t, hold())
	})
}
