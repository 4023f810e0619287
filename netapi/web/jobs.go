package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/netapi"
)

// JobFilterKeys returns the keys of a query by which a list of jobs is made shorter.
func JobFilterKeys() []string {
	return []string{"limit", "before", "fun", "function", "user", "target", "minion"}
}

// A JobFilter selects jobs of a list. The zero value selects all.
type JobFilter struct {
	limit                                  int
	before, function, user, target, minion string
}

// ParseJobFilter reads a filter from a query: at most limit jobs with ids less than before, whose
// function, user and target match globs, and that were sent to a minion. The key of the function is fun, as
// in orders, or function. The error is a *netapi.Fault.
func ParseJobFilter(query url.Values) (f JobFilter, err error) {
	f = JobFilter{before: query.Get("before"), function: cmp.Or(query.Get("fun"), query.Get("function")), user: query.Get("user"),
		target: query.Get("target"), minion: query.Get("minion")}
	if query.Has("fun") && query.Has("function") {
		return f, &netapi.Fault{Status: http.StatusBadRequest, Text: "fun and function mean the same: give one of them"}
	}
	if text := query.Get("limit"); text != "" {
		if f.limit, err = strconv.Atoi(text); err != nil || f.limit < 1 {
			return f, &netapi.Fault{Status: http.StatusBadRequest, Text: "limit must be a number of jobs, not '" + text + "'"}
		}
	}
	return f, nil
}

// Apply returns the jobs of an answer of jobs.list_jobs that match, the newest first; without a filter,
// and for another answer, it is the answer.
func (f JobFilter) Apply(answer any) any { return f.newest(answer, f.matches) }

// newest returns the jobs of an answer that fit, the newest first, and no more than the filter allows.
func (f JobFilter) newest(answer any, fits func(id string, job *data.Map) bool) any {
	all, ok := answer.(*data.Map)
	if !ok || f == (JobFilter{}) {
		return answer
	}
	var ids []string
	for id, v := range all.All() {
		if one, ok := v.(*data.Map); ok && fits(data.Str(id), one) {
			ids = append(ids, data.Str(id))
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	if f.limit > 0 {
		ids = ids[:min(len(ids), f.limit)]
	}
	found := data.NewMap()
	for _, id := range ids {
		found.Set(id, all.Value(id))
	}
	return found
}

func (f JobFilter) matches(id string, job *data.Map) bool {
	glob := func(pattern string, v any) bool {
		list, ok := v.([]any) // several functions, or the minions of a list
		if !ok {
			list = []any{v}
		}
		return pattern == "" || slices.ContainsFunc(list, func(e any) bool {
			return loader.Glob(pattern, data.Str(e))
		})
	}
	return (f.before == "" || id < f.before) && glob(f.function, job.Value("Function")) && glob(f.user, job.Value("User")) &&
		glob(f.target, job.Value("Target")) && (f.minion == "" || names(job, f.minion))
}

// names reports whether a job was sent to a minion, as far as its record says.
func names(job *data.Map, minion string) bool {
	if list, ok := job.Value("Minions").([]any); ok {
		return slices.Contains(list, any(minion))
	}
	switch target := job.Value("Target").(type) {
	case []any:
		return slices.Contains(target, any(minion))
	case string:
		return job.Value("Target-type") == "glob" && loader.Glob(target, minion) || target == minion
	}
	return false
}
