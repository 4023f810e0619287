package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/version"
)

const (
	beat      = time.Second     // between two heartbeats
	lostAfter = 3 * time.Second // without an acknowledged heartbeat
	moveAfter = 5 * time.Second // the same, until another server is tried
	backAfter = 2 * time.Second // the age of an acknowledged heartbeat that shows a quorum
	// takeover is how long the record of another process under the same id must not change before
	// this one takes its place, as after a crash.
	takeover = 2500 * time.Millisecond
)

// A Member is a master of the cluster.
type Member struct {
	ID      string
	Version string
	Since   time.Time // when it joined, by the clock of its own
	Seen    time.Time // when its last heartbeat was stored, by the clock of a NATS server
}

// beatRecord is what a member writes.
type beatRecord struct {
	Instance string `codec:"instance"`
	Version  string `codec:"version"`
	Since    int64  `codec:"since"`
	ID       string `codec:"id"`
	Left     bool   `codec:"left"`
}

// A pulse writes the heartbeats of this member and keeps what they show.
type pulse struct {
	c      *Cluster
	b      *bucket
	record beatRecord

	mu       sync.Mutex
	revision uint64
	acked    time.Time // start of the last acknowledged heartbeat
	problem  error     // nil while there is a quorum
	since    time.Time // when that last changed between nil and an error
	changed  chan struct{}
}

// join writes the first heartbeat.
func join(ctx context.Context, c *Cluster) (*pulse, error) {
	p := &pulse{c: c, b: c.bucket(forMembers), changed: make(chan struct{}),
		record: beatRecord{Instance: c.instance, Version: version.String(), Since: time.Now().Unix(),
			ID: c.o.Member}}
	if err := c.checkKey(ctx, p.b); err != nil {
		return nil, fmt.Errorf("join cluster %s as %s: %w", c.o.Name, c.o.Member, err)
	}
	old, err := p.quiet(ctx)
	if err != nil {
		return nil, fmt.Errorf("join cluster %s as %s: %w", c.o.Name, c.o.Member, err)
	}
	p.acked = time.Now()
	p.since = p.acked
	if p.revision, err = p.b.set(ctx, c.o.Member, p.body(), old); errors.Is(err, ErrConflict) {
		err = fmt.Errorf("%w: give each master its own id, or its own member in the option cluster", ErrMember)
	}
	if err != nil {
		return nil, fmt.Errorf("join cluster %s as %s: %w", c.o.Name, c.o.Member, err)
	}
	return p, nil
}

// checkKey checks, before anything is written, that this member can read what the others write.
func (c *Cluster) checkKey(ctx context.Context, b *bucket) error {
	var problem error
	err := c.beats(ctx, func(m message) {
		if _, _, err := b.read(m); errors.Is(err, ErrUnknownKey) && time.Since(m.at).Abs() < keyDoubt {
			problem = fmt.Errorf("the key file %s is not that of the other members of cluster %s; if that is another "+
				"cluster on the same servers, give this one its own name: %w", c.o.KeyFile, c.o.Name, err)
		}
	})
	return cmp.Or(err, problem)
}

// beats calls see for the last heartbeat of each member.
func (c *Cluster) beats(ctx context.Context, see func(message)) error {
	reading, done := context.WithCancel(ctx)
	defer done()
	f := &follower{c: c, stream: c.bucket(forMembers).stream, idle: done, handle: func(m message) error {
		see(m)
		return nil
	}}
	if err := f.run(reading); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	return nil
}

// keyDoubt is the age of a heartbeat that may be of a member that runs.
const keyDoubt = 10 * time.Second

// quiet waits until no other process with this id shows a sign of life, and returns the revision of
// the record. If one does the error wraps ErrMember.
func (p *pulse) quiet(ctx context.Context) (uint64, error) {
	first, err := p.b.get(ctx, p.c.o.Member)
	if err != nil && !isForeign(err) {
		return 0, err
	}
	if r, err := readBeat(first.body); first.revision == 0 || err == nil && r.Left {
		return first.revision, nil
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(takeover):
	}
	second, err := p.b.get(ctx, p.c.o.Member)
	if err != nil && !isForeign(err) {
		return 0, err
	}
	if second.revision != first.revision && second.revision != 0 {
		return 0, ErrMember
	}
	return second.revision, nil
}

func (p *pulse) body() []byte {
	body, err := typed.Marshal(&p.record)
	if err != nil {
		panic(err) // only for types that have no wire form
	}
	return body
}

func readBeat(body []byte) (r beatRecord, err error) {
	err = typed.Unmarshal(body, payload.WireLimits(), &r)
	return r, err
}

