package tornado

import (
	"net/http"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// pleaseLogIn says how to log in. Those who are not logged in are sent here.
func pleaseLogIn(q *request) error {
	q.w.Header().Set("Www-Authenticate", "Session")
	return q.answer(http.StatusUnauthorized, data.NewMap("status", "401 Unauthorized", "return", "Please log in"))
}

// logIn makes a token of the master. A page of another origin gets no cookie, so that it cannot log its
// visitor in as somebody else.
func logIn(q *request) error {
	given, ok := q.body.Value.(*data.Map)
	if !ok {
		return badRequest("The body must be an object with username, password and eauth")
	}
	for _, field := range []string{"username", "password", "eauth"} {
		if !given.Has(field) {
			return badRequest("The field " + field + " is not there")
		}
	}
	t, err := q.Gate.NewToken(q.r.Context(), given, q.caller.From)
	if err != nil {
		return err
	}
	if q.origins.Check(q.r) == nil {
		web.SetCookie(q.w, q.r, q.Door, t.Value, max(1, int(t.Expire.Sub(q.Now())/time.Second)))
	}
	q.w.Header().Set("X-Auth-Token", t.Value)
	return q.answer(http.StatusOK, data.NewMap("return", []any{data.NewMap("token", t.Value, "expire", auth.Seconds(t.Expire),
		"start", auth.Seconds(t.Start), "user", t.User, "eauth", t.Eauth, "perms", q.Gate.Perms(t))}))
}

func badRequest(text string) error {
	return &netapi.Fault{Status: http.StatusBadRequest, Text: text}
}
