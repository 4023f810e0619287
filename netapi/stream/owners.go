package stream

import (
	"strings"
	"sync"

	"github.com/brineproject/brine/eventbus"
)

// Limits on what is known of the owners of jobs.
const (
	mostOwned = 20_000 // jobs; the oldest are forgotten
	longName  = 256    // bytes of a job's id, and of a user's name
)

// owners knows who has ordered the latest jobs, as the events of their publication say.
type owners struct {
	mu    sync.RWMutex
	users map[string]string // by job
	order []string          // jobs, a ring once it is full
	next  int
}

func newOwners() *owners { return &owners{users: map[string]string{}} }

// note records the user of a job if an event is about its publication: salt/job/JID/new, and likewise
// for runners and wheel functions.
func (o *owners) note(e eventbus.Event) {
	parts := strings.Split(e.Tag, "/")
	if len(parts) != 4 || parts[0] != "salt" || parts[3] != "new" || !isKind(parts[1]) || len(parts[2]) > longName {
		return
	}
	m, err := e.Map()
	if err != nil {
		return
	}
	user, ok := m.Value("user").(string)
	if !ok || user == "" || len(user) > longName {
		return
	}
	o.set(parts[2], user)
}

// isKind reports whether a part of a tag announces the id of a job.
func isKind(part string) bool {
	return part == "job" || part == "run" || part == "wheel" || part == "batch"
}

func (o *owners) set(job, user string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.users[job]; known {
		return // the first publication counts: a later one may be forged
	}
	o.users[job] = user
	if len(o.order) < mostOwned {
		o.order = append(o.order, job)
		return
	}
	delete(o.users, o.order[o.next])
	o.order[o.next] = job
	o.next = (o.next + 1) % len(o.order)
}

// owns reports whether an event with a tag belongs to a job of a user. Events of the kind JID and
// salt/job/JID/… belong to a job.
func (o *owners) owns(user, tag string) bool {
	job := tag
	if parts := strings.SplitN(tag, "/", 4); len(parts) > 2 && parts[0] == "salt" && isKind(parts[1]) {
		job = parts[2]
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	owner, known := o.users[job]
	return known && user != "" && owner == user
}
