// Package oidctest is a provider of OpenID Connect for tests: discovery, keys, and a token endpoint that
// checks the code, the client's secret and PKCE. Its user needs no password.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that a Provider knows.
const (
	ClientID     = "salt-api"
	ClientSecret = "s3cret/+ %"
)

// A Provider serves until its test ends. Its fields may be changed between requests.
type Provider struct {
	*httptest.Server
	// Claims are added to those of each ID token; nil removes one.
	Claims map[string]any
	// Signer signs ID tokens; the published key is that of the first one.
	Signer *rsa.PrivateKey
	// Down makes every answer a 503.
	Down bool

	key   *rsa.PrivateKey
	mu    sync.Mutex
	codes map[string]url.Values // of the requests for them
}

// ownKey is the key of all providers: making one takes a while. Nobody changes it.
var ownKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewKey returns a new key.
func NewKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Start starts a provider whose user is ann, of the group ops.
func Start(t testing.TB) *Provider {
	t.Helper()
	key, err := ownKey()
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{key: key, Signer: key, codes: map[string]url.Values{},
		Claims: map[string]any{"preferred_username": "ann", "groups": []string{"ops"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		public := p.key.PublicKey
		write(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": encode(public.N.Bytes()), "e": encode(big.NewInt(int64(public.E)).Bytes())}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Approve returns the query of the callback for a login that was begun: the user has agreed.
func (p *Provider) Approve(t testing.TB, begun string) url.Values {
	t.Helper()
	u, err := url.Parse(begun)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Path != "/authorize" || q.Get("response_type") != "code" || q.Get("client_id") != ClientID ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" {
		t.Fatalf("the login is begun with %s", begun)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = q
	return url.Values{"code": {code}, "state": {q.Get("state")}, "session_state": {"x"}}
}

// token gives an ID token for a code.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	asked, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || encode(sum[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	now := time.Now().Unix()
	claims := map[string]any{"iss": p.URL, "sub": "1", "aud": ClientID, "iat": now, "exp": now + 60, "nonce": asked.Get("nonce")}
	for name, v := range p.Claims {
		if claims[name] = v; v == nil {
			delete(claims, name)
		}
	}
	write(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(claims)})
}

func (p *Provider) sign(claims map[string]any) string {
	body, _ := json.Marshal(claims)
	text := encode([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encode(body)
	if p.Signer == nil {
		return encode([]byte(`{"alg":"none"}`)) + "." + encode(body) + "."
	}
	sum := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, p.Signer, crypto.SHA256, sum[:])
	return text + "." + encode(signature)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
