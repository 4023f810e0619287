// Package testvault is a Vault for tests: the used parts of the HTTP API of HashiCorp Vault, according
// to its documentation, over HTTP on loopback. It has the key-value stores v1 (version 1) and v2
// (version 2), policies, logins by approle, wrapped tokens, and tokens with numbers of uses.
package testvault

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Root is a token that may do everything, Wrap one that can be unwrapped once.
const (
	Root = "s.root"
	Wrap = "s.wrap"
)

// A Server is one Vault.
type Server struct {
	URL string

	mu       sync.Mutex
	tokens   map[string]*token
	v1       map[string]any       // secrets by path
	v2       map[string][]version // by path
	policies map[string]string
	allowed  map[string][]string // prefixes of paths by policy
	asked    []string            // method and path of each request
	created  []map[string]any    // bodies of requests for tokens
	spaces   []string            // namespaces of the requests
	keys     []string            // that a sealed Vault still needs
	made     int
}

type token struct {
	policies []string
	uses     int // left; 0 means unlimited
}

// A version of a secret; nil data means that it was deleted.
type version struct {
	data      any
	destroyed bool
}

// Start starts a Vault, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		tokens: map[string]*token{Root: {policies: []string{"root"}}, Wrap: {policies: []string{"wrap"}}},
		v1: map[string]any{"app": map[string]any{"user": "foo", "password": "bar", "n": 7},
			"dir/a": map[string]any{"x": "1"}, "dir/b/c": map[string]any{"x": "2"}},
		v2: map[string][]version{"app": {{data: map[string]any{"user": "old"}},
			{data: map[string]any{"user": "foo", "password": "bar"}}},
			"gone": {{}}, "dir/a": {{data: map[string]any{"x": "1"}}}},
		policies: map[string]string{"there": "path \"a\" {\n  policy = \"read\"\n}\n"},
		allowed:  map[string][]string{},
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// Allow lets the tokens with a policy use the paths with these prefixes.
func (s *Server) Allow(policy string, prefixes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed[policy] = append(s.allowed[policy], prefixes...)
}

// Seal seals the Vault; it opens when it has got these keys.
func (s *Server) Seal(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// Revoke makes all tokens invalid but those with the policy root.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.tokens, func(_ string, t *token) bool { return !slices.Contains(t.policies, "root") })
}

// Count returns how many requests there were with a method and path, such as "GET v1/app".
func (s *Server) Count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.asked {
		if r == request {
			n++
		}
	}
	return n
}

// Created returns the bodies of the requests for tokens.
func (s *Server) Created() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.created)
}

// Spaces returns the namespaces of the requests, each once.
func (s *Server) Spaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.spaces)))
}

// Policy returns the rules of a policy.
func (s *Server) Policy(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.policies[name]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	s.asked = append(s.asked, r.Method+" "+path)
	s.spaces = append(s.spaces, r.Header.Get("X-Vault-Namespace"))
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	q := &request{w, r.Method, path, body, r.Header.Get("X-Vault-Token")}
	switch {
	case path == "sys/unseal":
		s.unseal(q)
	case path == "auth/approle/login":
		s.login(q)
	default:
		s.withToken(q)
	}
}

type request struct {
	http.ResponseWriter
	method, path string
	body         map[string]any
	token        string
}

// answer writes a response; a text is JSON already.
func (q *request) answer(status int, body any) {
	q.Header().Set("Content-Type", "application/json")
	q.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(q).Encode(body)
	}
}

type object = map[string]any

func (q *request) fail(status int, texts ...string) {
	q.answer(status, object{"errors": append([]string{}, texts...)})
}

func (s *Server) unseal(q *request) {
	s.keys = slices.DeleteFunc(slices.Clone(s.keys), func(k string) bool { return k == q.body["key"] })
	q.answer(200, object{"sealed": len(s.keys) > 0})
}

func (s *Server) login(q *request) {
	if q.body["role_id"] != "role" || q.body["secret_id"] != "secret" {
		q.fail(400, "invalid role or secret ID")
		return
	}
	q.answer(200, s.issue(&token{policies: []string{"root", "login"}}))
}

// issue returns the description of a new token.
func (s *Server) issue(t *token) object {
	s.made++
	name := fmt.Sprint("s.made", s.made)
	s.tokens[name] = t
	return object{"auth": object{"client_token": name, "lease_duration": 3600, "renewable": true,
		"policies": t.policies}}
}

