//go:build linux

package cluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
	"github.com/brineproject/brine/internal/test/testnet"
)

// TestMemberLeavesAServerThatIsCutOff cuts the server that a member uses from the other servers. The
// member reaches all of them.
func TestMemberLeavesAServerThatIsCutOff(t *testing.T) {
	need.Time(t, "it waits for elections")
	if !testnet.Need(t) {
		return
	}
	hosts := testnet.Start(t, 3)
	s := newSite(t, testnats.Options{Nodes: 3, Hosts: hosts})
	c := s.join(t, "a")
	server := c.Connection().Server
	at := slices.IndexFunc(s.servers.Nodes, func(n *testnats.Node) bool { return n.Name == server })
	var drops []testnet.Drop
	for i, h := range hosts {
		if i != at {
			drops = append(drops, testnet.Both(hosts[at], h)...)
		}
	}
	var cut testnet.Cut
	cut.Start(t, drops...)
	testnats.Eventually(t, func() bool { return c.Quorum() != nil },
		func() string { return "a member of a server that is cut off has a quorum" })
	testnats.Eventually(t, func() bool { return c.Quorum() == nil && c.Connection().Server != server },
		func() string { return "the member stays at " + server + " without a quorum" })
	t.Logf("the member went from %s to %s; packets dropped: %d", server, c.Connection().Server, cut.Heal(t))
}

// underWay is a JetStream that says of each message that it is under way, until a time.
type underWay struct {
	jetstream.JetStream
	until time.Time
}

func (u underWay) PublishMsg(
	ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt,
) (*jetstream.PubAck, error) {
	if time.Now().Before(u.until) {
		return &jetstream.PubAck{Duplicate: true}, nil
	}
	return u.JetStream.PublishMsg(ctx, m, o...)
}

// TestReturnThatStaysUnderWay has a server say that a return is under way, which was lost. It is stored
// under another id; a publication is not, as it may be there only once.
func TestReturnThatStaysUnderWay(t *testing.T) {
	c := one(t).join(t, "a")
	c.js = underWay{c.js, time.Now().Add(2 * underWayTime)}
	r := c.Returns()
	_, err := r.Add(patiently(t), []byte("x"))
	must(t, err)
	c.js = underWay{c.js.(underWay).JetStream, time.Now().Add(2 * underWayTime)}
	_, _, err = c.Publications().Publish(patiently(t), "job", []byte("x"))
	must(t, err)
	for what, another := range map[string]bool{forReturns: true, forPublications: false} {
		m, err := c.last(patiently(t), c.name(what), c.subject(what))
		must(t, err)
		id := m.Header.Get(jetstream.MsgIDHeader)
		if first, _, ok := strings.Cut(id, "."); first == "" || ok != another {
			t.Errorf("the stream of %s has a message of id %q; want another id: %t", what, id, another)
		}
	}
}
