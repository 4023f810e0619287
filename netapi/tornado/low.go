package tornado

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// clients returns the clients of this door, in the order in which GET / lists them.
func clients() []string { return []string{"local", "local_async", "runner", "runner_async"} }

// The texts of answers.
const (
	textNoMinions   = "No minions matched the target. No command was sent, no jid was assigned."
	textNoClient    = "400 Invalid Client: Client not found in salt clients"
	textNotHere     = "We don't serve your kind here"
	textNotVerified = "Failed to authenticate"
	textFailed      = "Unexpected exception while handling request: "
)

// welcome says what there is.
func welcome(q *request) error {
	return q.answer(http.StatusOK, data.NewMap("clients", data.Values(clients()), "return", "Welcome"))
}

// lowstate carries out the chunks of a body.
func lowstate(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	return q.dispatch(low)
}

// runAlone carries out chunks that have credentials of their own; a chunk without any takes the token of
// the request.
func runAlone(q *request) error {
	c, err := q.Gate.Caller(web.Credential(q.r), q.caller.From)
	if err == nil {
		if err := q.origins.Check(q.r); err != nil {
			return err
		}
		q.caller = c
	}
	return lowstate(q)
}

// minionsAsync sends jobs and does not wait for them.
func minionsAsync(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	for _, chunk := range low {
		if !chunk.Has("client") {
			chunk.Set("client", "local_async")
		}
		if chunk.Value("client") != "local_async" {
			return &plain{http.StatusBadRequest, textNotHere}
		}
	}
	return q.dispatch(low)
}

// minions returns the grains of the minions that a glob matches.
func minions(q *request) error {
	id := "*"
	if len(q.rest) > 0 && q.rest[0] != "" {
		id = q.rest[0]
	}
	return q.dispatch([]*data.Map{data.NewMap("client", "local", "tgt", id, "fun", "grains.items")})
}

// jobs returns one job, or a list of jobs, which a query makes shorter.
func jobs(q *request) error {
	if len(q.rest) > 0 && q.rest[0] != "" {
		return q.dispatch([]*data.Map{data.NewMap("client", "runner", "fun", "jobs.list_job", "jid", q.rest[0])})
	}
	list, err := q.jobLists.List(q.r.URL.Query(), q.Now(), func(low *data.Map) (any, error) {
		items, _, err := q.carryOut([]*data.Map{low})
		if err != nil || len(items) == 0 {
			return nil, err
		}
		return items[0], nil
	})
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, data.NewMap("return", []any{list}))
}

// dispatch carries out chunks and answers with what they brought.
func (q *request) dispatch(low []*data.Map) error {
	for i, chunk := range low {
		if err := checkChunk(chunk, i); err != nil {
			return err
		}
	}
	items, missing, err := q.carryOut(low)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, web.WithMissing(data.NewMap("return", items), missing))
}

// checkChunk refuses chunks that no master need see, so that none before them is carried out.
func checkChunk(chunk *data.Map, i int) error {
	client, _ := chunk.Value("client").(string)
	if !slices.Contains(clients(), client) {
		return &plain{http.StatusBadRequest, textNoClient}
	}
	needed := []string{"fun"}
	if strings.HasPrefix(client, "local") {
		needed = append(needed, "tgt")
	}
	for _, field := range needed {
		if v := chunk.Value(field); v == nil || v == "" {
			return badRequest("Chunk " + data.Str(int64(i+1)) + " lacks the field " + field)
		}
	}
	return nil
}

// carryOut carries out chunks one after the other, as Salt does: the text of a failure stands at its
// chunk's place, and a refused chunk ends it (saltnado.py, disbatch). Only where a failure is all there
// is, it is the error: a *netapi.Fault. So is a limit that refuses the first chunk, as nothing has been
// carried out. A refusal for want of a right never is.
func (q *request) carryOut(low []*data.Map) (items, missing []any, err error) {
	items = []any{}
	for i, chunk := range low {
		answer, err := q.order(chunk)
		f, failed := errors.AsType[*netapi.Fault](err)
		switch {
		case err == nil:
			items = append(items, answer.Items...)
			missing = web.AddMissing(missing, chunk, answer)
		case failed && f.Status == http.StatusUnauthorized:
			return append(items, textNotVerified), missing, nil
		case len(low) == 1, failed && i == 0 && f.Status == http.StatusTooManyRequests:
			return nil, nil, err
		default:
			items = append(items, textFailed+netapi.FaultOf(err).Text)
			missing = web.AddMissing(missing, chunk, &netapi.Answer{})
		}
	}
	return items, missing, nil
}

// order carries out one chunk.
func (q *request) order(chunk *data.Map) (*netapi.Answer, error) {
	isLocal := chunk.Value("client") == "local"
	if isLocal {
		chunk.Delete("full_return") // it has no effect here in Salt
	}
	answer, err := q.Gate.OrderEncoded(q.r.Context(), q.sender(chunk), chunk)
	if err != nil || !isLocal {
		return answer, err
	}
	for i, item := range answer.Items {
		answer.Items[i] = returned(item, answer.Missing)
	}
	return answer, nil
}

// sender returns in whose name a chunk is carried out. A chunk may have a token of its own, and on an
// address without a login a name and a password.
func (q *request) sender(chunk *data.Map) netapi.Caller {
	own := data.Truth(chunk.Value("token")) || !q.needsLogin() && chunk.Has("eauth")
	if own {
		return netapi.Caller{From: q.caller.From}
	}
	return q.caller
}

// returned returns the returns of minions in the form of this door: a text if there are no minions, and
// nothing of those that did not return.
func returned(item any, missing *data.Map) any {
	all, ok := item.(*data.Map)
	if !ok {
		return item
	}
	if all.Len() == 0 {
		return textNoMinions
	}
	for id := range missing.All() {
		all.Delete(id)
	}
	return all
}
