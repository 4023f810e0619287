package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	presences "github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/transport"
)

// presence knows which minions are connected to the publish port.
type presence struct {
	*presences.Index
	settings *settings
	now      func() time.Time
	started  time.Time // start of the master
	// called if a minion sends from two hosts in turn; may be nil
	onDuplicate func(id, host, other string)
	links       *syndicLinks // watches the connections, too; nil if there may be no syndics
	// knows the minions that are connected to other members of a cluster; nil if there are none
	others *elsewhere

	last    []string // connected at the last announcement of this master or of the leader
	version uint64   // version of the index that is in the file
	written bool     // the file was written
}

// newPresence starts watching a publish port, which must not serve yet. before has the minions that
// were connected to the last master, with their hosts.
func newPresence(
	port PublishPort, before map[string]string, s *settings, now func() time.Time,
) *presence {
	p := &presence{Index: presences.NewIndex(before, now), settings: s, now: now, started: now()}
	port.WatchPeers(p.watch)
	return p
}

// watch is a transport.PeerWatch.
func (p *presence) watch(was, is *transport.Peer) {
	p.Watch(was, is)
	if p.links != nil {
		p.links.watch(was, is)
	}
}

// lastConnected returns the minions that were connected when the last master with this cachedir
// wrote its file, with their hosts. An unreadable file is logged.
func lastConnected(cachedir string, log logrus.FieldLogger) map[string]string {
	hosts, err := presences.Last(cachedir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.WithError(err).Warn("read which minions were connected before the start")
	}
	return hosts
}

// note records the source of a proved request of a minion, and reports a minion that exists twice.
func (p *presence) note(id string, from net.Addr) {
	host := transport.HostOf(from)
	if other := p.Note(id, host); other != "" && p.onDuplicate != nil {
		p.onDuplicate(id, host, other)
	}
}

// trusts reports whether a command may be attributed to its minion: it is proved, or it comes from
// the host where the minion last proved itself, or the minion has not proved itself since the
// master started. Commands of version 3 are always proved. Minions of Salt 3006.0 to 3006.11 use
// version 2 and send proof with their events only, the first of which follows their first pillar
// request.
func (p *presence) trusts(c *channel.Command) bool {
	if c.Caller.Proved {
		return true
	}
	if c.Version >= channel.Version {
		return false
	}
	host, ok := p.Proved(c.Caller.ID)
	return !ok || host == transport.HostOf(c.Caller.Remote)
}

// proved reports whether a minion has proved itself since the master started, or is connected to
// another member of the cluster.
func (p *presence) proved(id string) bool {
	_, ok := p.Proved(id)
	return ok || p.others.has(id)
}

// Connected returns the sorted ids of the minions that are connected to this master, or to another
// member of its cluster. The list must not be changed.
func (p *presence) Connected() []string { return p.others.with(p.Index.Connected()) }

// Connections returns the same minions as Connected, with their connections, and the version of that
// set.
func (p *presence) Connections() (map[string]presences.Connection, uint64) {
	version := p.Version() // before the rest, which may be newer
	all, _ := p.Index.Connections()
	p.others.merge(all)
	return all, version
}

// Version returns a number that changes with the results of Connected and Connections.
func (p *presence) Version() uint64 { return p.Index.Version() + p.others.edition() }

// Absent returns the ids that are connected neither to this master nor to another member of its
// cluster, in the given order.
func (p *presence) Absent(ids []string) []string { return p.others.absent(p.Index.Absent(ids)) }

// returnTime is how long after its start the master waits for minions that were connected before.
const returnTime = 15 * time.Second

// returning returns the ids that are not connected yet but are expected soon, after a restart of
// the master.
func (p *presence) returning(ids []string) []string {
	if p.now().Sub(p.started).Abs() >= returnTime {
		return nil
	}
	return slices.DeleteFunc(p.Absent(ids), func(id string) bool { return !p.Before(id) })
}

// awaitReturn waits until those of ids that are expected back after a restart are connected, or
// until returnTime is over.
func (p *presence) awaitReturn(ctx context.Context, ids []string) error {
	look := time.NewTicker(returnInterval)
	defer look.Stop()
	for len(p.returning(ids)) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// returnInterval is how often awaitReturn checks.
const returnInterval = 250 * time.Millisecond

// gone returns the ids that are certainly not connected, in the given order. It returns none if
// there are connections that cannot be attributed to one minion.
func (p *presence) gone(ids []string) []string {
	if !p.Sure() {
		return nil
	}
	return p.Absent(ids)
}

// arrivalTime is how long the start event of a minion may be delayed until it is connected.
const arrivalTime = 2 * time.Second

// await waits until minion id, which announces its start, is connected, or arrivalTime is over.
// Programs that see the event may publish jobs at once, but the minion sends it over another
// connection than the one that receives jobs, and over tcp it does not learn when that one is
// active. If a minion announces several starts at once, only one of them waits.
func (p *presence) await(ctx context.Context, id string) {
	connected, done := p.Await(id)
	if done == nil {
		return
	}
	defer done()
	transport.Aside(ctx, func() {
		end := time.NewTimer(arrivalTime)
		defer end.Stop()
		select {
		case <-connected:
		case <-end.C:
		case <-ctx.Done():
		}
	})
}

// announce fires which minions are connected, and which came and went since the last call
// (salt/master.py, handle_presence).
func (p *presence) announce(bus *eventbus.Bus, log logrus.FieldLogger) {
	if !p.settings.config().PresenceEvents {
		return
	}
	now := p.Connected()
	came, went := without(now, p.last), without(p.last, now)
	p.last = now
	var err error
	if len(came)+len(went) > 0 {
		err = bus.Fire(eventbus.Tagify("presence", "change"),
			data.NewMap("new", data.Values(came), "lost", data.Values(went)))
	}
	if err := errors.Join(err, bus.Fire(eventbus.Tagify("presence", "present"),
		data.NewMap("present", data.Values(now)))); err != nil {
		log.WithError(err).Error("announce connected minions")
	}
}

// follow is what a member of a cluster that does not lead does instead of announce, so that its first
// announcement says what has changed since the leader's last one.
func (p *presence) follow(context.Context) error {
	if p.settings.config().PresenceEvents {
		p.last = p.Connected()
	}
	return nil
}

// without returns the elements of a that are not in b; both are sorted.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(id string) bool {
		_, found := slices.BinarySearch(b, id)
		return found
	})
}

// writeFile writes the presence file for other programs if it has changed.
func (p *presence) writeFile(_ context.Context) error {
	if p.written && p.Version() == p.version {
		return nil
	}
	all, version := p.Connections()
	if err := presences.Write(p.settings.config().CacheDir, all); err != nil {
		return fmt.Errorf("write presence file: %w", err)
	}
	p.version, p.written = version, true
	return nil
}
