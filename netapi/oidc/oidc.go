// Package oidc logs users of salt-api in at a provider of OpenID Connect, by the authorization code
// flow with PKCE.
//
//	begun, err := provider.Begin(ctx, "/")             // send the browser to begun.URL, with begun.Cookie
//	who, next, err := provider.Finish(ctx, cookie, q)  // when the provider has sent it back with the query q
//
// Nothing is kept of a login that was begun: its state, nonce and verifier are in the cookie, encrypted
// with a key of this process. So strangers who begin many logins use no memory. What is kept, for the
// minutes that a cookie is valid, is which of them were finished.
//
// The provider is asked for its addresses when they are first needed, so that salt-api starts without it.
package oidc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	goidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/brineproject/brine/netapi"
)

// Options configure a Provider.
type Options struct {
	Settings *netapi.OIDC
	Client   *http.Client     // nil means one with time limits
	Now      func() time.Time // nil means time.Now
}

const (
	patience     = 10 * time.Second // for each request to the provider
	mostAnswer   = 1 << 20          // bytes of an answer of the provider
	knownFor     = 24 * time.Hour   // how long its addresses are used
	againAfter   = 2 * time.Second  // how long a failure to find it counts
	mostAtOnce   = 32               // logins that are finished at a time
	textNotThere = "The login provider cannot be reached"
)

// A Provider logs users in. It is safe for concurrent use.
type Provider struct {
	Options
	box   *box
	turns chan struct{}

	asking chan struct{} // has an element while the provider is asked for its addresses, and for what follows
	known  *goidc.Provider
	until  time.Time
	fault  error // why the last try failed
	again  time.Time
}

// New returns a Provider. It does not ask it anything yet.
func New(o Options) (*Provider, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		o.Client = &http.Client{Timeout: patience, Transport: bounded{transport}}
	}
	b, err := newBox(o.Now)
	if err != nil {
		return nil, err
	}
	return &Provider{Options: o, box: b, turns: make(chan struct{}, mostAtOnce), asking: make(chan struct{}, 1)}, nil
}

// bounded limits answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostAnswer), answer.Body}
	}
	return answer, err
}

// find returns the provider's addresses.
func (p *Provider) find(ctx context.Context) (*goidc.Provider, error) {
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := p.Now()
	if p.known != nil && now.Before(p.until) {
		return p.known, nil
	}
	if p.fault != nil && now.Before(p.again) {
		return nil, p.fault
	}
	// another caller's client may leave meanwhile, and the keys are fetched with this context later
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	found, err := goidc.NewProvider(goidc.ClientContext(asking, p.Client), p.Settings.Issuer)
	if err == nil {
		err = p.checkAddresses(found)
	}
	switch {
	case err == nil:
		p.known, p.until, p.fault = found, now.Add(knownFor), nil
	case p.known != nil: // what it said a day ago is still likely
		p.until = now.Add(time.Minute)
	default:
		p.fault = &netapi.Fault{Status: http.StatusServiceUnavailable, Text: textNotThere,
			Err: fmt.Errorf("ask %s for its addresses: %w", p.Settings.Issuer, err)}
		p.again = now.Add(againAfter)
		return nil, p.fault
	}
	return p.known, nil
}

// checkAddresses refuses addresses without TLS of a provider with it.
func (p *Provider) checkAddresses(found *goidc.Provider) error {
	if !strings.HasPrefix(p.Settings.Issuer, "https://") {
		return nil
	}
	var more struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&more); err != nil {
		return err
	}
	for _, address := range []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL, more.Keys} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" {
			return fmt.Errorf("its address %q does not begin with https://", address)
		}
	}
	return nil
}

func (p *Provider) oauth(found *goidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.Settings.ClientID, ClientSecret: p.Settings.ClientSecret,
		Endpoint: found.Endpoint(), RedirectURL: p.Settings.RedirectURL, Scopes: p.Settings.Scopes}
}

// A Begun login goes on at the provider.
type Begun struct {
	URL    string // of the provider, for the browser
	Cookie string // for Finish; it is valid for Valid
}

