package cherrypy

import (
	"errors"
	"net/http"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// welcome says what there is.
func welcome(q *request) error {
	return q.answer(http.StatusOK, data.NewMap("return", "Welcome", "clients", data.Values(netapi.ClientNames())))
}

// lowstate carries out the chunks of a body for the user of the session.
func lowstate(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	return q.carryOutAll(low)
}

func (q *request) carryOutAll(low []*data.Map) error {
	items, missing, err := q.carryOut(q.caller, low)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, web.WithMissing(data.NewMap("return", items), missing))
}

// runAlone carries out chunks with credentials of their own, or of the API key that a header has.
func runAlone(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	c, err := q.Gate.Key(web.HeaderCredential(q.r), q.from)
	for i, chunk := range low {
		if chunk.Has("token") || chunk.Has("eauth") {
			continue
		}
		if r, ok := errors.AsType[*netapi.Rejection](err); ok && r.OfKey() {
			return err
		}
		if err == nil {
			low[i] = chunk.Clone()
			low[i].Set("token", c.Token)
		}
	}
	return q.carryOutAll(low)
}

// carryOut carries out chunks one after the other.
func (q *request) carryOut(c netapi.Caller, low []*data.Map) (items, missing []any, err error) {
	return web.CarryOut(q.r.Context(), q.Gate, c, low)
}

// one carries out a chunk that has one item.
func (q *request) one(c netapi.Caller, low *data.Map) (any, error) {
	items, _, err := q.carryOut(c, []*data.Map{low})
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return items[0], nil
}
