package cherrypy

import (
	"net/http"

	"github.com/brineproject/brine/data"
)

// minions returns the grains of the minions that a glob matches.
func minions(q *request) error {
	id := q.name("mid")
	if id == "" {
		id = "*"
	}
	item, err := q.one(q.caller, data.NewMap("client", "local", "tgt", id, "fun", "grains.items"))
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("return", []any{item}))
}

// name returns the last part of the path, or the value of a key of the query.
func (q *request) name(key string) string {
	if len(q.rest) > 0 {
		return q.rest[0]
	}
	return q.r.URL.Query().Get(key)
}

// minionsAsync sends jobs and does not wait for them.
func minionsAsync(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	for i := range low {
		low[i] = low[i].Clone()
		low[i].Set("client", "local_async")
	}
	items, _, err := q.carryOut(q.caller, low)
	if err != nil {
		return err
	}
	links := []any{}
	for _, item := range items {
		if sent, ok := item.(*data.Map); ok && sent.Has("jid") {
			links = append(links, data.NewMap("href", "/jobs/"+data.Str(sent.Value("jid"))))
		}
	}
	return q.answer(http.StatusAccepted, data.NewMap("return", items, "_links", data.NewMap("jobs", links)))
}
