package syndic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/syndics"
	"github.com/brineproject/brine/pki"
)

const (
	inventoryPause = 10 * time.Second       // between two looks at the keys of the lower master
	inventoryDelay = 200 * time.Millisecond // after an event about a key, since several may follow
	stormPause     = time.Second            // between two looks if there are such events all the time
	looksPerSecond = 5                      // looks because of ids that are not in the inventory
	settled        = 2 * time.Second        // an older time of change of a directory can be trusted
)

// A stock reads the inventory of the lower master.
type stock struct {
	keys     Keys
	accepted string // directory of the accepted keys
	dir      string // CACHEDIR/syndics of the lower master

	mu     sync.Mutex
	seen   string    // when the directories were changed, as of the last look; empty if unknown
	second time.Time // in which looks were counted
	looks  int
}

// allow reports whether the inventory may be read once more in this second.
func (s *stock) allow(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second).Abs() >= time.Second {
		s.second, s.looks = now, 0
	}
	s.looks++
	return s.looks <= looksPerSecond
}

// stamp returns a text that changes when files are added to the directories or removed. The text is empty if
// a directory was changed just now, since another change could have the same time.
func (s *stock) stamp() string {
	text := ""
	for _, dir := range []string{s.accepted, s.dir} {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			text += "none "
			continue
		}
		if err != nil {
			return ""
		}
		if time.Since(info.ModTime()).Abs() < settled {
			return ""
		}
		text += info.ModTime().Format(time.RFC3339Nano) + " "
	}
	return text
}

// read returns the minions of the lower master except its syndics, and the minions behind its syndics.
func (s *stock) read() (inventory, error) {
	i := inventory{Syndics: map[string][]string{}}
	nested, err := syndics.Read(s.dir)
	if err != nil {
		return i, err
	}
	without := map[string]bool{}
	for _, n := range nested {
		i.Syndics[n.ID] = slices.Sorted(slices.Values(n.Minions))
		without[n.ID] = !n.Minion
	}
	if s.keys == nil {
		return i, nil
	}
	ids, err := s.keys.List(pki.Accepted)
	if err != nil {
		return i, fmt.Errorf("list accepted keys of the lower master: %w", err)
	}
	i.Minions = slices.DeleteFunc(slices.Sorted(slices.Values(ids)),
		func(id string) bool { return without[id] })
	return i, nil
}

// watchStock looks for changes of the inventory until ctx ends, and announces them to the upper
// masters. It looks soon after an event about a key or a syndic of the lower master.
func (s *Syndic) watchStock(ctx context.Context) error {
	tick := time.NewTicker(inventoryPause)
	defer tick.Stop()
	for {
		begun := time.Now()
		s.lookAtStock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-s.look:
			if err := clock.Sleep(ctx, max(inventoryDelay, stormPause-time.Since(begun))); err != nil {
				return err
			}
		}
	}
}

// changesStock reports whether an event of the lower master means that its inventory may have changed.
func changesStock(tag string) bool {
	return strings.HasPrefix(tag, "salt/key") || strings.HasPrefix(tag, "salt/auth") ||
		strings.HasPrefix(tag, "salt/syndic/")
}

// subject returns the minion that an event is about, or "".
func subject(tag string) string {
	parts := strings.Split(tag, "/")
	switch {
	case len(parts) < 4 || parts[0] != "salt":
	case parts[1] == "minion", parts[1] == "beacon":
		return parts[2]
	case parts[1] == "state_result":
		return parts[3]
	case parts[1] == "job" && len(parts) > 4 && job.ValidID(job.ID(parts[2])):
		return parts[4]
	}
	return ""
}

// meet reads the inventory at once if it does not contain a minion, so that the upper masters learn of the
// minion before they get its returns and events.
func (s *Syndic) meet(id string) {
	known := s.inventory.Load()
	if id == "" || known == nil || known.has(id) || !s.stock.allow(s.opts.Now()) {
		return
	}
	s.lookAtStock()
}

// lookSoon makes watchStock look at the inventory soon.
func (s *Syndic) lookSoon() { signal(s.look) }

// lookAtStock reads the inventory if it may have changed. If it has, delivery waits until it is announced.
func (s *Syndic) lookAtStock() {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	stamp, before := s.stock.stamp(), s.inventory.Load()
	if before != nil && stamp != "" && stamp == s.stock.seen {
		return
	}
	now, err := s.stock.read()
	if err != nil {
		s.quiet.Warnf(s.log, "inventory", "read the inventory of the lower master: %v", err)
		return
	}
	s.stock.seen = stamp
	if before != nil {
		if before.equal(now) {
			return
		}
		now.version = before.version
	}
	now.version++
	for _, u := range s.uppers {
		u.expectInventory(now.version)
	}
	s.inventory.Store(&now)
	for _, u := range s.uppers {
		u.announceAgain()
	}
}
