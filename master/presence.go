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

// presence knows which minions hold a connection to the publish port, as the index of package presence does.
type presence struct {
	index    *presences.Index
	settings *settings
	now      func() time.Time
	begun    time.Time                    // when the master started
	twice    func(id, host, other string) // told of minions that are at two hosts; nil is not told

	last    []string // connected at the last announcement
	written uint64   // the index's version that the file tells
	told    bool     // the file was written
}

// newPresence makes the part of a port, which does not serve yet.
func newPresence(port PublishPort, before map[string]string, s *settings, now func() time.Time) *presence {
	p := &presence{index: presences.NewIndex(before, now), settings: s, now: now, begun: now()}
	port.WatchPeers(p.index.Watch)
	return p
}

// earlier returns who was connected when the last master with this cachedir wrote its file. What is wrong with the file
// costs what it says alone.
func earlier(cachedir string, log logrus.FieldLogger) map[string]string {
	hosts, err := presences.Last(cachedir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.WithError(err).Warn("which minions were connected before the start cannot be read")
	}
	return hosts
}

// note remembers where a proved request of minion id came from, and tells when there are two such minions.
func (p *presence) note(id string, from net.Addr) {
	host := transport.HostOf(from)
	if other := p.index.Note(id, host); other != "" && p.twice != nil {
		p.twice(id, host, other)
	}
}

// host returns from where minion id was last heard, "" where it was not.
func (p *presence) host(id string) string { return p.index.Host(id) }

// cameFrom reports whether the last proved request of minion id came from the host of an address.
func (p *presence) cameFrom(id string, from net.Addr) bool {
	host, ok := p.index.Proved(id)
	return ok && host == transport.HostOf(from)
}

// believes reports whether a command may be taken as what its minion says: it was proved, or came from the host where
// the minion last proved itself, or the minion has not proved itself at all since the master was started. Commands of
// version 3 are proved always. Minions of Salt 3006.0 to 3006.11 speak version 2 and send proof with their events alone,
// the first of which follows their first request for pillar.
func (p *presence) believes(c *channel.Command) bool {
	if c.Caller.Proved {
		return true
	}
	if c.Version >= channel.Version {
		return false
	}
	host, ok := p.index.Proved(c.Caller.ID)
	return !ok || host == transport.HostOf(c.Caller.Remote)
}

// prune drops the minions that keep does not name.
func (p *presence) prune(keep func(id string) bool) { p.index.Forget(keep) }

// connected returns the ids of the minions that are connected, sorted. The list must not be changed.
func (p *presence) connected() []string { return p.index.Connected() }

// count returns the number of minions that are connected.
func (p *presence) count() int { return p.index.Count() }

// proved reports whether a minion has proved itself since the master's start.
func (p *presence) proved(id string) bool {
	_, ok := p.index.Proved(id)
	return ok
}

// strangers reports whether there are connections that are nobody's, as far as is known.
func (p *presence) strangers() bool { return p.index.Strangers() }

// absent returns those of ids that are not connected, in their order.
func (p *presence) absent(ids []string) []string { return p.index.Absent(ids) }

// returnTime is for how long after its start the master expects the minions back that were connected to the one before.
const returnTime = 15 * time.Second

// returning returns those of ids that are not connected yet, and are expected any moment after a restart of the master.
func (p *presence) returning(ids []string) []string {
	if p.now().Sub(p.begun).Abs() >= returnTime {
		return nil
	}
	return slices.DeleteFunc(p.absent(ids), func(id string) bool { return !p.index.Before(id) })
}

// awaitReturn waits until those of ids that are expected back after a restart of the master are connected, or their time is over.
func (p *presence) awaitReturn(ctx context.Context, ids []string) error {
	look := time.NewTicker(returnLook)
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

// returnLook is how often who is expected back is looked for.
const returnLook = 250 * time.Millisecond

// gone returns those of ids that surely have no connection, in their order: none where some connection is nobody's, or may be that of one
// of several minions at its address.
func (p *presence) gone(ids []string) []string {
	if !p.index.Sure() {
		return nil
	}
	return p.absent(ids)
}

// arrivalTime is how long the announcement of a minion's start may wait for its connection.
const arrivalTime = 2 * time.Second

// await returns when minion id, which announces its start, is connected, and after a moment anyway. Who hears of the start may
// give orders at once, but the minion sends it by another connection than the one that the orders come by, and over tcp
// nothing tells it when that is in use. Of several starts of a minion at once one waits.
func (p *presence) await(ctx context.Context, id string) {
	connected, done := p.index.Await(id)
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

// announce fires who is connected, and who came and went since the last time (salt/master.py, handle_presence).
func (p *presence) announce(bus *eventbus.Bus, log logrus.FieldLogger) {
	if !p.settings.now().PresenceEvents {
		return
	}
	now := p.connected()
	came, went := without(now, p.last), without(p.last, now)
	p.last = now
	var err error
	if len(came)+len(went) > 0 {
		err = bus.Fire(eventbus.Tagify("presence", "change"), data.NewMap("new", data.Values(came), "lost", data.Values(went)))
	}
	if err := errors.Join(err, bus.Fire(eventbus.Tagify("presence", "present"), data.NewMap("present", data.Values(now)))); err != nil {
		log.WithError(err).Error("announce who is connected")
	}
}

// without returns what of a is not in b; both are sorted.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(id string) bool {
		_, found := slices.BinarySearch(b, id)
		return found
	})
}

// writeFile writes the file that other programs read, when it would say something else than before.
func (p *presence) writeFile(_ context.Context) error {
	if p.told && p.index.Version() == p.written {
		return nil
	}
	hosts, version := p.index.Hosts()
	if err := presences.Write(p.settings.now().CacheDir, hosts); err != nil {
		return fmt.Errorf("presence: %w", err)
	}
	p.written, p.told = version, true
	return nil
}
