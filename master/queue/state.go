package queue

import (
	"bytes"
	"maps"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// state is the content of the queue.
type state struct {
	jobs     map[job.ID]*waitingJob
	byMinion map[string]map[job.ID]bool
	owners   map[string]usage // usage of owners without full rights
	usage
}

// A usage is the room that is in use.
type usage struct{ entries, bytes int }

// A waitingJob is a job with its minions. The value in the map reports whether its sending has
// begun.
type waitingJob struct {
	item    Item
	minions map[string]bool
}

func newState() *state {
	return &state{jobs: map[job.ID]*waitingJob{}, byMinion: map[string]map[job.ID]bool{},
		owners: map[string]usage{}}
}

// roomFor returns the minions of an item for which there is room, without those that are queued
// already.
func (s *state) roomFor(item *Item, o *Options) (ids []string) {
	known, owner := s.jobs[item.ID], &item.Owner
	if known != nil {
		owner = &known.item.Owner
	}
	entries, bytes := s.left(owner, o)
	if known == nil && (len(item.Load) > maxLoad || len(item.Load) > bytes) {
		return nil
	}
	seen := make(map[string]bool, len(item.Minions))
	for _, id := range item.Minions {
		waits := seen[id] || known != nil && has(known.minions, id)
		if !waits && len(ids) < entries && s.minionHasRoom(id, owner, o) {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	return ids
}

// share returns the part of a limit that is reserved for owners with full rights, and also the
// maximum for any other owner.
func share(of int) int { return max(of/4, 1) }

// left returns the remaining room of an owner.
func (s *state) left(owner *Owner, o *Options) (entries, bytes int) {
	entries, bytes = o.Total-s.entries, o.Bytes-s.bytes
	if owner.Full {
		return entries, bytes
	}
	used := s.owners[owner.Name]
	entries = min(entries-share(o.Total), share(o.Total)-used.entries)
	bytes = min(bytes-share(o.Bytes), share(o.Bytes)-used.bytes)
	return entries, bytes
}

// minionHasRoom reports whether a minion has room for one more job of an owner.
func (s *state) minionHasRoom(id string, owner *Owner, o *Options) bool {
	left := o.PerMinion - len(s.byMinion[id])
	if owner.Full {
		return left > 0
	}
	own := 0
	for id := range s.byMinion[id] {
		if other := s.jobs[id].item.Owner; !other.Full && other.Name == owner.Name {
			own++
		}
	}
	return left > share(o.PerMinion) && own < share(o.PerMinion)
}

// take adds to the usage of an owner; negative values reduce it.
func (s *state) take(owner *Owner, entries, bytes int) {
	s.entries += entries
	s.bytes += bytes
	if owner.Full {
		return
	}
	u := s.owners[owner.Name]
	u.entries += entries
	u.bytes += bytes
	if s.owners[owner.Name] = u; u == (usage{}) {
		delete(s.owners, owner.Name)
	}
}

func has(m map[string]bool, id string) bool {
	_, ok := m[id]
	return ok
}

// apply applies a change.
func (s *state) apply(r record) {
	if r.Op == opPut {
		s.put(r)
		return
	}
	j := s.jobs[r.ID]
	if j == nil {
		return
	}
	for _, id := range r.Minions {
		switch {
		case !has(j.minions, id):
		case r.Op == opSend:
			j.minions[id] = true
		case r.Op == opWait:
			j.minions[id] = false
		case r.Op == opDone:
			s.remove(j, id)
		}
	}
}

// conflicts reports whether a job with this id and another load is queued.
func (s *state) conflicts(id job.ID, load data.Raw) bool {
	j := s.jobs[id]
	return j != nil && !bytes.Equal(j.item.Load, load)
}

func (s *state) put(r record) {
	if s.conflicts(r.ID, r.Load) {
		return
	}
	j := s.jobs[r.ID]
	if j == nil {
		if len(r.Minions) == 0 {
			return
		}
		j = &waitingJob{minions: map[string]bool{}, item: r.item()}
		s.jobs[r.ID] = j
		s.take(&j.item.Owner, 0, len(r.Load))
	}
	sent := make(map[string]bool, len(r.Sent))
	for _, id := range r.Sent {
		sent[id] = true
	}
	for _, id := range r.Minions {
		if has(j.minions, id) {
			continue
		}
		j.minions[id] = sent[id]
		s.take(&j.item.Owner, 1, 0)
		if s.byMinion[id] == nil {
			s.byMinion[id] = map[job.ID]bool{}
		}
		s.byMinion[id][r.ID] = true
	}
}

func (s *state) remove(j *waitingJob, id string) {
	delete(j.minions, id)
	s.take(&j.item.Owner, -1, 0)
	delete(s.byMinion[id], j.item.ID)
	if len(s.byMinion[id]) == 0 {
		delete(s.byMinion, id)
	}
	if len(j.minions) == 0 {
		delete(s.jobs, j.item.ID)
		s.take(&j.item.Owner, 0, -len(j.item.Load))
	}
}

// sent reports whether a job is queued for a minion, and whether its sending has begun.
func (s *state) sent(id job.ID, minion string) (begun, waits bool) {
	j := s.jobs[id]
	if j == nil {
		return false, false
	}
	begun, waits = j.minions[minion]
	return begun, waits
}

func (s *state) waiting() []string { return slices.Sorted(maps.Keys(s.byMinion)) }

// sorted returns the jobs, sorted by id.
func (s *state) sorted() []*waitingJob {
	jobs := make([]*waitingJob, 0, len(s.jobs))
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		jobs = append(jobs, s.jobs[id])
	}
	return jobs
}

func (j *waitingJob) entries() []Entry {
	list := make([]Entry, 0, len(j.minions))
	for id := range j.minions {
		list = append(list, j.entry(id))
	}
	slices.SortFunc(list, byJob)
	return list
}

func (j *waitingJob) entry(minion string) Entry {
	return Entry{
		ID:      j.item.ID,
		Minion:  minion,
		Queued:  j.item.Queued,
		Expires: j.item.Expires,
		Sent:    j.minions[minion],
	}
}

// of returns the entries of a minion.
func (s *state) of(minion string) (list []Entry) {
	for _, id := range slices.Sorted(maps.Keys(s.byMinion[minion])) {
		list = append(list, s.jobs[id].entry(minion))
	}
	return list
}

func (s *state) all() []Entry {
	list := []Entry{}
	for _, j := range s.sorted() {
		list = append(list, j.entries()...)
	}
	return list
}

// matching returns the entries of a job for the given minions, or for all if none are given.
func (s *state) matching(id job.ID, minions []string) []Entry {
	j := s.jobs[id]
	if j == nil {
		return nil
	}
	return slices.DeleteFunc(j.entries(),
		func(e Entry) bool { return len(minions) > 0 && !slices.Contains(minions, e.Minion) })
}

// record returns a put record with the current state of the job.
func (j *waitingJob) record() record {
	r := j.item.record()
	r.Minions, r.Sent = nil, nil
	for _, e := range j.entries() {
		r.Minions = append(r.Minions, e.Minion)
		if e.Sent {
			r.Sent = append(r.Sent, e.Minion)
		}
	}
	return r
}
