// Package history records what orderers, minions and masters of a cluster observed in a run, and finds
// what contradicts the promises of a cluster.
package history

import (
	"slices"
	"sync"
	"time"
)

// An Order is a job, and the last word that its orderer heard.
type Order struct {
	JID        string // "" if it was never known
	Member     string // the master that it was given to
	Begin, End time.Time
	Minions    []string // those that the order means; nil if that is not known
	Published  bool     // the master acknowledged the order
	Returned   []string // minions whose returns the orderer got, once for each return
	Missing    []string // minions that were reported as missing
	Refused    string   // the reason of a refusal, if nothing was to be published
	Lost       string   // the error of an order whose end the orderer never learned
}

// Succeeded reports whether the orderer was told that all minions have returned.
func (o *Order) Succeeded() bool {
	return o.Published && o.Refused == "" && o.Lost == "" && len(o.Missing) == 0
}

// A Run is how often a minion ran a job.
type Run struct {
	Minion, JID string
	Count       int
}

// An Ack is a return that a master acknowledged to a minion.
type Ack struct {
	Minion, JID, Master string // Master as the minion calls it
}

// A Sight is the state of a minion's key as a member reported it. State "" means that the member gave
// no answer. The state is that of some time between the question and the answer.
type Sight struct {
	Member, Minion, State string
	Asked, Answered       time.Time
}

// A History is what was observed in a run.
type History struct {
	Orders []Order
	Runs   []Run
	Acks   []Ack
	Sights []Sight
	// Caches are the job caches at the end: member, job, minions whose returns it has.
	Caches map[string]map[string][]string
}

// A Recorder collects a History. Many goroutines may use it. The zero value is empty.
type Recorder struct {
	mu   sync.Mutex
	h    History
	runs map[Run]int // with Count 0
}

// Order records an order that has ended.
func (r *Recorder) Order(o Order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Orders = append(r.h.Orders, o)
}

// Ran records that a minion ran a job once more.
func (r *Recorder) Ran(minion, jid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[Run]int{}
	}
	r.runs[Run{Minion: minion, JID: jid}]++
}

// Acknowledged records that a master acknowledged a return.
func (r *Recorder) Acknowledged(minion, jid, master string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Acks = append(r.h.Acks, Ack{minion, jid, master})
}

// Saw records the states of keys, by minion, that a member has just reported. A minion that is not
// among them has the state "unknown". nil means that the member gave no answer.
func (r *Recorder) Saw(member string, asked time.Time, minions []string, states map[string]string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range minions {
		state, ok := states[id]
		if states != nil && !ok {
			state = "unknown"
		}
		r.h.Sights = append(r.h.Sights, Sight{member, id, state, asked, now})
	}
}

// Cached records the job cache of a member at the end: minions by job.
func (r *Recorder) Cached(member string, returns map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.h.Caches == nil {
		r.h.Caches = map[string]map[string][]string{}
	}
	r.h.Caches[member] = returns
}

// JIDs returns the ids of all jobs that were recorded so far, sorted.
func (r *Recorder) JIDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, o := range r.h.Orders {
		seen[o.JID] = true
	}
	for run := range r.runs {
		seen[run.JID] = true
	}
	for _, a := range r.h.Acks {
		seen[a.JID] = true
	}
	delete(seen, "")
	all := make([]string, 0, len(seen))
	for jid := range seen {
		all = append(all, jid)
	}
	slices.Sort(all)
	return all
}

// History returns what was recorded so far.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.h
	h.Orders, h.Acks, h.Sights = slices.Clone(h.Orders), slices.Clone(h.Acks), slices.Clone(h.Sights)
	for run, count := range r.runs {
		run.Count = count
		h.Runs = append(h.Runs, run)
	}
	slices.SortFunc(h.Runs, compareRuns)
	return &h
}
