package cherrypy

import (
	"net/http"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// pleaseLogIn says how to log in.
func pleaseLogIn(q *request) error {
	q.w.Header().Set("Www-Authenticate", "Session")
	return q.answer(http.StatusOK, data.NewMap("status", nil, "return", "Please log in"))
}

// logIn makes a session. A page of another origin gets no cookie, so that it cannot log its visitor in as
// somebody else, and no session of its visitor's.
func logIn(q *request) error {
	low, err := q.body.Low()
	if err != nil || len(low) == 0 {
		return &netapi.Fault{Status: http.StatusUnauthorized, Text: "Could not authenticate using provided credentials", Err: err}
	}
	own, old := q.origins.Check(q.r) == nil, ""
	if own {
		old = web.Credential(q.r)
	}
	s, err := q.Gate.LogIn(q.r.Context(), low[0], q.from, old)
	if err != nil {
		return err
	}
	if own {
		web.SetCookie(q.w, q.r, q.Door, s.ID, 36000)
	}
	return q.answerSession(s)
}

// answerSession answers with a session.
func (q *request) answerSession(s *netapi.Session) error {
	q.w.Header().Set("X-Auth-Token", s.ID)
	t := s.Token
	return q.answer(http.StatusOK, data.NewMap("return", []any{data.NewMap("token", s.ID, "expire", auth.Seconds(t.Expire),
		"start", auth.Seconds(t.Start), "user", t.User, "eauth", t.Eauth, "perms", q.Gate.Perms(t))}))
}

// logOut ends a session. An API key has none, and stays.
func logOut(q *request) error {
	if q.session == nil {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "An API key has no session; the runner auth.del_key deletes it"}
	}
	if err := q.Gate.LogOut(q.session); err != nil {
		q.Log.Errorf("delete the token of %s at the end of a session: %v", q.session.Token.User, err)
	}
	web.SetCookie(q.w, q.r, q.Door, "", -1)
	return q.answer(http.StatusOK, data.NewMap("return", "Your token has been cleared"))
}

// makeToken makes a token of the master for each chunk. The answer is a bare list. Salt calls the
// runner auth.mk_token for it, so that its users need the right to that runner, and all who read
// events see the token.
func makeToken(q *request) error {
	low, err := q.body.Low()
	if err != nil {
		return err
	}
	tokens := make([]any, len(low))
	for i, given := range low {
		for _, field := range []string{"username", "password", "eauth"} {
			if !given.Has(field) {
				return &netapi.Fault{Status: http.StatusBadRequest,
					Text: `Require "username", "password", and "eauth" params`}
			}
		}
		t, err := q.Gate.MakeToken(q.r.Context(), given, q.from)
		if err != nil {
			return err
		}
		tokens[i] = data.NewMap("start", auth.Seconds(t.Start), "expire", auth.Seconds(t.Expire), "name", t.User, "eauth", t.Eauth,
			"token", t.Value)
	}
	return q.answer(http.StatusOK, tokens)
}
