package tornado

import "github.com/brineproject/brine/netapi/stream"

// events streams the events of the master's bus.
func events(q *request) error { return q.streams.Events(q.w, q.r, q.caller) }

// allEvents streams the events over a websocket.
func allEvents(q *request) error { return q.websocket(false) }

// formattedEvents streams the state of jobs and minions over a websocket.
func formattedEvents(q *request) error { return q.websocket(true) }

// websocket serves a websocket for the token in the path.
func (q *request) websocket(format bool) error {
	token := ""
	if len(q.rest) > 0 {
		token = q.rest[0]
	}
	c, err := q.Gate.Caller(token, q.caller.From)
	if err != nil {
		return err
	}
	return q.streams.WebSocket(q.w, q.r, c, stream.WebSocketOptions{Tornado: true, FormatEvents: format})
}
