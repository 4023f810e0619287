package master

import (
	"maps"
	"slices"
	"sync"
	"time"

	presences "github.com/brineproject/brine/master/presence"
)

// silence is how long a member may say nothing until its minions count as not connected.
const silence = 4 * time.Second

// elsewhere knows which minions are connected to the other members of a cluster. It is safe for
// concurrent use.
type elsewhere struct {
	now func() time.Time

	mu      sync.Mutex
	members map[string]*attendance
	places  map[string]map[string]presences.Connection // by minion and member
	version uint64                                     // rises with each change of places
	heard   map[string]time.Time                       // the last message of each member, even of one that is gone
}

// An attendance is what one member has told about its minions.
type attendance struct {
	number uint64 // of its last message
	heard  time.Time
	ids    map[string]bool
	// minions that it has not named yet while it tells all; nil otherwise
	doubtful map[string]bool
}

func newElsewhere(now func() time.Time) *elsewhere {
	return &elsewhere{now: now, members: map[string]*attendance{},
		places: map[string]map[string]presences.Connection{}, heard: map[string]time.Time{}}
}

// A presenceNews is what a member tells about its minions: all of them, or who came and went since
// its message before.
type presenceNews struct {
	Member string   `codec:"member"`
	Number uint64   `codec:"number"` // rises by one
	All    bool     `codec:"all"`    // Came are all, or the first of all
	More   bool     `codec:"more"`   // the next message tells more of the same
	Came   []string `codec:"came"`
	Hosts  []string `codec:"hosts"` // of those that came, in their order
	Went   []string `codec:"went"`
}

// take applies news. It reports false if news of that member are missing: it has to tell all.
func (e *elsewhere) take(n *presenceNews) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard[n.Member] = e.now()
	c := e.members[n.Member]
	if c == nil && !n.All || c != nil && !n.All && n.Number != c.number+1 {
		return false
	}
	if c == nil {
		c = &attendance{ids: map[string]bool{}}
		e.members[n.Member] = c
	}
	if n.All { // those that it does not name are removed at the end, so that none seems away meanwhile
		c.doubtful = maps.Clone(c.ids)
	}
	c.number, c.heard = n.Number, e.now()
	for i, id := range n.Came {
		at := presences.Connection{Since: c.heard}
		if i < len(n.Hosts) {
			at.Host = n.Hosts[i]
		}
		e.add(n.Member, c, id, at)
	}
	for _, id := range n.Went {
		e.remove(n.Member, c, id)
	}
	if !n.More {
		for id := range c.doubtful {
			e.remove(n.Member, c, id)
		}
		c.doubtful = nil
	}
	return true
}

// add notes that a minion is connected to a member.
func (e *elsewhere) add(member string, c *attendance, id string, at presences.Connection) {
	delete(c.doubtful, id)
	if c.ids[id] {
		if old := e.places[id][member]; old.Host != at.Host {
			e.places[id][member] = at
		}
		return
	}
	c.ids[id] = true
	if e.places[id] == nil {
		e.places[id] = map[string]presences.Connection{}
	}
	e.places[id][member] = at
	e.version++
}

// empty forgets the minions of a member.
func (e *elsewhere) empty(member string, c *attendance) {
	for id := range c.ids {
		e.remove(member, c, id)
	}
}

func (e *elsewhere) remove(member string, c *attendance, id string) {
	if !c.ids[id] {
		return
	}
	delete(c.ids, id)
	delete(e.places[id], member)
	if len(e.places[id]) == 0 {
		delete(e.places, id)
	}
	e.version++
}

// expire forgets members that have said nothing for a while.
func (e *elsewhere) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, c := range e.members {
		if e.now().Sub(c.heard).Abs() > silence {
			e.empty(name, c)
			delete(e.members, name)
		}
	}
}

// A sign is what another member has shown of itself.
type sign struct {
	heard   time.Time // its last message
	minions int       // that are connected to it
}

// signs returns the signs of life of the other members by id, of those that are gone too.
func (e *elsewhere) signs() map[string]sign {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make(map[string]sign, len(e.heard))
	for id, at := range e.heard {
		s := sign{heard: at}
		if c := e.members[id]; c != nil {
			s.minions = len(c.ids)
		}
		all[id] = s
	}
	return all
}

// forget forgets a member that is gone for good, and its minions. It is known again when it says something.
func (e *elsewhere) forget(member string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.heard, member)
	if c := e.members[member]; c != nil {
		e.empty(member, c)
		delete(e.members, member)
	}
}

// has reports whether a minion is connected to another member. Nothing is connected elsewhere if
// there are no others.
func (e *elsewhere) has(id string) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.places[id]) > 0
}

// absent returns those of ids that are connected to no other member, in the given order.
func (e *elsewhere) absent(ids []string) (away []string) {
	if e == nil {
		return ids
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if len(e.places[id]) == 0 {
			away = append(away, id)
		}
	}
	return away
}

// with returns the union of sorted ids and the minions of the other members, sorted.
func (e *elsewhere) with(ids []string) []string {
	if e == nil {
		return ids
	}
	e.mu.Lock()
	all := make([]string, 0, len(ids)+len(e.places))
	for id := range e.places {
		all = append(all, id)
	}
	e.mu.Unlock()
	all = append(all, ids...)
	slices.Sort(all)
	return slices.Compact(all)
}

// merge adds the minions of the other members to those that are connected here.
func (e *elsewhere) merge(here map[string]presences.Connection) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, members := range e.places {
		if _, ok := here[id]; ok {
			continue
		}
		for _, at := range members {
			here[id] = at
		}
	}
}

// edition returns a number that changes with the minions of the other members.
func (e *elsewhere) edition() uint64 {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}
