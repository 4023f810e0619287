package web

import (
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
)

// plainFor is how long a master is believed to know no conditions but Salt's. One that is replaced meanwhile
// is asked anew afterwards.
const plainFor = 5 * time.Minute

// JobLists are the lists of jobs of a door. The zero value is ready, and several requests may use it.
type JobLists struct {
	mu    sync.Mutex
	plain time.Time // until then the master is not asked to select jobs
}

// List returns the jobs that a query selects, the newest first, as an answer of the runner jobs.list_jobs. It
// is the whole answer if the query has no condition. order sends a chunk for the caller and returns its item.
//
// Brine's master selects the jobs. Salt's knows but some of the conditions and fails with others, and is then
// asked for all jobs. The error is that of order, or a *netapi.Fault for a wrong query.
func (l *JobLists) List(query url.Values, now time.Time, order func(low *data.Map) (any, error)) (any, error) {
	f, err := ParseJobFilter(query)
	if err != nil {
		return nil, err
	}
	low := data.NewMap("client", "runner", "fun", "jobs.list_jobs")
	if f == (JobFilter{}) {
		return order(low)
	}
	low.Set("nocache", true) // so that a list of the newest jobs does not fill with itself
	if !l.isPlain(now) {
		chosen := low.Clone()
		chosen.Set("kwarg", f.words())
		answer, err := order(chosen)
		if err != nil || !lacksArgument(answer) {
			return f.newest(answer, func(string, *data.Map) bool { return true }), err
		}
		l.setPlain(now)
	}
	answer, err := order(low)
	return f.Apply(answer), err
}

// lacksArgument reports whether an answer says that a runner does not know an argument.
func lacksArgument(answer any) bool {
	text, _ := answer.(string)
	return strings.Contains(text, "unexpected keyword argument")
}

func (l *JobLists) isPlain(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.plain)
}

func (l *JobLists) setPlain(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plain = now.Add(plainFor)
}

// words returns the arguments of jobs.list_jobs that select the same jobs.
func (f JobFilter) words() *data.Map {
	words := data.NewMap()
	for _, one := range []struct{ name, value string }{
		{"search_function", f.function}, {"search_target", f.target}, {"search_user", f.user},
	} {
		if one.value != "" {
			words.Set(one.name, []any{one.value}) // a list, since a comma in a text separates globs
		}
	}
	for _, one := range []struct{ name, value string }{{"search_minion", f.minion}, {"before", f.before}} {
		if one.value != "" {
			words.Set(one.name, one.value)
		}
	}
	if f.limit > 0 {
		words.Set("limit", int64(f.limit))
	}
	return words
}