// run writes heartbeats until ctx ends.
func (p *pulse) run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	// a second goroutine judges, since a heartbeat may wait for its acknowledgement
	judging, cancel := context.WithCancel(ctx)
	var judge sync.WaitGroup
	judge.Go(func() { p.judge(judging) })
	defer judge.Wait()
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if errors.Is(p.once(ctx), ErrMember) {
			p.set(ErrMember)
			return
		}
	}
}

// once writes one heartbeat. If the record was changed it looks whether this member did so, with a
// heartbeat whose acknowledgement was lost.
func (p *pulse) once(ctx context.Context) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	p.mu.Lock()
	revision := p.revision
	p.mu.Unlock()
	next, err := p.b.set(ctx, p.c.o.Member, p.body(), revision)
	if errors.Is(err, ErrConflict) {
		start = time.Now()
		next, err = p.again(ctx)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision, p.acked = next, start
	return nil
}

// again writes a heartbeat over whatever this process wrote before.
func (p *pulse) again(ctx context.Context) (uint64, error) {
	now, err := p.b.get(ctx, p.c.o.Member)
	if isForeign(err) { // no process with this member's keys
		return p.b.set(ctx, p.c.o.Member, p.body(), now.revision)
	}
	if err != nil {
		return 0, err
	}
	if r, err := readBeat(now.body); now.revision != 0 && (err != nil || r.Instance != p.c.instance) {
		return 0, ErrMember
	}
	return p.b.set(ctx, p.c.o.Member, p.body(), now.revision)
}

// judge compares the age of the last acknowledged heartbeat with the limits until ctx ends.
func (p *pulse) judge(ctx context.Context) {
	tick := time.NewTicker(lostAfter / 20)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		age := time.Since(p.acked)
		p.mu.Unlock()
		switch {
		case age < backAfter:
			p.set(nil)
		case age >= lostAfter:
			p.set(ErrUnavailable)
		}
		if age >= moveAfter {
			p.c.move()
		}
	}
}

// set records whether there is a quorum.
func (p *pulse) set(problem error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := (problem == nil) == (p.problem == nil)
	if errors.Is(p.problem, ErrMember) || same && !errors.Is(problem, ErrMember) {
		return
	}
	if !same {
		p.since = time.Now()
	}
	p.problem = problem
	close(p.changed)
	p.changed = make(chan struct{})
	if problem != nil {
		p.c.o.Log.WithError(problem).Error("the cluster has no quorum for this member")
		return
	}
	p.c.moves.Store(0)
	p.c.o.Log.Warn("the cluster has a quorum again")
}

// leave marks the record, so that the others and a restart need not wait.
func (p *pulse) leave(ctx context.Context) error {
	p.mu.Lock()
	revision := p.revision
	gone := errors.Is(p.problem, ErrMember)
	p.mu.Unlock()
	if gone {
		return nil
	}
	p.record.Left = true
	_, err := p.b.set(ctx, p.c.o.Member, p.body(), revision)
	if errors.Is(err, ErrConflict) {
		_, err = p.again(ctx)
	}
	if err != nil {
		return fmt.Errorf("leave cluster %s: %w", p.c.o.Name, err)
	}
	return nil
}

// Quorum returns nil while a majority acknowledges the heartbeats of this member. Else the error
// wraps ErrUnavailable, at most about three seconds after the loss, or ErrMember, for good, if
// another process has joined under the same id.
func (c *Cluster) Quorum() error {
	c.pulse.mu.Lock()
	defer c.pulse.mu.Unlock()
	if c.pulse.problem == nil {
		return nil
	}
	return fmt.Errorf("cluster %s: %w: the last heartbeat was acknowledged %s ago", c.o.Name,
		c.pulse.problem, time.Since(c.pulse.acked).Round(100*time.Millisecond))
}

// Changed returns a channel that is closed when the result of Quorum changes next between nil and
// an error. Call it before Quorum, so that no change is missed.
func (c *Cluster) Changed() <-chan struct{} {
	c.pulse.mu.Lock()
	defer c.pulse.mu.Unlock()
	return c.pulse.changed
}

// Members returns the members that have joined and not left, sorted by id. A crashed member stays
// for a minute; Seen tells its last heartbeat.
func (c *Cluster) Members(ctx context.Context) ([]Member, error) {
	var all []Member
	err := c.beats(ctx, func(m message) {
		_, v, err := c.pulse.b.read(m)
		if err != nil {
			return // of a host with another cluster key, which cannot join
		}
		if r, err := readBeat(v.body); err == nil && !r.Left {
			all = append(all, Member{ID: r.ID, Version: r.Version, Since: time.Unix(r.Since, 0), Seen: v.at})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list members of cluster %s: %w", c.o.Name, err)
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
