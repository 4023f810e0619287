// Package web is what the doors of salt-api have in common: the credentials of a request and the pages
// that may use them, chunks of lowdata, lists of jobs, events of hooks, and streams of events.
package web

import (
	"encoding/hex"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/brineproject/brine/netapi"
)

// CookieName is the cookie with the id of a session, or with a token.
const CookieName = "session_id"

// BodyBeforeLogin limits the body of a request whose login is in that body, or that needs none, in bytes.
const BodyBeforeLogin = 64 << 10

// Address returns the address of the client of r, the zero Addr if it is none.
func Address(r *http.Request) netip.Addr { return netapi.AddressOf(r.RemoteAddr) }

// HeaderCredential returns what a header of r names as its login: X-Auth-Token, else Authorization with
// Bearer and a token or an API key; "" if it has neither. Bearers of another form are for others, such as
// a proxy.
func HeaderCredential(r *http.Request) string {
	if id := r.Header.Get("X-Auth-Token"); id != "" {
		return id
	}
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || len(bearer) != 64 {
		return ""
	}
	if _, err := hex.DecodeString(bearer); err != nil {
		return ""
	}
	return bearer
}

// Credential returns what r names as its login: that of a header, else the cookie session_id; "" if it
// has neither.
func Credential(r *http.Request) string {
	if id := HeaderCredential(r); id != "" {
		return id
	}
	if c, err := r.Cookie(CookieName); err == nil {
		return c.Value
	}
	return ""
}

// Secure reports whether browsers may send a cookie over TLS alone: the request came so, or through a proxy
// that speaks TLS (secure_cookie). The header X-Forwarded-Proto does not count, as anybody can send it.
func Secure(r *http.Request, d *netapi.Door) bool { return r.TLS != nil || d.SecureCookie }

// SetCookie gives the client the cookie session_id for a number of seconds; less than 0 deletes it. No
// script can read it, and no other page sends it.
func SetCookie(w http.ResponseWriter, r *http.Request, d *netapi.Door, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: CookieName, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true,
		Secure: Secure(r, d), SameSite: http.SameSiteStrictMode})
}

// Origins are the origins whose pages may use a door (cors_origin). Without any, only pages of the door
// itself may; Salt's rest_cherrypy lets those of every origin use the cookies of its users.
type Origins struct {
	listed []string
	csrf   *http.CrossOriginProtection
}

// NewOrigins returns the origins of a list, such as https://console.example.com. With "*" the pages of
// all others may read answers, but not use the cookie of their visitors. The error names an entry that is
// not the origin of a page, such as one with a path.
func NewOrigins(list []string) (*Origins, error) {
	o := &Origins{listed: list, csrf: http.NewCrossOriginProtection()}
	for _, origin := range list {
		if origin == "*" {
			continue
		}
		if err := o.csrf.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Check returns a *netapi.Fault if a page of another origin uses the cookie of its visitor, whatever the
// method: GET of an event stream or of minions has effects too.
func (o *Origins) Check(r *http.Request) error {
	if HeaderCredential(r) != "" || r.Header.Get("X-Requested-With") != "" {
		return nil // a page cannot set these without the leave of cors_origin
	}
	asked := *r
	asked.Method = http.MethodPost // GET would always pass
	if err := o.csrf.Check(&asked); err != nil {
		return &netapi.Fault{Status: http.StatusForbidden, Text: "The page of another origin may not use this session", Err: err}
	}
	return nil
}

// Answer sets the headers for pages of other origins, and answers preflight requests; then done is true.
// methods are those of the address, as in the header Allow.
func (o *Origins) Answer(w http.ResponseWriter, r *http.Request, methods string) (done bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	named := slices.Contains(o.listed, origin)
	switch {
	case origin == "":
	case named:
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "GET, POST, X-Auth-Token")
	case slices.Contains(o.listed, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "GET, POST, X-Auth-Token")
		named = true
	}
	if r.Method != http.MethodOptions {
		return false
	}
	if named {
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Auth-Token, X-Requested-With")
		h.Set("Access-Control-Max-Age", "1400")
	}
	h.Set("Allow", methods)
	w.WriteHeader(http.StatusNoContent)
	return true
}