// Valid is how long a user may take to log in.
const Valid = 10 * time.Minute

// Begin begins a login. next is the local path for the browser afterwards; "" is /. The error is a
// *netapi.Fault.
func (p *Provider) Begin(ctx context.Context, next string) (Begun, error) {
	next = cmp.Or(next, "/")
	if !isLocal(next) {
		return Begun{}, refuse(http.StatusBadRequest, "next must be a path of this server", nil)
	}
	found, err := p.find(ctx)
	if err != nil {
		return Begun{}, err
	}
	a := attempt{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), Next: next}
	cookie, err := p.box.seal(a)
	if err != nil {
		return Begun{}, err
	}
	address := p.oauth(found).AuthCodeURL(a.State, goidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	return Begun{address, cookie}, nil
}

// isLocal reports whether a browser stays at this server when it is sent to a path.
func isLocal(path string) bool {
	u, err := url.Parse(path)
	return err == nil && len(path) <= 1024 && path[0] == '/' && !strings.HasPrefix(path, "//") && u.Host == "" && u.Scheme == "" &&
		!strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f })
}

// Finish ends a login: cookie is that of Begin, and query what the provider has sent the browser back
// with. It returns who the user is, and the path for the browser. The error is a *netapi.Fault.
func (p *Provider) Finish(ctx context.Context, cookie string, query url.Values) (who netapi.Proven, next string, err error) {
	a, err := p.box.open(cookie)
	if err != nil {
		return who, "", refuse(http.StatusBadRequest, "This browser has begun no login, or more than ten minutes ago: begin again", err)
	}
	if !same(query.Get("state"), a.State) {
		return who, "", refuse(http.StatusBadRequest, "The state is not that of the login which this browser has begun: begin again", nil)
	}
	if !p.box.use(a) {
		return who, "", refuse(http.StatusBadRequest, "This login has been finished already: begin again", nil)
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != p.Settings.Issuer {
		return who, "", refuse(http.StatusBadRequest, "The answer is from another provider", nil)
	}
	if reason := query.Get("error"); reason != "" {
		return who, "", refuse(http.StatusUnauthorized, "The provider refuses the login: "+plain(reason),
			errors.New(plain(query.Get("error_description"))))
	}
	if query.Get("code") == "" {
		return who, "", refuse(http.StatusBadRequest, "The provider has sent no code", nil)
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	default:
		return who, "", refuse(http.StatusServiceUnavailable, "Too many logins are being finished: try again", nil)
	}
	who, err = p.exchange(ctx, a, query.Get("code"))
	return who, a.Next, err
}

// exchange gives the provider the code for an ID token, and returns of whom it is.
func (p *Provider) exchange(ctx context.Context, a attempt, code string) (who netapi.Proven, err error) {
	found, err := p.find(ctx)
	if err != nil {
		return who, err
	}
	ctx, cancel := context.WithTimeout(goidc.ClientContext(ctx, p.Client), 2*patience)
	defer cancel()
	tokens, err := p.oauth(found).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if failed, ok := errors.AsType[*oauth2.RetrieveError](err); ok && failed.Response.StatusCode < http.StatusInternalServerError {
		return who, refuse(http.StatusUnauthorized, "The provider does not accept the code: "+plain(failed.ErrorCode),
			errors.New(plain(failed.ErrorDescription)))
	}
	if err != nil {
		return who, refuse(http.StatusServiceUnavailable, textNotThere, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return who, refuse(http.StatusUnauthorized, "The provider does not say who the user is: there is no ID token", nil)
	}
	return p.verify(ctx, found, raw, a.Nonce)
}

// refuse returns a fault.
func refuse(status int, text string, err error) *netapi.Fault {
	return &netapi.Fault{Status: status, Text: text, Err: err}
}

// plain returns a text of the provider, or of whoever wrote the link, for a message.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '<' || r == '>' || r == '&' || r == '"' {
			return -1
		}
		return r
	}, text)
	return text[:min(len(text), 100)]
}