func (s *Server) withToken(q *request) {
	t, ok := s.tokens[q.token]
	if !ok {
		q.fail(403, "permission denied")
		return
	}
	if t.uses > 0 {
		if t.uses--; t.uses == 0 {
			delete(s.tokens, q.token)
		}
	}
	wrapped := slices.Contains(t.policies, "wrap")
	switch {
	case q.path == "sys/wrapping/lookup" && wrapped:
		q.answer(200, object{"data": object{"creation_ttl": 3600}})
	case q.path == "sys/wrapping/unwrap" && wrapped:
		delete(s.tokens, q.token)
		q.answer(200, s.issue(&token{policies: []string{"root"}}))
	case strings.HasPrefix(q.path, "sys/wrapping/"):
		q.fail(400, "wrapping token is not valid or does not exist")
	case q.path == "auth/token/lookup-self":
		q.answer(200, object{"data": object{"policies": t.policies}})
	case strings.HasPrefix(q.path, "sys/internal/ui/mounts/"):
		mount(q)
	case !s.may(t, q.path):
		q.fail(403, "1 error occurred:\n\t* permission denied\n\n")
	case strings.HasPrefix(q.path, "auth/token/create"):
		s.create(q)
	case strings.HasPrefix(q.path, "sys/policy/"):
		s.policy(q, strings.TrimPrefix(q.path, "sys/policy/"))
	case strings.HasPrefix(q.path, "v1/"):
		s.version1(q, strings.TrimPrefix(q.path, "v1/"))
	case strings.HasPrefix(q.path, "v2/"):
		s.version2(q, strings.TrimPrefix(q.path, "v2/"))
	case q.path == "broken":
		q.fail(500, "internal error")
	default:
		q.fail(404)
	}
}

// may reports whether a token may use a path.
func (s *Server) may(t *token, path string) bool {
	for _, p := range t.policies {
		if p == "root" || slices.ContainsFunc(s.allowed[p],
			func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			return true
		}
	}
	return false
}

func (s *Server) create(q *request) {
	s.created = append(s.created, q.body)
	t := &token{}
	if n, ok := q.body["num_uses"].(float64); ok {
		t.uses = int(n)
	}
	list, _ := q.body["policies"].([]any)
	for _, p := range list {
		t.policies = append(t.policies, fmt.Sprint(p))
	}
	q.answer(200, s.issue(t))
}

func mount(q *request) {
	path := strings.TrimPrefix(q.path, "sys/internal/ui/mounts/")
	switch {
	case strings.HasPrefix(path, "v1/"):
		q.answer(200, object{"data": object{"path": "v1/", "type": "kv", "options": nil}})
	case strings.HasPrefix(path, "v2/"):
		q.answer(200, object{"data": object{"path": "v2/", "type": "kv", "options": object{"version": "2"}}})
	default:
		q.fail(403, "preflight capability check returned 403, please ensure client's policies "+
			"grant access to path \""+path+"\"")
	}
}

func (s *Server) policy(q *request, name string) {
	switch rules, ok := s.policies[name]; {
	case q.method == "PUT" && strings.HasPrefix(name, "refused"):
		q.fail(400, "failed to parse policy")
	case q.method == "PUT":
		s.policies[name], _ = q.body["rules"].(string)
		q.answer(204, nil)
	case name == "broken":
		q.fail(500, "internal error")
	case !ok:
		q.fail(404)
	default:
		q.answer(200, object{"name": name, "rules": rules, "data": object{"name": name, "rules": rules}})
	}
}

func (s *Server) version1(q *request, path string) {
	switch v, ok := s.v1[path]; {
	case q.method == "LIST":
		list(q, path, slices.Sorted(maps.Keys(s.v1)))
	case q.method == "POST":
		s.v1[path] = q.body
		q.answer(204, nil)
	case q.method == "DELETE":
		delete(s.v1, path)
		q.answer(204, nil)
	case !ok:
		q.fail(404)
	default:
		q.answer(200, object{"data": v, "lease_duration": 2764800})
	}
}

// list answers with the names directly below a path.
func list(q *request, path string, all []string) {
	path = strings.Trim(path, "/") + "/"
	var keys []string
	for _, p := range all {
		if rest, ok := strings.CutPrefix(p, path); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			keys = append(keys, name)
		}
	}
	if len(keys) == 0 {
		q.fail(404)
		return
	}
	q.answer(200, object{"data": object{"keys": slices.Compact(keys)}})
}

func (s *Server) version2(q *request, path string) {
	kind, path, _ := strings.Cut(path, "/")
	all := s.v2[path]
	switch {
	case q.method == "LIST" && kind == "metadata":
		list(q, path, slices.Sorted(maps.Keys(s.v2)))
	case kind == "destroy":
		for _, n := range q.body["versions"].([]any) {
			if i := number(n); i > 0 && i <= len(all) {
				all[i-1] = version{destroyed: true}
			}
		}
		q.answer(204, nil)
	case kind != "data":
		q.fail(404)
	case q.method == "POST":
		s.v2[path] = append(all, version{data: q.body["data"]})
		q.answer(200, object{"data": metadata(len(all)+1, version{})})
	case q.method == "DELETE":
		if len(all) > 0 {
			all[len(all)-1].data = nil
		}
		q.answer(204, nil)
	case len(all) == 0:
		q.fail(404)
	default:
		last := all[len(all)-1]
		status := 200
		if last.data == nil {
			status = 404
		}
		q.answer(status, object{"data": object{"data": last.data, "metadata": metadata(len(all), last)}})
	}
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}

func metadata(n int, v version) object {
	return object{"version": n, "destroyed": v.destroyed, "deletion_time": "",
		"created_time": "2026-11-28T00:00:00.0Z"}
}
