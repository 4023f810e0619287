package oidc

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/oidctest"
	"github.com/brineproject/brine/netapi"
)

func settings(p *oidctest.Provider) *netapi.OIDC {
	return &netapi.OIDC{Issuer: p.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret,
		RedirectURL: "https://salt.example.com/oidc/callback", Scopes: []string{"openid", "groups"},
		UsernameClaim: "preferred_username", GroupsClaim: "groups"}
}

func open(t *testing.T, o Options) *Provider {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func begin(t *testing.T, p *Provider) Begun {
	t.Helper()
	begun, err := p.Begin(t.Context(), "/jobs?limit=2")
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

func TestLogin(t *testing.T) {
	there := oidctest.Start(t)
	p := open(t, Options{Settings: settings(there)})
	begun := begin(t, p)
	u, err := url.Parse(begun.URL)
	if err != nil || u.Query().Get("redirect_uri") != "https://salt.example.com/oidc/callback" || u.Query().Get("scope") != "openid groups" {
		t.Errorf("%s, %v", begun.URL, err)
	}
	for _, secret := range []string{u.Query().Get("state"), u.Query().Get("nonce")} {
		if len(secret) < 32 || strings.Contains(begun.Cookie, secret) {
			t.Errorf("%q in the cookie %q", secret, begun.Cookie)
		}
	}
	who, next, err := p.Finish(t.Context(), begun.Cookie, there.Approve(t, begun.URL))
	if err != nil || who.User != "ann" || !slices.Equal(who.Groups, []string{"ops"}) || next != "/jobs?limit=2" {
		t.Errorf("%+v, %s, %v", who, next, err)
	}
}

// TestRefusedLogins changes one thing of a login that would be accepted.
func TestRefusedLogins(t *testing.T) {
	stranger := oidctest.NewKey(t)
	for name, c := range map[string]struct {
		claims map[string]any
		there  func(*oidctest.Provider)
		query  func(q url.Values)
		status int
		text   string
	}{
		"wrong state":               {query: func(q url.Values) { q.Set("state", "x") }, status: 400, text: "state"},
		"no state":                  {query: func(q url.Values) { q.Del("state") }, status: 400, text: "state"},
		"no code":                   {query: func(q url.Values) { q.Del("code") }, status: 400, text: "no code"},
		"made-up code":              {query: func(q url.Values) { q.Set("code", "x") }, status: 401, text: "invalid_grant"},
		"answer of another issuer":  {query: func(q url.Values) { q.Set("iss", "https://evil.example") }, status: 400, text: "another provider"},
		"access denied":             {query: func(q url.Values) { q.Set("error", "access_denied") }, status: 401, text: "access_denied"},
		"wrong nonce":               {claims: map[string]any{"nonce": "x"}, status: 401, text: "another login"},
		"no nonce":                  {claims: map[string]any{"nonce": nil}, status: 401, text: "another login"},
		"wrong audience":            {claims: map[string]any{"aud": "other"}, status: 401, text: "not for this server"},
		"token of another program":  {claims: map[string]any{"aud": []string{"salt-api", "x"}, "azp": "x"}, status: 401, text: "another program"},
		"wrong issuer":              {claims: map[string]any{"iss": "https://evil.example"}, status: 401, text: "not for this server"},
		"expired":                   {claims: map[string]any{"exp": time.Now().Unix() - 1}, status: 401, text: "expired"},
		"not valid yet":             {claims: map[string]any{"nbf": time.Now().Unix() + 3600}, status: 401, text: ""},
		"key of another issuer":     {there: func(p *oidctest.Provider) { p.Signer = stranger }, status: 401, text: "not signed by it"},
		"no signature":              {there: func(p *oidctest.Provider) { p.Signer = nil }, status: 401, text: "not signed by it"},
		"no name":                   {claims: map[string]any{"preferred_username": nil}, status: 401, text: "username_claim"},
		"a number as name":          {claims: map[string]any{"preferred_username": 1}, status: 401, text: "username_claim"},
		"a name with a meaning":     {claims: map[string]any{"preferred_username": "*"}, status: 401, text: "no user can have"},
		"a name with a line feed":   {claims: map[string]any{"preferred_username": "a\nb"}, status: 401, text: "no user can have"},
		"groups that are no list":   {claims: map[string]any{"groups": map[string]any{"a": 1}}, status: 401, text: "groups"},
		"groups that are no names":  {claims: map[string]any{"groups": []any{1}}, status: 401, text: "groups"},
		"too many groups":           {claims: map[string]any{"groups": slices.Repeat([]string{"g"}, 1001)}, status: 401, text: "groups"},
		"provider is down":          {there: func(p *oidctest.Provider) { p.Down = true }, status: 503, text: "cannot be reached"},
		"an error with other signs": {query: func(q url.Values) { q.Set("error", "<b>\n&") }, status: 401, text: "login: b"},
	} {
		t.Run(name, func(t *testing.T) {
			there := oidctest.Start(t)
			p := open(t, Options{Settings: settings(there)})
			begun := begin(t, p)
			query := there.Approve(t, begun.URL)
			for claim, v := range c.claims {
				there.Claims[claim] = v
			}
			if c.there != nil {
				c.there(there)
			}
			if c.query != nil {
				c.query(query)
			}
			who, _, err := p.Finish(t.Context(), begun.Cookie, query)
			wantFault(t, err, c.status, c.text)
			if who.User != "" {
				t.Errorf("%+v", who)
			}
		})
	}
}

func wantFault(t *testing.T, err error, status int, text string) {
	t.Helper()
	if err == nil {
		t.Fatal("the login is accepted")
	}
	if f := netapi.FaultOf(err); f.Status != status || !strings.Contains(f.Text, text) {
		t.Errorf("%d %s, want %d %s", f.Status, f.Error(), status, text)
	}
}

func TestReplayedCode(t *testing.T) {
	there := oidctest.Start(t)
	p := open(t, Options{Settings: settings(there)})
	begun := begin(t, p)
	query := there.Approve(t, begun.URL)
	if _, _, err := p.Finish(t.Context(), begun.Cookie, query); err != nil {
		t.Fatal(err)
	}
	_, _, err := p.Finish(t.Context(), begun.Cookie, query)
	wantFault(t, err, 400, "finished already")
	other := begin(t, p)
	state := there.Approve(t, other.URL).Get("state")
	_, _, err = p.Finish(t.Context(), other.Cookie, url.Values{"state": {state}, "code": query["code"]})
	wantFault(t, err, 401, "invalid_grant")
}

// A code that belongs to another login does not fit the verifier of this one (PKCE).
func TestInjectedCode(t *testing.T) {
	there := oidctest.Start(t)
	p := open(t, Options{Settings: settings(there)})
	mine, theirs := begin(t, p), begin(t, p)
	query := there.Approve(t, mine.URL)
	query["code"] = there.Approve(t, theirs.URL)["code"]
	_, _, err := p.Finish(t.Context(), mine.Cookie, query)
	wantFault(t, err, 401, "invalid_grant")
}

func TestWrongClientSecret(t *testing.T) {
	there := oidctest.Start(t)
	s := settings(there)
	s.ClientSecret = "other"
	p := open(t, Options{Settings: s})
	begun := begin(t, p)
	_, _, err := p.Finish(t.Context(), begun.Cookie, there.Approve(t, begun.URL))
	wantFault(t, err, 401, "invalid_client")
}

func TestCookies(t *testing.T) {
	there := oidctest.Start(t)
	now := time.Now()
	p := open(t, Options{Settings: settings(there), Now: func() time.Time { return now }})
	begun := begin(t, p)
	query := there.Approve(t, begun.URL)
	foreign := begin(t, open(t, Options{Settings: settings(there)})).Cookie
	changed := []byte(begun.Cookie)
	changed[len(changed)/2] ^= 1
	for _, cookie := range []string{"", "x", foreign, string(changed), begun.Cookie + "A", strings.Repeat("A", 1<<16), begin(t, p).Cookie} {
		_, _, err := p.Finish(t.Context(), cookie, query)
		wantFault(t, err, 400, "begin again")
	}
	now = now.Add(Valid)
	_, _, err := p.Finish(t.Context(), begun.Cookie, query)
	wantFault(t, err, 400, "ten minutes")
}

func TestFinishedAttemptsAreBounded(t *testing.T) {
	now := time.Now()
	b, err := newBox(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostFinished + 10 {
		b.use(attempt{State: time.Duration(i).String(), Until: now.Add(Valid).Unix()})
	}
	if len(b.finished) > mostFinished || len(b.order) != len(b.finished) {
		t.Errorf("%d are remembered", len(b.finished))
	}
	now = now.Add(Valid)
	b.use(attempt{State: "last", Until: now.Add(Valid).Unix()})
	if len(b.finished) != 1 {
		t.Errorf("%d are remembered after their time", len(b.finished))
	}
}

// A provider that is down when it is first needed is asked again later.
func TestProviderThatComesLate(t *testing.T) {
	there := oidctest.Start(t)
	there.Down = true
	now := time.Now()
	p := open(t, Options{Settings: settings(there), Now: func() time.Time { return now }})
	_, err := p.Begin(t.Context(), "")
	wantFault(t, err, 503, "cannot be reached")
	there.Down = false
	_, err = p.Begin(t.Context(), "")
	wantFault(t, err, 503, "cannot be reached")
	now = now.Add(againAfter)
	begin(t, p)
	there.Down = true
	now = now.Add(2 * knownFor)
	begin(t, p) // its addresses are known
}

func TestPathsAfterwards(t *testing.T) {
	p := open(t, Options{Settings: settings(oidctest.Start(t))})
	for path, ok := range map[string]bool{"": true, "/": true, "/jobs?a=b#c": true, "/#minions": true, "//evil.example": false,
		"/\\evil.example": false, "https://evil.example/": false, "evil": false, "/a\r\nb": false, "/ b": false, "\\\\evil": false,
		"/\t/evil.example": false, "javascript:alert(1)": false, "/" + strings.Repeat("x", 2000): false} {
		if _, err := p.Begin(t.Context(), path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestEmailMustBeVerified(t *testing.T) {
	there := oidctest.Start(t)
	s := settings(there)
	s.UsernameClaim = "email"
	there.Claims["email"] = "ann@example.com"
	for _, verified := range []bool{false, true} {
		there.Claims["email_verified"] = verified
		p := open(t, Options{Settings: s})
		begun := begin(t, p)
		who, _, err := p.Finish(t.Context(), begun.Cookie, there.Approve(t, begun.URL))
		if (err == nil) != verified || (who.User == "ann@example.com") != verified {
			t.Errorf("verified %v: %+v, %v", verified, who, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b, err := newBox(time.Now)
	if err != nil {
		f.Fatal(err)
	}
	good, err := b.seal(attempt{State: "s"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, cookie string) {
		if a, err := b.open(cookie); err == nil && cookie != good {
			t.Errorf("%q is %+v", cookie, a)
		}
	})
}
