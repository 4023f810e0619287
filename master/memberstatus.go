package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/clock"
	runnercluster "github.com/brineproject/brine/runners/cluster"
)

const (
	lookPause = 5 * time.Second         // between two looks at NATS, for metrics
	lookTime  = 2500 * time.Millisecond // how long one may take
)

// A lookout keeps what NATS told last about the cluster. It is safe for concurrent use.
type lookout struct {
	mu       sync.Mutex
	leader   string
	replicas []cluster.Replica
	orders   uint64 // the ends of the streams
	returns  uint64
	at       time.Time // when all were told last
}

// view returns what was told last.
func (l *lookout) view() (leader string, replicas []cluster.Replica, orders, returns uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader, l.replicas, l.orders, l.returns, l.at
}

// lookAlways asks NATS again and again until ctx ends.
func (c *member) lookAlways(ctx context.Context) error {
	for {
		if c.c.Quorum() == nil {
			c.look(ctx)
		}
		if err := clock.Sleep(ctx, lookPause); err != nil {
			return err
		}
	}
}

// look asks NATS once. What does not answer in time stays as it was told before.
func (c *member) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	done := make(chan struct{})
	go func() { // the client of NATS does not heed ctx while it connects
		defer cancel()
		defer close(done)
		c.ask(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ask does the work of look.
func (c *member) ask(ctx context.Context) {
	var leader string
	var replicas []cluster.Replica
	var orders, returns uint64
	var errs [4]error
	var work sync.WaitGroup
	work.Go(func() { leader, errs[0] = c.c.Leases().Holder(ctx, leaseName) })
	work.Go(func() { replicas, errs[1] = c.c.Replicas(ctx) })
	work.Go(func() { orders, errs[2] = c.c.Publications().Last(ctx) })
	work.Go(func() { returns, errs[3] = c.c.Returns().Last(ctx) })
	work.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		c.log.WithError(err).Debug("look at the cluster")
		return
	}
	c.lookout.mu.Lock()
	defer c.lookout.mu.Unlock()
	c.lookout.leader, c.lookout.replicas, c.lookout.orders, c.lookout.returns = leader, replicas, orders, returns
	c.lookout.at = c.now()
}

// Status implements runnercluster.Member.
func (c *member) Status(ctx context.Context) *runnercluster.Status {
	if c.c.Quorum() == nil {
		c.look(ctx)
	}
	quorum := c.c.Quorum()
	link := c.c.Connection()
	leader, replicas, _, _, at := c.lookout.view()
	s := &runnercluster.Status{Name: c.c.Name(), Member: c.id, Quorum: quorum == nil, Since: c.c.Since(),
		Leader: leader, Members: c.peers(), At: at, Spooled: c.spool.Len(),
		OrdersBehind: c.ordersBehind(), ReturnsBehind: c.returnsBehind(),
		NATS: runnercluster.NATS{Address: link.Address, Server: link.Server, Version: link.Version,
			Wanted: c.c.Wanted(), Replicas: shownReplicas(replicas)}}
	if quorum != nil {
		s.Why, s.Leader, s.NATS.Replicas = quorum.Error(), "", nil
	}
	s.KeyConflicts, s.KeysWaiting = c.files.Status()
	s.UnknownKeys = c.unknownKeys()
	return s
}

// unknownKeys tells what this member could not read since its start.
func (c *member) unknownKeys() []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, k := range c.c.UnknownKeys() {
		all = append(all, k.String())
	}
	return all
}

// leftOut counts what this member could not read since its start.
func (c *member) leftOut() (n uint64) {
	for _, k := range c.c.UnknownKeys() {
		n += k.Entries
	}
	return n
}

func shownReplicas(all []cluster.Replica) []runnercluster.Replica {
	var shown []runnercluster.Replica
	for _, r := range all {
		state := "current"
		switch {
		case r.Leader:
			state = "leader"
		case r.Offline:
			state = "offline"
		case r.Behind > 0:
			state = fmt.Sprintf("%d entries behind", r.Behind)
		}
		shown = append(shown, runnercluster.Replica{Server: r.Server, State: state})
	}
	return shown
}

// ordersBehind returns how many entries of the stream of orders this member has not carried out yet.
func (c *member) ordersBehind() uint64 {
	_, _, last, _, _ := c.lookout.view()
	return behind(last, c.orders.done)
}

// returnsBehind returns the same for the stream of returns.
func (c *member) returnsBehind() uint64 {
	_, _, _, last, _ := c.lookout.view()
	return behind(last, c.returns.done)
}

func behind(last uint64, done *position) uint64 {
	if at := done.now(); at < last {
		return last - at
	}
	return 0
}

// peers returns all members, sorted by id.
func (c *member) peers() []runnercluster.Peer {
	entries, signs, now := c.roster.all(), c.others.signs(), c.now()
	for id := range signs {
		if _, ok := entries[id]; !ok {
			entries[id] = rosterEntry{}
		}
	}
	if _, ok := entries[c.id]; !ok {
		entries[c.id] = c.roster.own
	}
	var all []runnercluster.Peer
	for id, e := range entries {
		p := runnercluster.Peer{ID: id, Version: e.Version, Since: timeOf(e.Since), Seen: timeOf(e.Seen)}
		sign, heard := signs[id]
		if heard && sign.heard.After(p.Seen) {
			p.Seen = sign.heard
		}
		switch {
		case id == c.id:
			p.State, p.Seen, p.Minions = runnercluster.Up, now, len(c.bridge.index.Connected())
		case e.Stopped && sign.heard.Sub(e.learned) <= memberSilence:
			p.State = runnercluster.Stopped
		case heard && now.Sub(sign.heard).Abs() <= memberSilence:
			p.State, p.Minions = runnercluster.Up, sign.minions
		default:
			p.State = runnercluster.Silent
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b runnercluster.Peer) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func timeOf(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// Forget implements runnercluster.Member.
func (c *member) Forget(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	var ids []string
	for _, p := range c.peers() {
		switch ids = append(ids, p.ID); {
		case p.ID != id:
		case id == c.id:
			return fmt.Errorf("%s is this master itself: salt-run cluster.leave, without member, makes it leave", id)
		case p.State == runnercluster.Up:
			return fmt.Errorf("member %s still shows signs of life: stop salt-master on it first", id)
		default:
			if err := c.quorum(); err != nil {
				return fmt.Errorf("member %s cannot be removed now: %w", id, err)
			}
			if err := c.roster.remove(ctx, id); err != nil {
				return fmt.Errorf("remove member %s: %w", id, err)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no member %s; the members are %s", id, strings.Join(ids, ", "))
}

// resealTime is how long sealing anew may take.
const resealTime = 5 * time.Minute

// Reseal implements runnercluster.Member.
func (c *member) Reseal(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, resealTime)
	defer cancel()
	if err := c.quorum(); err != nil {
		return 0, err
	}
	return c.c.Reseal(ctx)
}
