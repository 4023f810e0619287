package cherrypy

import (
	"context"
	"net/http"
	"time"

	"github.com/brineproject/brine/netapi"
)

// live says that the program runs.
func live(q *request) error { return q.plain("ok\n") }

// readyPatience is how long the master may take to be found.
const readyPatience = 5 * time.Second

// ready says whether the master can be reached; if not, the answer is 503.
func ready(q *request) error {
	if q.Ready != nil {
		ctx, cancel := context.WithTimeout(q.r.Context(), readyPatience)
		defer cancel()
		if err := q.Ready(ctx); err != nil {
			return &netapi.Fault{Status: http.StatusServiceUnavailable, Text: "Salt Master is not available.", Err: err}
		}
	}
	return q.plain("ok\n")
}

func (q *request) plain(text string) error {
	q.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	q.w.Header().Set("Cache-Control", "no-store")
	_, err := q.w.Write([]byte(text))
	return err
}
