package master

import (
	"context"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/returners"
)

// watchers decide which events a user of this host may read on the bus's socket. Root, the master's
// user and users with the right @events read all. Everyone else reads the events of the jobs,
// runners and wheel functions that they ordered: with their key file, or with a login from a
// program on this host.
type watchers struct {
	port int // the master's request port

	mu         sync.RWMutex
	users      map[int]watcher        // users with a key file, by uid
	initiators map[job.ID]initiator   // by job
	jobs       map[initiator][]job.ID // ids of initiators, the oldest first
}

// A watcher is a user of publisher_acl.
type watcher struct {
	name string
	all  bool // has the right @events
}

// An initiator is the user who ordered a job. The initiator with no name and eventbus.NoUser stands
// for users who read everything, and for unknown ones.
type initiator struct {
	name string // "" after a login, since names of external_auth differ from this host's
	uid  int    // eventbus.NoUser if unknown
}

// maxPerInitiator is how many orders of a user are remembered. The events of older orders reach
// only users who read everything.
const maxPerInitiator = 4096

// maxInitiators is how many users orders are remembered for. A new user replaces the one whose last
// job has the oldest id.
const maxInitiators = 256

// maxRecalled is how many jobs a master looks up in its job cache at the start.
const maxRecalled = 16384

// recallAge is the maximum age of jobs that a master looks up at the start.
const recallAge = 24 * time.Hour

func newWatchers(port int) *watchers {
	return &watchers{
		port:       port,
		users:      map[int]watcher{},
		initiators: map[job.ID]initiator{},
		jobs:       map[initiator][]job.ID{},
	}
}

// renew takes the users and rights from a gate. Users unknown to the host are skipped.
func (w *watchers) renew(gate *auth.Gate) {
	users := map[int]watcher{}
	for _, name := range gate.Users() {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			users[uid] = watcher{name, gate.Watches(name)}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users = users
}

// wants returns the event filter for connections of a user, or nil for users who always read
// everything.
func (w *watchers) wants(uid int) func(tag string) bool {
	if uid == 0 || uid == os.Geteuid() {
		return nil
	}
	return func(tag string) bool { return w.reads(uid, tag) }
}

// reads reports whether a user may read an event.
func (w *watchers) reads(uid int, tag string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	who := w.users[uid]
	if who.all {
		return true
	}
	by, ok := w.initiators[orderOf(tag)]
	return ok && (by.uid == uid && uid != eventbus.NoUser || by.name != "" && by.name == who.name)
}

// mayRead reports whether a user may read the returns of a job. The rules are those of its events: root and
// users with all rights or the right @events read all. Everyone else reads those of the jobs that they
// ordered. from is the sender's address.
func (w *watchers) mayRead(id job.ID, who *auth.Identity, from net.Addr) bool {
	if who.All() {
		return true
	}
	uid, known := uidOf(from, w.port)
	w.mu.RLock()
	defer w.mu.RUnlock()
	if known && w.users[uid].all {
		return true
	}
	by, ok := w.initiators[id]
	return ok && (known && by.uid == uid || who.Kind == auth.ByKey && by.name != "" && by.name == who.Name)
}

// orderOf returns the id of the job, runner or wheel function that an event is about: the third
// part of salt/KIND/ID/…, or the whole tag. For other tags the result is arbitrary.
func orderOf(tag string) job.ID {
	rest, ok := strings.CutPrefix(tag, "salt/")
	if !ok {
		return job.ID(tag)
	}
	_, rest, _ = strings.Cut(rest, "/")
	id, _, _ := strings.Cut(rest, "/")
	return job.ID(id)
}

// recordInitiator records who ordered a job, unless the id is known already: the first sender owns
// its events. from is the sender's address, by which the system finds the user on this host. The result is
// who owns the events.
func (w *watchers) recordInitiator(id job.ID, who *auth.Identity, from net.Addr) initiator {
	return w.remember(id, w.initiatorOf(who, from))
}

// recordOwner records the proved owner of a job, whose initiator may be unknown. A known one stays.
func (w *watchers) recordOwner(id job.ID, who *auth.Identity, from net.Addr) {
	nobody := initiator{uid: eventbus.NoUser}
	by := w.initiatorOf(who, from)
	if by == nobody {
		return
	}
	w.mu.Lock()
	if known, ok := w.initiators[id]; ok && known == nobody {
		delete(w.initiators, id)
		w.jobs[nobody] = slices.DeleteFunc(w.jobs[nobody], func(other job.ID) bool { return other == id })
		if len(w.jobs[nobody]) == 0 {
			delete(w.jobs, nobody)
		}
	}
	w.mu.Unlock()
	w.remember(id, by)
}

// initiatorOf returns the initiator of what a user orders from an address.
func (w *watchers) initiatorOf(who *auth.Identity, from net.Addr) initiator {
	by := initiator{uid: eventbus.NoUser}
	if who.All() {
		return by
	}
	if uid, ok := uidOf(from, w.port); ok {
		by.uid = uid
	}
	if who.Kind == auth.ByKey {
		by.name = who.Name
	}
	return by
}

// remember notes who ordered a job, unless that is known already. It returns what is known then.
func (w *watchers) remember(id job.ID, by initiator) initiator {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.initiators[id]; ok {
		return known
	}
	ids, ok := w.jobs[by]
	if !ok && len(w.jobs) >= maxInitiators {
		w.forgetIdlest()
	}
	w.initiators[id] = by
	ids = append(ids, id)
	if len(ids) > maxPerInitiator {
		delete(w.initiators, ids[0])
		ids = ids[1:]
	}
	w.jobs[by] = ids
	return by
}

// forgetIdlest drops the orders of the user whose last job has the oldest id. The caller holds mu.
func (w *watchers) forgetIdlest() {
	var idlest initiator
	var last job.ID
	for by, ids := range w.jobs {
		if id := ids[len(ids)-1]; last == "" || id < last {
			idlest, last = by, id
		}
	}
	for _, id := range w.jobs[idlest] {
		delete(w.initiators, id)
	}
	delete(w.jobs, idlest)
}

// recall loads recent jobs of an earlier master, so that users who wait for one can still read its
// events. For jobs ordered with a login the user on this host is no longer known.
func (w *watchers) recall(ctx context.Context, jobs returners.JobReader, now time.Time) error {
	young, err := jobs.Jobs(ctx, returners.Filter{Since: now.Add(-recallAge), Limit: maxRecalled})
	if err != nil {
		return err
	}
	for _, j := range slices.Backward(young) {
		if name, ok := keyUser(j.Load); ok {
			w.remember(j.ID, initiator{name, eventbus.NoUser})
		}
	}
	return nil
}

// keyUser returns the user whose key file ordered a job, if it was not ordered with a login.
func keyUser(load data.Raw) (name string, ok bool) {
	fields, err := payload.ParseFields(load, payload.Limits{})
	if err != nil {
		return "", false
	}
	kwargs, _ := payload.ParseFields(fields.Raw("kwargs"), payload.Limits{})
	name, ok = fields.Text("user")
	return name, ok && name != "root" && !kwargs.Has("eauth") && !kwargs.Has("token")
}
