package syndic

import (
	"cmp"
	"slices"

	"github.com/brineproject/brine/job"
)

// A room says how many jobs a journal holds.
type room struct {
	jobs   int // all
	others int // that this syndic has not ordered: of the lower master itself, its schedules and minions
	minion int // of one minion that are not ordered and not finished
}

var journalRoom = room{jobs: 100_000, others: 20_000, minion: 2000}

// A tally counts the jobs in a journal that are not ordered.
type tally struct {
	others int
	open   map[string]int // those that are not finished, by minion
}

// add counts a job, or takes it away if by is -1.
func (t *tally) add(r *record, by int) {
	if r.ordered {
		return
	}
	t.others += by
	if r.finished() {
		return
	}
	if t.open[r.minion] += by; t.open[r.minion] == 0 {
		delete(t.open, r.minion)
	}
}

// place adds a record.
func (j *journal) place(id job.ID, r *record) {
	j.jobs[id] = r
	j.count.add(r, 1)
}

// drop removes a record and its file.
func (j *journal) drop(id job.ID, r *record) {
	j.remove(j.path(id, r))
	delete(j.jobs, id)
	j.count.add(r, -1)
	j.forgetKnown(id)
}

// change changes a record.
func (j *journal) change(r *record, do func()) {
	j.count.add(r, -1)
	do()
	j.count.add(r, 1)
}

// makeRoom drops jobs until there is room for one more, and reports whether there is. For an order there
// always is.
func (j *journal) makeRoom(r *record) bool {
	isOther := func(r *record) bool { return !r.ordered }
	if !r.ordered {
		if m := r.minion; !r.finished() && j.count.open[m] >= j.room.minion {
			j.full("unfinished jobs of minion "+m, j.room.minion)
			j.dropOldest(j.room.minion, func(r *record) bool {
				return isOther(r) && r.minion == m && !r.finished()
			})
		}
		if j.count.others >= j.room.others {
			j.full("jobs that were not ordered", j.room.others)
			j.dropOldest(j.room.others, isOther)
		}
	}
	if len(j.jobs) < j.room.jobs {
		return true
	}
	j.full("jobs", j.room.jobs)
	if r.ordered {
		j.dropOldest(j.room.jobs, func(*record) bool { return true })
	} else {
		j.dropOldest(j.room.jobs, isOther)
	}
	return len(j.jobs) < j.room.jobs
}

// full logs that jobs are dropped, once an hour.
func (j *journal) full(what string, most int) {
	j.quiet.Warnf(j.log, "full", "the journal of the syndic has %d %s: the oldest are dropped, "+
		"and their returns may not reach the master above", most, what)
}

// dropOldest drops some jobs that are eligible: first those that were not ordered, and of these the
// finished ones, then finished orders, each the oldest first. It drops a hundredth of limit, so that
// the next ones have room without a search.
func (j *journal) dropOldest(limit int, eligible func(*record) bool) {
	type candidate struct {
		id job.ID
		r  *record
	}
	var all []candidate
	for id, r := range j.jobs {
		if eligible(r) {
			all = append(all, candidate{id, r})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(worth(a.r), worth(b.r)), a.r.at.Compare(b.r.at), cmp.Compare(a.id, b.id))
	})
	for _, c := range all[:min(max(limit/100, 1), len(all))] {
		j.drop(c.id, c.r)
	}
}

// worth orders jobs: those of least worth are dropped first.
func worth(r *record) int {
	w := 0
	if r.ordered {
		w = 2
	}
	if !r.finished() {
		w++
	}
	return w
}
