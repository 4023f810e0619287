package cherrypy

import (
	"net/http"

	"github.com/brineproject/brine/data"
)

// jobs returns one job with its returns, or a list of jobs.
func jobs(q *request) error {
	if jid := q.name("jid"); jid != "" {
		return oneJob(q, jid)
	}
	list, err := q.jobLists.List(q.r.URL.Query(), q.Now(), func(low *data.Map) (any, error) {
		return q.one(q.caller, low)
	})
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("return", []any{list}))
}

func oneJob(q *request, jid string) error {
	item, err := q.one(q.caller, data.NewMap("client", "runner", "fun", "jobs.list_job", "jid", jid))
	if err != nil {
		return err
	}
	returns := data.NewMap()
	info, _ := item.(*data.Map)
	results, _ := info.Value("Result").(*data.Map)
	for id, v := range results.All() {
		ret, _ := v.(*data.Map)
		returns.Set(id, ret.Value("return"))
	}
	return q.answer(http.StatusOK, data.NewMap("info", []any{item}, "return", []any{returns}))
}
