package syndic

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
)

const (
	orderedWait = 10 * time.Minute // how long returns wait for the master that ordered their job
	eventAge    = 10 * time.Minute // how long events are kept for a master that is away
	awayEvents  = 10_000           // how many of them
)

// outcome is what became of a return that was handed to a router.
type outcome int

const (
	queued   outcome = iota
	repeated         // it waits already, or was acknowledged
	refused          // there is no room for it
)

// A pair names the return of a minion to a job.
type pair struct {
	jid    job.ID
	minion string
}

// A router hands each return to the queue of one upper master, once. It is safe for concurrent use.
type router struct {
	uppers  []*upper
	ordered bool // several upper masters are tried in their order
	journal *journal
	pick    func(n int) int // returns a random number below n

	mu      sync.Mutex
	pending map[pair]bool // returns in a queue
}

func newRouter(uppers []*upper, ordered bool, j *journal) *router {
	return &router{uppers: uppers, ordered: ordered, journal: j, pick: rand.IntN, pending: map[pair]bool{}}
}

// put hands a return to the upper master of its job. The job of an unknown return is recorded.
func (r *router) put(a *answer) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := pair{a.jid, a.minion}
	if r.pending[p] || r.journal.isAcknowledged(a.jid, a.minion) {
		return repeated
	}
	to, err := r.choose(a)
	if err != nil {
		to.log.WithError(err).Debug("a return is not recorded in the journal")
	}
	if !to.queue.addAnswer(a) {
		return refused
	}
	r.pending[p] = true
	return queued
}

// choose returns the upper master that gets a return, and records that.
func (r *router) choose(a *answer) (*upper, error) {
	to := r.owner(a)
	return to, r.journal.expect(a.jid, to.address.dir(), a.minion)
}

// owner returns the upper master that gets a return: the one that has ordered the job, or else the one in
// the field master_id of the return, or else any.
func (r *router) owner(a *answer) *upper {
	if rec, ok := r.journal.find(a.jid); ok {
		for _, u := range r.uppers {
			if u.address.dir() == rec.dir {
				return u
			}
		}
	}
	if name, ok := payload.Text(a.master); ok {
		for _, u := range r.uppers {
			if u.address.text == name {
				return u
			}
		}
	}
	if u := r.other(nil); u != nil {
		return u
	}
	return r.uppers[0]
}

// other returns a connected upper master other than u, chosen by syndic_failover, or nil.
func (r *router) other(u *upper) *upper {
	var all []*upper
	for _, one := range r.uppers {
		if one != u && one.isConnected() {
			all = append(all, one)
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case r.ordered:
		return all[0]
	}
	return all[r.pick(len(all))]
}

// handOver moves the returns for u, which is away, to another upper master if one is connected. Returns of a
// job that u has ordered wait for u until it has been away for orderedWait.
func (r *router) handOver(u *upper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := r.other(u)
	if to == nil || u.queue.waiting() == 0 {
		return
	}
	long := u.absent() >= orderedWait
	all := u.queue.drain(func(a *answer) bool {
		rec, ok := r.journal.find(a.jid)
		return long || !ok || !rec.ordered || rec.dir != u.address.dir()
	})
	moved := 0
	for moved < len(all) && to.queue.addAnswer(all[moved]) {
		moved++
	}
	for _, a := range all[moved:] {
		u.queue.addAnswer(a)
	}
	if moved > 0 {
		u.log.Warnf("%d returns for this master go to %s", moved, to.address.text)
	}
}

// settle records that returns are in no queue any more.
func (r *router) settle(answers []*answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range answers {
		delete(r.pending, pair{a.jid, a.minion})
	}
}

// spread adds an event to the queues of all upper masters. The queue of one that is away keeps the events of
// the first eventAge, at most awayEvents.
func (r *router) spread(event data.Raw) {
	for _, u := range r.uppers {
		switch {
		case u.isConnected():
			u.queue.addEvent(event, math.MaxInt)
		case u.absent() < eventAge:
			u.queue.addEvent(event, awayEvents)
		default:
			u.queue.addEvent(event, 0)
		}
	}
}
