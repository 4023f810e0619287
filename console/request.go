package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// A request is one request on its way to its page.
type request struct {
	*site
	w http.ResponseWriter
	r *http.Request
	// of a request with a login
	session *netapi.Session
	caller  netapi.Caller
	gate    *netapi.Gate // that has the session
	ask     *asker       // of the caller, as those that follow
	minions minions
	keys    keyring
	jobs    jobCache
	said    string // the text of notify
}

// cookieName is the cookie with the id of a console's session. It is another than that of the API, so
// that a page of the API's cannot use it.
const cookieName = "brine_console"

// bodyLimit limits the body of a form, in bytes.
const bodyLimit = 1 << 20

func (q *request) from() netip.Addr { return web.Address(q.r) }

// enter checks the address, the origin and, unless the page is open, the session.
func (q *request) enter(open bool) error {
	if err := q.Gate.Admit(q.from()); err != nil {
		return err
	}
	if err := q.csrf.Check(q.r); err != nil {
		return &netapi.Fault{Status: http.StatusForbidden, Text: "The form was sent by the page of another site.", Err: err}
	}
	if embedded(q.r) {
		return &netapi.Fault{Status: http.StatusForbidden, Text: "The page was asked for by a part of another site's page."}
	}
	if q.r.Method == http.MethodPost {
		q.r.Body = http.MaxBytesReader(q.w, q.r.Body, bodyLimit)
		if err := q.r.ParseForm(); err != nil {
			return &netapi.Fault{Status: http.StatusBadRequest, Text: "The form cannot be read: " + err.Error()}
		}
	}
	q.caller = netapi.Caller{From: q.from()}
	if !q.find(cookieName, q.Gate) && !(q.Provider != "" && q.find(web.CookieName, q.API) && q.session.Token.Eauth == netapi.OIDCSystem) {
		q.session = nil
		if open {
			return nil
		}
		return errNoLogin
	}
	q.caller = q.session.Caller(q.from())
	q.ask = &asker{gate: q.Gate, caller: q.caller, ctx: q.r.Context(), absent: &q.absent, now: q.Now}
	q.minions, q.keys, q.jobs = minions{q.ask}, keyring{q.ask}, jobCache{q.ask}
	return nil
}

// embedded reports whether another site asks for a page, or for a part of its own: an image, a script, a
// frame. Pages ask the master and minions in the name of their visitor, so that only a link may lead
// here. A browser that sends no such headers is not stopped.
func embedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// find finds the session that a cookie names at a gate. It reports whether there is one whose token is
// valid.
func (q *request) find(cookie string, gate *netapi.Gate) bool {
	c, err := q.r.Cookie(cookie)
	if err != nil || gate == nil {
		return false
	}
	if q.session, err = gate.Session(c.Value, q.from()); err != nil {
		gate.Refused(q.from(), err)
		return false
	}
	if !gate.Valid(q.session.Token.Value) {
		return false
	}
	q.gate = gate
	return true
}

// streams returns what serves event streams.
func (q *request) streams() *web.Streams {
	return &web.Streams{Gate: q.Gate, Hub: q.Hub, Log: q.Log}
}

// href returns the address of a page: its path below the root, and its query. Keys without a value are
// left out.
func (q *request) href(path string, query ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			values.Add(query[i], query[i+1])
		}
	}
	if len(values) == 0 {
		return q.Root + path
	}
	return q.Root + path + "?" + values.Encode()
}

// redirect sends the browser to another page, which it gets with GET.
func (q *request) redirect(path string, query ...string) error {
	http.Redirect(q.w, q.r, q.href(path, query...), http.StatusSeeOther)
	return nil
}

// noticeCookie is the cookie with a text for the next page.
const noticeCookie = "brine_notice"

// notify shows a text on the next page that the browser gets, once.
func (q *request) notify(text string) {
	q.said = text
	http.SetCookie(q.w, &http.Cookie{Name: noticeCookie, Value: url.QueryEscape(clip(text, 500)), Path: q.Root + "/", MaxAge: 60,
		HttpOnly: true, Secure: web.Secure(q.r, q.Gate.Door), SameSite: http.SameSiteLaxMode})
}

// byScript reports whether the script of a page has sent the request, not a person who goes to a page.
func (q *request) byScript() bool {
	mode := q.r.Header.Get("Sec-Fetch-Mode")
	return mode != "" && mode != "navigate"
}

// notice returns the text of the last notify, and removes it. The script that renews a part of a page
// leaves it to the next page.
func (q *request) notice() string {
	c, err := q.r.Cookie(noticeCookie)
	if err != nil || q.byScript() {
		return ""
	}
	http.SetCookie(q.w, &http.Cookie{Name: noticeCookie, Path: q.Root + "/", MaxAge: -1, HttpOnly: true,
		Secure: web.Secure(q.r, q.Gate.Door), SameSite: http.SameSiteLaxMode})
	text, err := url.QueryUnescape(c.Value)
	if err != nil {
		return ""
	}
	return text
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
