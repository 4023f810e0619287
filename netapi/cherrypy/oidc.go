package cherrypy

import (
	"net/http"
	"strings"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
	"github.com/brineproject/brine/netapi/oidc"
	"github.com/brineproject/brine/netapi/web"
)

// loginCookie is the cookie of a login that was begun at a provider.
const loginCookie = "oidc_login"

// viaProvider logs a user in at a provider of OpenID Connect: login sends the browser there, and callback
// is where it comes back.
func viaProvider(q *request) error {
	q.w.Header().Set("Cache-Control", "no-store")
	q.w.Header().Set("Referrer-Policy", "no-referrer") // the address of callback has a code
	switch strings.Join(q.rest, "/") {
	case "login":
		return beginAtProvider(q)
	case "callback":
		return finishAtProvider(q)
	}
	return &netapi.Fault{Status: http.StatusNotFound, Text: "The path '" + q.r.URL.Path + "' was not found."}
}

func beginAtProvider(q *request) error {
	begun, err := q.OIDC.Begin(q.r.Context(), q.r.URL.Query().Get("next"))
	if err != nil {
		return err
	}
	q.setLoginCookie(begun.Cookie, int(oidc.Valid.Seconds()))
	http.Redirect(q.w, q.r, begun.URL, http.StatusSeeOther)
	return nil
}

// setLoginCookie gives the browser the cookie of a login, which it must send when it comes back from the
// provider's page: that is why it is not strict.
func (q *request) setLoginCookie(value string, seconds int) {
	http.SetCookie(q.w, &http.Cookie{Name: loginCookie, Value: value, Path: strings.TrimSuffix(q.Door.Prefix, "/") + "/oidc",
		MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: web.Secure(q.r, q.Door) || strings.HasPrefix(q.Door.OIDC.RedirectURL, "https://")})
}

func finishAtProvider(q *request) error {
	if q.r.Method != http.MethodGet {
		return &netapi.Fault{Status: http.StatusMethodNotAllowed, Text: "Specified method is invalid for this resource"}
	}
	cookie := ""
	if c, err := q.r.Cookie(loginCookie); err == nil {
		cookie = c.Value
	}
	who, next, err := q.OIDC.Finish(q.r.Context(), cookie, q.r.URL.Query())
	if err != nil {
		if f := netapi.FaultOf(err); f.Err != nil {
			q.Log.Warnf("login of %s at %s: %v", q.from, q.Door.OIDC.Issuer, err)
		}
		return err
	}
	who.Old = web.Credential(q.r)
	s, err := q.Gate.Enter(who, q.from)
	if err != nil {
		return err
	}
	q.setLoginCookie("", -1)
	http.SetCookie(q.w, &http.Cookie{Name: web.CookieName, Value: s.ID, Path: "/", MaxAge: 36000, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // the redirect to next is still on its way from the provider's page
		Secure:   web.Secure(q.r, q.Door) || strings.HasPrefix(q.Door.OIDC.RedirectURL, "https://")})
	accept := q.r.Header.Get("Accept")
	if strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html") {
		if q.format, err = media.Choose("application/json"); err != nil {
			return err
		}
		return q.answerSession(s)
	}
	q.w.Header().Set("Location", next)
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}
