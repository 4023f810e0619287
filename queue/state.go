package queue

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// state is what waits.
type state struct {
	jobs     map[job.ID]*waitingJob
	byMinion map[string]map[job.ID]bool
	entries  int
	bytes    int
}

// A waitingJob is a job with its minions, each with whether its sending has begun.
type waitingJob struct {
	item    Item
	minions map[string]bool
}

func newState() *state {
	return &state{jobs: map[job.ID]*waitingJob{}, byMinion: map[string]map[job.ID]bool{}}
}

// roomFor returns those minions of an item that it can be kept for and is not yet.
func (s *state) roomFor(item *Item, o *Options) (ids []string) {
	known := s.jobs[item.ID]
	if known == nil && (len(item.Load) > maxLoad || s.bytes+len(item.Load) > o.Bytes) {
		return nil
	}
	for _, id := range item.Minions {
		waits := known != nil && has(known.minions, id)
		if !waits && s.entries+len(ids) < o.Total && len(s.byMinion[id]) < o.PerMinion && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func has(m map[string]bool, id string) bool {
	_, ok := m[id]
	return ok
}

// apply makes a change.
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
		case r.Op == opDone:
			s.remove(j, id)
		}
	}
}

// conflicts reports whether a job with another load has an id.
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
		j = &waitingJob{minions: map[string]bool{}, item: Item{ID: r.ID, Load: r.Load, Queued: time.UnixMicro(r.Queued), Expires: time.UnixMicro(r.Expires)}}
		s.jobs[r.ID] = j
		s.bytes += len(r.Load)
	}
	for _, id := range r.Minions {
		if has(j.minions, id) {
			continue
		}
		j.minions[id] = slices.Contains(r.Sent, id)
		s.entries++
		if s.byMinion[id] == nil {
			s.byMinion[id] = map[job.ID]bool{}
		}
		s.byMinion[id][r.ID] = true
	}
}

func (s *state) remove(j *waitingJob, id string) {
	delete(j.minions, id)
	s.entries--
	delete(s.byMinion[id], j.item.ID)
	if len(s.byMinion[id]) == 0 {
		delete(s.byMinion, id)
	}
	if len(j.minions) == 0 {
		delete(s.jobs, j.item.ID)
		s.bytes -= len(j.item.Load)
	}
}

// sent reports whether a job waits for a minion, and whether its sending has begun.
func (s *state) sent(id job.ID, minion string) (begun, waits bool) {
	j := s.jobs[id]
	if j == nil {
		return false, false
	}
	begun, waits = j.minions[minion]
	return begun, waits
}

func (s *state) waiting() []string { return slices.Sorted(maps.Keys(s.byMinion)) }

// sorted returns the jobs by id.
func (s *state) sorted() []*waitingJob {
	jobs := make([]*waitingJob, 0, len(s.jobs))
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		jobs = append(jobs, s.jobs[id])
	}
	return jobs
}

func (j *waitingJob) entries() []Entry {
	list := make([]Entry, 0, len(j.minions))
	for id, sent := range j.minions {
		list = append(list, Entry{ID: j.item.ID, Minion: id, Queued: j.item.Queued, Expires: j.item.Expires, Sent: sent})
	}
	slices.SortFunc(list, byJob)
	return list
}

func (s *state) all() []Entry {
	list := []Entry{}
	for _, j := range s.sorted() {
		list = append(list, j.entries()...)
	}
	return list
}

// matching returns what waits of a job for these minions, or for all where none are named.
func (s *state) matching(id job.ID, minions []string) []Entry {
	j := s.jobs[id]
	if j == nil {
		return nil
	}
	return slices.DeleteFunc(j.entries(), func(e Entry) bool { return len(minions) > 0 && !slices.Contains(minions, e.Minion) })
}

// record returns the change that makes the job as it is.
func (j *waitingJob) record() record {
	r := record{Op: opPut, ID: j.item.ID, Load: j.item.Load, Queued: j.item.Queued.UnixMicro(), Expires: j.item.Expires.UnixMicro()}
	for _, e := range j.entries() {
		r.Minions = append(r.Minions, e.Minion)
		if e.Sent {
			r.Sent = append(r.Sent, e.Minion)
		}
	}
	return r
}
