package web

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// A jobsMaster answers jobs.list_jobs.
type jobsMaster struct {
	t       *testing.T
	isSalt  bool
	orders  []string // the arguments of each order
	failure error
}

func (m *jobsMaster) order(low *data.Map) (any, error) {
	if low.Value("client") != "runner" || low.Value("fun") != "jobs.list_jobs" {
		m.t.Errorf("ordered %s", data.Repr(low))
	}
	words, _ := low.Value("kwarg").(*data.Map)
	if words.Len() > 0 && low.Value("nocache") != true {
		m.t.Error("a list of some jobs is a job itself")
	}
	m.orders = append(m.orders, data.Repr(words.Clone()))
	if m.failure != nil {
		return nil, m.failure
	}
	if m.isSalt && words.Has("limit") {
		return "Passed invalid arguments: list_jobs() got an unexpected keyword argument 'limit'", nil
	}
	one := func(minion string) *data.Map {
		return data.NewMap("Function", "test.ping", "Target", minion, "Target-type", "glob")
	}
	if words.Len() > 0 { // as Brine's master selects, which knows the minions of a compound target
		return data.NewMap("1", one("G@os:x"), "2", one("m1")), nil
	}
	return data.NewMap("1", one("G@os:x"), "2", one("m1"), "3", one("m2")), nil
}

func TestJobLists(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list := func(l *JobLists, m *jobsMaster, query string, at time.Time) string {
		t.Helper()
		values, _ := url.ParseQuery(query)
		got, err := l.List(values, at, m.order)
		if err != nil {
			return err.Error()
		}
		return strings.Join(data.Texts(got.(*data.Map).Keys()), " ")
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	own, ownLists := &jobsMaster{t: t}, &JobLists{}
	check("no condition", list(ownLists, own, "", now), "1 2 3")
	query := "minion=m1&limit=2&before=3&fun=a,b&user=ann&target=*"
	check("what the master selects", list(ownLists, own, query, now), "2 1")
	check("orders", strings.Join(own.orders, "; "), "{}; {'search_function': ['a,b'], 'search_target': ['*'], "+
		"'search_user': ['ann'], 'search_minion': 'm1', 'before': '3', 'limit': 2}")

	salt, saltLists := &jobsMaster{t: t, isSalt: true}, &JobLists{}
	check("Salt's master", list(saltLists, salt, "minion=m1&limit=2", now), "2")
	check("Salt's master again", list(saltLists, salt, "limit=1", now), "3")
	check("its orders", strings.Join(salt.orders, "; "), "{'search_minion': 'm1', 'limit': 2}; {}; {}")
	salt.isSalt = false
	check("a new master", list(saltLists, salt, "limit=2", now.Add(plainFor)), "2 1")

	own.failure = errors.New("refused")
	check("a failure", list(ownLists, own, "limit=2", now), "refused")
	if n := len(own.orders); n != 3 {
		t.Errorf("after a refusal there are %d orders, want 3", n)
	}
}
