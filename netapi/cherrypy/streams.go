package cherrypy

import (
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/netapi/web"
)

// listener returns the caller of a stream. The credential is a session's id or a token of the master: in
// the path, the query, the header or the cookie.
func (q *request) listener() (netapi.Caller, error) {
	query := q.r.URL.Query()
	credential := query.Get("token")
	if credential == "" {
		credential = query.Get("salt_token")
	}
	if len(q.rest) > 0 {
		credential = q.rest[0]
	}
	byCookie := credential == ""
	if byCookie {
		credential = web.Credential(q.r)
	}
	c, err := q.Gate.Caller(credential, q.from)
	if err == nil && byCookie {
		err = q.origins.Check(q.r)
	}
	return c, err
}

// events streams the events of the master's bus.
func events(q *request) error {
	c, err := q.listener()
	if err != nil {
		return err
	}
	return q.streams.Events(q.w, q.r, c)
}

// websocket streams the events over a websocket.
func websocket(q *request) error {
	c, err := q.listener()
	if err != nil {
		return err
	}
	_, format := q.r.URL.Query()["format_events"]
	return q.streams.WebSocket(q.w, q.r, c, stream.WebSocketOptions{FormatEvents: format})
}
