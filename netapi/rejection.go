package netapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/auth"
)

// A Rejection is why a credential is refused: a session, a token or an API key. It is the reason of a *Fault,
// for the log; a client is told no more than that its API key has expired or has been deleted.
type Rejection struct {
	User string // whose credential it is or was; "" if that is not known
	Key  string // id of the API key, if it may be one
	Why  string
	// it was an API key, whose holder may know what has become of it
	wasKey bool
	// a line of the log has it
	logged bool
}

// Error returns the reason with what is known of the credential.
func (r *Rejection) Error() string {
	switch {
	case r.wasKey:
		return fmt.Sprintf("API key %s: %s", r.Key, r.Why)
	case r.Key != "":
		return fmt.Sprintf("%s (as an API key it would have the id %s)", r.Why, r.Key)
	}
	return r.Why
}

// OfKey reports whether the credential is or was an API key.
func (r *Rejection) OfKey() bool { return r.wasKey }

// The reasons of a Rejection, besides "expired since".
const (
	whyUnknown   = "unknown"
	whyAddress   = "not allowed from this address (api_acl)"
	whyRevoked   = "revoked"
	whyDeleted   = "deleted"
	whyLoggedOut = "logged out"
	whyReplaced  = "ended by another login"
	whyIdle      = "not used for too long"
	whyCrowded   = "ended in favour of newer sessions"
	whyStopped   = "ended with salt-api"
	whyNoSession = "a token, and no session"
	whyScope     = "valid, but without the right to this"
)

func expiredSince(t time.Time) string { return "expired since " + t.UTC().Format(time.RFC3339) }

// A trace is what is known of a credential that was valid.
type trace struct {
	user   string
	key    string    // id of an API key
	expire time.Time // zero for a session
	why    string    // why it is not valid any more; "" if that is not known
}

// mostTraces limits the credentials that are remembered.
const mostTraces = 10_000

// past remembers credentials that were valid, so that the log can say why they are refused.
type past struct {
	mu    sync.Mutex
	known map[string]trace
}

func (p *past) note(credential string, t trace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostTraces && p.known[credential] == (trace{}) {
		p.known = map[string]trace{}
	}
	p.known[credential] = t
}

// lost notes that a credential is not there any more.
func (p *past) lost(credential string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.known[credential]
	if !ok || t.why != "" || t.expire.IsZero() {
		return
	}
	switch {
	case !now.Before(t.expire):
		t.why = expiredSince(t.expire)
	case t.key != "":
		t.why = whyRevoked
	default:
		t.why = whyDeleted
	}
	p.known[credential] = t
}

// rejection returns why a credential is refused that is no session's id.
func (p *past) rejection(credential string) *Rejection {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.known[credential]
	if !ok {
		r := &Rejection{Why: whyUnknown}
		if len(credential) == 64 && isHex(credential) {
			r.Key = auth.KeyID(credential)
		}
		return r
	}
	r := &Rejection{User: t.user, Key: t.key, Why: t.why, wasKey: t.key != ""}
	if r.Why == "" {
		r.Why = whyNoSession
	}
	return r
}

// refuseFor returns the fault for a rejection, with a text that Salt has for it unless it was an API key.
func refuseFor(r *Rejection, text string) *Fault {
	switch {
	case !r.wasKey:
	case r.Why == whyRevoked:
		text = "The API key " + r.Key + " has been deleted"
	case strings.HasPrefix(r.Why, "expired"):
		text = "The API key " + r.Key + " has expired"
	}
	return because(http.StatusUnauthorized, r, text)
}

// elsewhere returns the fault of a token whose user may not come from an address.
func elsewhere(t Token) *Fault {
	return refuseFor(t.rejection(whyAddress), textNoSession)
}

func (t Token) rejection(why string) *Rejection {
	r := &Rejection{User: t.User, Why: why}
	if t.Eauth == auth.KeySystem {
		r.Key, r.wasKey = auth.KeyID(t.Value), true
	}
	return r
}

// Refused writes into the log why the credential of a request from an address was refused, if err says so
// and no other line has it. Similar lines are limited to one a minute.
func (g *Gate) Refused(from netip.Addr, err error) {
	r, ok := errors.AsType[*Rejection](err)
	if !ok || r.logged || g.Audit == nil {
		return
	}
	subject := Network(from).String() + " " + r.User + " " + r.Key + " " + r.Why
	if skipped, ok := g.refusals.Allow(subject); ok {
		g.Audit.refused(r, from, skipped)
	}
}
