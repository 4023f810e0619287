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

// watchers decide which events a user of this host reads on the bus's socket. Root, the master's user and users with the
// right @events read all. Everyone else reads the events of the jobs, runners and wheel functions that they ordered: with
// their key file, or by a login from a program of theirs on this host.
type watchers struct {
	port int // the master's request port

	mu    sync.RWMutex
	users map[int]watcher        // by uid: those with a key file
	own   map[job.ID]initiator   // who ordered what
	order map[initiator][]job.ID // ids of own, the oldest first
}

// A watcher is a user of publisher_acl.
type watcher struct {
	name string
	all  bool // has the right @events
}

// An initiator is the user who ordered a job. The zero name and eventbus.NoUser stand for those who read all, and those who are not known.
type initiator struct {
	name string // "" where they logged in: names of external_auth are not those of this host
	uid  int    // eventbus.NoUser where it is not known
}

// maxOwn is how many orders of a user are remembered. After so many later ones of that user, the events of an order reach only who
// reads all.
const maxOwn = 4096

// maxInitiators is for how many users orders are remembered. One more takes the place of the user whose last job has the oldest id.
const maxInitiators = 256

// maxRecalled is how many jobs a master that starts looks up in its job cache.
const maxRecalled = 16384

// ownLife is how old orders may be that a master which starts looks up in its job cache.
const ownLife = 24 * time.Hour

func newWatchers(port int) *watchers {
	return &watchers{port: port, users: map[int]watcher{}, own: map[job.ID]initiator{}, order: map[initiator][]job.ID{}}
}

// renew takes the users and rights of a gate. Users that no file of the system lists are known by their uid alone.
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

// wants returns the filter for the connections of a user: nil for those who always read everything.
func (w *watchers) wants(uid int) func(tag string) bool {
	if uid == 0 || uid == os.Geteuid() {
		return nil
	}
	return func(tag string) bool { return w.reads(uid, tag) }
}

// reads reports whether a user reads an event.
func (w *watchers) reads(uid int, tag string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	who := w.users[uid]
	if who.all {
		return true
	}
	by, ok := w.own[orderOf(tag)]
	return ok && (by.uid == uid && uid != eventbus.NoUser || by.name != "" && by.name == who.name)
}

// orderOf returns the id of the job, runner or wheel function that an event is about: the whole tag, or the third part of
// salt/KIND/ID/…; any text where there is none.
func orderOf(tag string) job.ID {
	rest, ok := strings.CutPrefix(tag, "salt/")
	if !ok {
		return job.ID(tag)
	}
	_, rest, _ = strings.Cut(rest, "/")
	id, _, _ := strings.Cut(rest, "/")
	return job.ID(id)
}

// note remembers who ordered a job, unless somebody has ordered one of that id before: events belong to who came first. from is where
// the order came from, by which the system says which user of this host holds the other end.
func (w *watchers) note(id job.ID, who *auth.Identity, from net.Addr) {
	by := initiator{uid: eventbus.NoUser}
	if who.All() {
		w.remember(id, by)
		return
	}
	if uid, ok := uidOf(from, w.port); ok {
		by.uid = uid
	}
	if who.Kind == auth.ByKey {
		by.name = who.Name
	}
	w.remember(id, by)
}

func (w *watchers) remember(id job.ID, by initiator) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.own[id]; ok {
		return
	}
	ids, ok := w.order[by]
	if !ok && len(w.order) >= maxInitiators {
		w.forgetIdlest()
	}
	w.own[id] = by
	if ids = append(ids, id); len(ids) > maxOwn {
		delete(w.own, ids[0])
		ids = ids[1:]
	}
	w.order[by] = ids
}

// forgetIdlest forgets the orders of the user whose last job has the oldest id. The caller holds mu.
func (w *watchers) forgetIdlest() {
	var idlest initiator
	var last job.ID
	for by, ids := range w.order {
		if id := ids[len(ids)-1]; last == "" || id < last {
			idlest, last = by, id
		}
	}
	for _, id := range w.order[idlest] {
		delete(w.own, id)
	}
	delete(w.order, idlest)
}

// recall remembers the young jobs that an earlier master kept, so that users who wait for one still read its events. Of
// jobs that were ordered by a login it is not known any more which user of this host did so.
func (w *watchers) recall(ctx context.Context, jobs returners.JobReader, now time.Time) error {
	young, err := jobs.Jobs(ctx, returners.Filter{Since: now.Add(-ownLife), Limit: maxRecalled})
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

// keyUser returns the user whose key file ordered a job.
func keyUser(load data.Raw) (name string, ok bool) {
	fields, err := payload.ParseFields(load, payload.Limits{})
	if err != nil {
		return "", false
	}
	kwargs, _ := payload.ParseFields(fields.Raw("kwargs"), payload.Limits{})
	name, ok = fields.Text("user")
	return name, ok && name != "root" && !kwargs.Has("eauth") && !kwargs.Has("token")
}
