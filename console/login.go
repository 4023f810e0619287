package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/web"
)

// A loginForm is the page of the login.
type loginForm struct {
	Systems    []string
	System     string
	User, Next string
	Fault      string
	Lost       bool   // a form was sent without a session
	Provider   string // where a login at a provider begins; "" if there is none
}

// loginPage shows the form. Users who have logged in are sent on.
func loginPage(q *request) error {
	next := nextPage(q.r.URL.Query().Get("next"))
	if q.session != nil {
		return q.redirect(next)
	}
	return q.render(http.StatusOK, "login", "Log in", newLoginForm(q, next))
}

// newLoginForm returns the form that leads to a page. A password is of no use in the system of the
// provider.
func newLoginForm(q *request, next string) *loginForm {
	form := &loginForm{Next: next, Lost: strings.Contains(next, keptField+"=1")}
	for _, name := range q.Systems {
		if name != netapi.OIDCSystem {
			form.Systems = append(form.Systems, name)
		}
	}
	if q.Provider != "" {
		form.Provider = q.Provider + "?" + url.Values{"next": {q.Root + next}}.Encode()
	}
	return form
}

// logIn begins a session.
func logIn(q *request) error {
	form := newLoginForm(q, nextPage(q.r.PostForm.Get("next")))
	form.System, form.User = q.r.PostForm.Get("eauth"), q.r.PostForm.Get("username")
	login := data.NewMap("username", form.User, "password", q.r.PostForm.Get("password"), "eauth", form.System)
	old := ""
	if c, err := q.r.Cookie(cookieName); err == nil {
		old = c.Value
	}
	session, err := q.Gate.LogIn(q.r.Context(), login, q.from(), old)
	if fault, ok := errors.AsType[*netapi.Fault](err); ok {
		if form.Fault = loginFault(fault); form.Fault != "" {
			fault.SetHeaders(q.w.Header())
			return q.render(fault.Status, "login", "Log in", form)
		}
	}
	if err != nil {
		return err
	}
	q.setSession(session.ID, int(session.Token.Expire.Sub(q.Now()).Seconds()))
	return q.redirect(form.Next)
}

// loginFault returns what the form says about a login that is refused for what was typed; "" for another
// fault.
func loginFault(f *netapi.Fault) string {
	switch f.Status {
	case http.StatusUnauthorized:
		return "The name, the password or the system is wrong."
	case http.StatusTooManyRequests:
		return strings.ToUpper(f.Text[:1]) + f.Text[1:] + "."
	}
	return ""
}

// logOut ends the session and its token.
func logOut(q *request) error {
	if err := q.gate.LogOut(q.session); err != nil {
		q.Log.Errorf("delete the token of %s at the end of a session: %v", q.caller.User, err)
	}
	q.setSession("", -1)
	return q.redirect("/login")
}

// setSession gives the browser the cookie of a session for a number of seconds. The cookie comes along
// when a link on another site is followed, so that addresses of pages can be shared.
func (q *request) setSession(id string, seconds int) {
	http.SetCookie(q.w, &http.Cookie{Name: cookieName, Value: id, Path: q.Root + "/", MaxAge: seconds, HttpOnly: true,
		Secure: web.Secure(q.r, q.Gate.Door), SameSite: http.SameSiteLaxMode})
}

// askLogin sends the browser to the login and from there back. The script of a page gets the status 401.
func (q *request) askLogin() {
	if q.byScript() {
		q.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	next := ""
	if q.r.Method == http.MethodGet {
		next = strings.TrimPrefix(q.r.URL.RequestURI(), q.Root)
	} else {
		next = formPage(q)
	}
	_ = q.redirect("/login", "next", next)
}

// keptField is the field of an address that says that its form was sent without a session. The script
// then fills in what was typed.
const keptField = "kept"

// formPage returns the page of the form that a request has sent, with those of its fields that may stand
// in an address.
func formPage(q *request) string {
	page := strings.TrimPrefix(q.r.URL.Path, q.Root)
	for _, act := range []string{"/stop", "/apply", "/grains", "/cancel"} {
		if form, ok := strings.CutSuffix(page, act); ok {
			page = form
			break
		}
	}
	if page == "/logout" {
		return ""
	}
	fields := url.Values{keptField: {"1"}}
	for _, name := range addressFields()[page] {
		if v := q.r.PostForm.Get(name); v != "" && len(v) < 1000 {
			fields.Set(name, v)
		}
	}
	return (&url.URL{Path: page, RawQuery: fields.Encode()}).String()
}

// addressFields are the fields of forms that are also fields in the address of their page. Arguments of
// functions can be secret, and are not among them.
func addressFields() map[string][]string {
	return map[string][]string{"/run": {"tgt", "tgt_type", "fun", "batch", "timeout", "queue", "queue_for"},
		"/keys": {"state", "q", "after"}, "/schedules": {"minion"}}
}

// nextPage returns a page of the console that a query names, below the root. Anything else is the first
// page.
func nextPage(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.Contains(text, `\`) || strings.HasPrefix(text, "/login") {
		return "/"
	}
	return text
}
