// Package web is what the doors of salt-api have in common: the credentials of a request and the pages
// that may use them, chunks of lowdata, lists of jobs, events of hooks, and streams of events.
package web

import (
	"encoding/hex"
	"net/http"
	"net/netip"
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
