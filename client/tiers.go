package client

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// Tiers are the syndics of a master with order_masters.
type Tiers struct {
	// Wait is how long syndics may take to name the minions of a job (syndic_wait).
	Wait time.Duration
}

// TiersOf returns the Tiers of a master with these options, or nil if it has no syndics.
func TiersOf(opts *data.Map) *Tiers {
	if !data.Truth(opts.Value("order_masters")) {
		return nil
	}
	t := &Tiers{}
	switch wait := opts.Value("syndic_wait").(type) {
	case int64:
		t.Wait = time.Duration(wait) * time.Second
	case float64:
		t.Wait = time.Duration(wait * float64(time.Second))
	}
	return t
}

// tiers is what a wait for returns knows of the syndics of the master. Each of them passes on which
// minions of its lower master have the job, with the event syndic/ID/JID. The syndics below those
// add their ids in front: syndic/UPPER/LOWER... (salt/minion.py, SyndicManager).
type tiers struct {
	open    map[string]bool   // syndics that have named no minions yet, as ID or ID/ID
	unknown bool              // the master does not say which syndics it has: all may still name minions
	until   time.Time         // end of the wait for them
	trouble map[string]string // why lower masters did not take the job, by their syndics
	below   map[string]bool   // minions behind syndics
	heard   map[string]bool   // syndics that have named minions
}

// maxPaths is how many syndics a wait listens to, in all tiers.
const maxPaths = 10_000

func newTiers(o *Tiers, j *Job) tiers {
	t := tiers{open: map[string]bool{}, trouble: map[string]string{}, below: map[string]bool{},
		heard: map[string]bool{}}
	for _, id := range j.Below {
		t.below[id] = true
	}
	if o == nil {
		return t
	}
	t.unknown, t.until = !j.Told, time.Now().Add(o.Wait)
	for _, id := range j.Syndics {
		t.open[id] = true
	}
	return t
}

// waits reports whether a syndic may still name minions of the job.
func (t *tiers) waits() bool {
	return (t.unknown || len(t.open) > 0) && time.Now().Before(t.until)
}

// A report is what a syndic says about a job.
type report struct {
	path    string // ids of the syndics, the upper one first, with slashes
	minions []string
	absent  []string // those of them that are not connected to the lower master
	syndics []string // of the lower master
	problem string   // why the lower master did not take the job
}

// reportOf splits the tag of an event that syndics have passed on: the path of syndics, and the tag
// in the lowest tier. ok is false for other events.
func reportOf(tag string) (path, inner string, ok bool) {
	var names []string
	for strings.HasPrefix(tag, syndicPrefix) {
		name, rest, found := strings.Cut(tag[len(syndicPrefix):], "/")
		if !found {
			return "", "", false
		}
		names, tag = append(names, name), rest
	}
	return strings.Join(names, "/"), tag, len(names) > 0
}

const syndicPrefix = "syndic/"

// reports handles an event that syndics have passed on.
func (c *collector) reports(e eventbus.Event) {
	path, inner, ok := reportOf(e.Tag)
	about := strings.TrimPrefix(inner, "salt/job/")
	if !ok || about != string(c.job.ID) && about != string(c.job.ID)+"/new" {
		return
	}
	m, ok := c.read(e.Data, false)
	if !ok || !m.Has("minions") {
		return
	}
	r := report{path: path, minions: data.TextsOf(m.Value("minions")),
		absent: data.TextsOf(m.Value("absent")), syndics: data.TextsOf(m.Value("syndics")), problem: m.Text("problem")}
	c.noteReport(r)
}

// noteReport adds the minions that a syndic has named. With its first report the time of each begins.
func (c *collector) noteReport(r report) {
	t := &c.tiers
	delete(t.open, r.path)
	first := !t.heard[r.path]
	if first && len(t.heard) >= maxPaths {
		return
	}
	t.heard[r.path] = true
	for _, id := range r.syndics {
		if path := r.path + "/" + id; !t.heard[path] && len(t.open) < maxPaths {
			t.open[path] = true
		}
	}
	if r.problem != "" {
		t.trouble[r.path] = r.problem
	}
	c.noteAbsent(r)
	c.expect(r.minions)
	until := time.Now().Add(c.wait.Timeout)
	for _, id := range r.minions {
		t.below[id] = true
		if _, waiting := c.open[id]; waiting && first {
			c.open[id] = until
		}
	}
	c.skipAway()
	c.keyless = slices.DeleteFunc(c.keyless, func(id string) bool { return c.known[id] })
}

// noteAbsent adds the minions that are not connected to a lower master.
func (c *collector) noteAbsent(r report) {
	if len(r.absent) == 0 {
		return
	}
	named := setOf(r.minions)
	for _, id := range r.absent {
		if named[id] && !c.away[id] {
			c.away[id] = true
			c.job.Absent = append(c.job.Absent, id)
		}
	}
}

// setOf returns the set of ids.
func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// troubles returns a result for each syndic whose lower master did not take the job, and for those
// that are not connected.
func (c *collector) troubles() []Result {
	var out []Result
	for _, path := range sortedKeys(c.tiers.trouble) {
		out = append(out, Result{ID: path, Missing: true, Reason: Undelivered,
			Why: "The lower master of this syndic did not take the job: " + c.tiers.trouble[path]})
	}
	for _, id := range sortedKeys(c.job.Away) {
		if len(c.job.Away[id]) == 0 && !c.known[id] {
			out = append(out, Result{ID: id, Missing: true, Reason: NotConnected,
				Why: "This syndic is not connected, and with it the minions behind it."})
		}
	}
	return out
}

// behindAway returns the syndic that is not connected, for each minion behind one.
func (j *Job) behindAway() map[string]string {
	behind := map[string]string{}
	for _, syndic := range sortedKeys(j.Away) {
		for _, id := range j.Away[syndic] {
			if behind[id] == "" {
				behind[id] = syndic
			}
		}
	}
	return behind
}

// reachesNobody reports whether no minion can get a job, also not through syndics.
func (j *Job) reachesNobody() bool {
	return j.Told && len(j.Minions)+len(j.Missing)+len(j.Syndics)+len(j.Away) == 0
}

// readTiers reads what the master says about its syndics.
func (j *Job) readTiers(reply *data.Map) {
	j.Syndics, j.Below = data.TextsOf(reply.Value("syndics")), data.TextsOf(reply.Value("below"))
	away, _ := reply.Value("syndics_away").(*data.Map)
	if away.Len() == 0 {
		return
	}
	j.Away = map[string][]string{}
	for id, minions := range away.All() {
		j.Away[data.Str(id)] = data.TextsOf(minions)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
