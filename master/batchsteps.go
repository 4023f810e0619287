package master

import (
	"slices"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// batchSteps knows which minions got the steps of batches, as the stream of orders tells. A leader notes a
// step in the record of its batch before it writes the entry of the step. If it dies in between, its
// successor finds that no entry has those minions. The successor has carried out every entry from before
// its own lead, and later entries of the old leader are void.
//
// It is safe for concurrent use.
type batchSteps struct {
	mu   sync.Mutex
	jobs map[job.ID]*batchStep
}

// A batchStep is what is known of a job since its record was seen.
type batchStep struct {
	minions map[string]bool
	last    time.Time // when its last entry was seen
}

// stepsKept is how long the steps of a job are remembered after the last one.
const stepsKept = time.Hour

// note takes an entry: the record of a job that is sent in steps, which has no publication, or a step.
func (s *batchSteps) note(id job.ID, o *order, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	if j == nil && o.pub != nil {
		return
	}
	if j == nil {
		s.sweep(now)
		j = &batchStep{minions: map[string]bool{}}
		s.jobs[id] = j
	}
	j.last = now
	if o.pub == nil {
		return
	}
	// the minions behind syndics are in the target alone
	for _, id := range slices.Concat(data.TextsOf(o.load.Value("tgt")), o.record.Minions) {
		j.minions[id] = true
	}
}

// sweep forgets the jobs without news for long. The caller holds mu.
func (s *batchSteps) sweep(now time.Time) {
	if s.jobs == nil {
		s.jobs = map[job.ID]*batchStep{}
	}
	for id, j := range s.jobs {
		if now.Sub(j.last) > stepsKept {
			delete(s.jobs, id)
		}
	}
}

// forget forgets all, since entries were missed.
func (s *batchSteps) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = nil
}

// unsent returns those of ids that no step of a job has reached, none if the job's record was not seen.
func (s *batchSteps) unsent(id job.ID, ids []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	if j == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return j.minions[id] })
}
