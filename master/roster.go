package master

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/version"
)

const (
	rosterBeat  = time.Minute     // between two entries of a member
	rosterAgain = 5 * time.Second // the same after one that was not taken
	rosterEnd   = 2 * time.Second // how long a master that ends may take to say so
)

// A roster has an entry for each master that was ever a member, so that operators see those that are
// gone. It is safe for concurrent use.
type roster struct {
	base
	member string
	values *cluster.Values
	own    rosterEntry     // at the start
	gone   func(id string) // is called for a member whose entry was removed

	mu      sync.Mutex
	entries map[string]rosterEntry
	removed map[string]uint64 // the revision of the removal of a member
}

// A rosterEntry is what a member writes about itself. Times are in seconds since 1970.
type rosterEntry struct {
	Version string `codec:"version"`
	Since   int64  `codec:"since"` // its last start
	Seen    int64  `codec:"seen"`  // when it wrote the entry
	Stopped bool   `codec:"stopped"`

	learned time.Time // when this member read it
}

func newRoster(c *member) *roster {
	return &roster{base: c.base, member: c.id, values: c.c.Values(cluster.Roster),
		own:     rosterEntry{Version: version.String(), Since: c.now().Unix()},
		entries: map[string]rosterEntry{}, removed: map[string]uint64{}, gone: c.others.forget}
}

// all returns the entries by id.
func (r *roster) all() map[string]rosterEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.entries)
}

// remove removes the entry of a member that is gone for good, from the cluster and at once from here.
func (r *roster) remove(ctx context.Context, id string) error {
	revision, err := r.values.Put(ctx, id, nil)
	if err != nil {
		return err
	}
	r.drop(id, revision)
	return nil
}

// drop forgets a member that was removed with a revision. What it wrote before that may still come.
func (r *roster) drop(id string, revision uint64) {
	r.gone(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed[id] = max(r.removed[id], revision)
	delete(r.entries, id)
}

// follow reads the entries of all members until ctx ends.
func (r *roster) follow(ctx context.Context) error {
	for {
		err := r.values.Follow(ctx, 0, nil, r.take)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, cluster.ErrRestarted):
			return err
		}
		r.mu.Lock()
		clear(r.entries)
		clear(r.removed)
		r.mu.Unlock()
	}
}

// take reads an entry. One that cannot be read, as of a later version, is left out.
func (r *roster) take(v cluster.Value) error {
	if v.Body == nil {
		r.drop(v.Key, v.Revision)
		return nil
	}
	e, err := parseRosterEntry(v.Body)
	if err != nil {
		r.log.WithError(err).Warnf("what member %s of the cluster says about itself is ignored", v.Key)
		return nil
	}
	e.learned = r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.Revision > r.removed[v.Key] {
		r.entries[v.Key] = e
	}
	return nil
}

func parseRosterEntry(body []byte) (e rosterEntry, err error) {
	err = typed.Unmarshal(body, payload.WireLimits(), &e)
	return e, err
}

// tell writes the entry of this member until ctx ends, and then that it has stopped.
func (r *roster) tell(ctx context.Context) error {
	for {
		wait := rosterBeat
		if err := r.write(ctx, rosterAgain, false); err != nil {
			r.log.WithError(err).Debug("write the entry of this member")
			wait = rosterAgain
		}
		if clock.Sleep(ctx, wait) == nil {
			continue
		}
		if err := r.write(context.WithoutCancel(ctx), rosterEnd, true); err != nil {
			r.log.WithError(err).Debug("tell the other members that this master stops")
		}
		return ctx.Err()
	}
}

func (r *roster) write(ctx context.Context, limit time.Duration, stopped bool) error {
	e := r.own
	e.Seen, e.Stopped = r.now().Unix(), stopped
	body, err := typed.Marshal(&e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := r.values.Put(ctx, r.member, body); err != nil {
		return fmt.Errorf("write what this member says about itself: %w", err)
	}
	return nil
}
