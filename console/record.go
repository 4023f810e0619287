package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
)

// A jobRecord is what the master knows of a job, without its results.
type jobRecord struct {
	JID, Fun, User string
	target
	Args      []string // as they are typed
	Started   time.Time
	Test      bool
	Expect    int    // how many minions the target of a batch had
	Batch     string // the size of a batch that the console began
	TestOf    string // the test that this job applies
	Minions   []string
	fun       any
	sent      any // target
	arguments []any
}

// The keys of a job's metadata that the console sets.
const (
	testKey  = "test_jid"
	batchKey = "batch"
	manyKey  = "batch_minions"
)

// Page returns the path of the job's page.
func (j *jobRecord) Page() string { return jobPath(j.JID) }

// minionPath returns the path of the page of a minion.
func minionPath(id string) string { return "/minions/" + url.PathEscape(id) }

// jobPath returns the path of the page of a job, or of a minion's result in it.
func jobPath(parts ...string) string {
	path := "/jobs"
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// Many says how many minions the job has: of a batch, all of its target.
func (j *jobRecord) Many() string { return count(max(len(j.Minions), j.Expect), "minion") }

// ShortTarget returns the target for a table.
func (j *jobRecord) ShortTarget() string { return clip(j.Text, 80) }

// recordOf reads an entry of jobs.list_jobs or jobs.list_job.
func recordOf(jid string, m *data.Map) *jobRecord {
	j := &jobRecord{JID: jid, User: data.Str(m.Value("User")), fun: m.Value("Function"), sent: m.Value("Target"),
		target: targetOf(m.Value("Target"), m.Text("Target-type")), arguments: data.ListOf(m.Value("Arguments")),
		Minions: data.TextsOf(m.Value("Minions"))}
	j.Fun = data.Str(j.fun)
	if list, ok := j.fun.([]any); ok {
		j.Fun = strings.Join(data.Texts(list), ", ")
	}
	for _, line := range argumentLines(j.arguments) {
		j.Args = append(j.Args, clip(line, 1000))
	}
	j.Test = isTest(j.arguments)
	j.Started, _ = startOf(jid)
	if meta, ok := m.Value("Metadata").(*data.Map); ok {
		j.TestOf, j.Batch = meta.Text(testKey), data.Str(orEmpty(meta.Value(batchKey)))
		j.Expect = number(meta.Value(manyKey))
	}
	slices.Sort(j.Minions)
	return j
}

func startOf(jid string) (time.Time, error) { return job.ID(jid).Time() }

// results are those of a job by minion, and what the master knows of the others.
type results struct {
	*jobRecord
	states  *data.Map // jobs.status; nil if the master has no such runner
	note    string    // why states is nil, if that can be changed
	returns *data.Map // jobs.list_job: the returns that were asked for
	// runs says for each minion that has answered whether it runs the job. Only those of a master without
	// jobs.status are asked.
	runs map[string]bool
}

// soon reports whether a job may just have been sent, and not be recorded yet.
func soon(jid string, now time.Time) bool {
	at, err := startOf(jid)
	return err == nil && now.Sub(at) < time.Minute
}

// The states of a job on a minion beyond those of the runner jobs.status.
const (
	stateReturned = "returned"
	stateRunning  = "running"
	stateIdle     = "not running" // it has not returned, and says that it does not run the job
	stateFailed   = "failed"      // it has returned, and says that it failed
	stateWaiting  = "not begun"   // a batch has not reached it, or it has not acknowledged the job yet
	stateSilent   = "silent"      // it was sent the job a while ago, and nothing was heard
)

// patience is how long a minion is not called silent.
const patience = time.Minute

// A progress is the state of a job on one minion.
type progress struct {
	ID, State, Why string
	Since          time.Time
	Size           int
	short          any // the return, if it is short
	known          bool
}

// Class returns the class of the badge of a state.
func (p progress) Class() string { return stateClass(p.State) }

func stateClass(state string) string {
	switch state {
	case stateReturned:
		return "good"
	case stateFailed, stateIdle, "missed", "refused", "gone", stateSilent:
		return "bad"
	case stateRunning, "acknowledged":
		return "change"
	}
	return ""
}

// Open reports whether more is to be expected from a minion.
func (p progress) Open() bool {
	return slices.Contains([]string{"sent", "acknowledged", stateRunning, "queued"}, p.State)
}

// Returned reports whether there is a result.
func (p progress) Returned() bool { return p.State == stateReturned || p.State == stateFailed }

// progress returns the states of all minions of a job, in the order of their ids.
func (r *results) progress(now time.Time) []progress {
	var list []progress
	for id, v := range r.states.All() {
		m, _ := v.(*data.Map)
		list = append(list, r.progressOf(data.Str(id), m, now))
	}
	if r.states == nil {
		list = r.guess(now)
	}
	slices.SortFunc(list, func(a, b progress) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func (r *results) progressOf(id string, m *data.Map, now time.Time) progress {
	p := progress{ID: id, State: m.Text("state"), Why: m.Text("why"), Size: number(m.Value("size"))}
	p.Since, _ = time.Parse("2006, Jan 02 15:04:05.000000", m.Text("since"))
	p.short, p.known = m.Get("return")
	switch {
	case p.State == stateReturned && failed(m):
		p.State = stateFailed
	case p.State == "sent" && r.Batch != "":
		p.State = stateWaiting
	case p.State == "sent" && now.Sub(r.Started) > patience:
		p.State = stateSilent
	}
	return p
}

// guess returns the states as far as they follow from the returns.
func (r *results) guess(now time.Time) []progress {
	var list []progress
	for id, v := range r.returns.All() {
		m, _ := v.(*data.Map)
		p := progress{ID: data.Str(id), State: stateReturned}
		p.short, p.known = m.Get("return")
		if failed(m) {
			p.State = stateFailed
		}
		list = append(list, p)
	}
	for _, id := range r.Minions {
		if r.returns.Has(id) {
			continue
		}
		p := progress{ID: id, State: "sent"}
		runs, asked := r.runs[id]
		switch {
		case runs:
			p.State = stateRunning
		case asked:
			p.State = stateIdle
		case now.Sub(r.Started) > patience:
			p.State = stateSilent
		}
		list = append(list, p)
	}
	return list
}

// failed reports whether a return says that its function failed.
func failed(ret *data.Map) bool {
	if ret.Has("success") && ret.Value("success") == false {
		return true
	}
	switch code := ret.Value("retcode").(type) {
	case *data.Map: // of several functions
		for _, one := range code.All() {
			if data.Truth(one) {
				return true
			}
		}
		return false
	default:
		return data.Truth(code)
	}
}
