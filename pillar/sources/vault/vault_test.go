package vault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// A fake implements the used parts of Vault's HTTP API, according to its documentation: mounts of
// the key-value store, logins, tokens with policies and numbers of uses.
type fake struct {
	t       *testing.T
	mu      sync.Mutex
	tokens  map[string]*issued
	secrets map[string]string // path → body of the answer
	asked   map[string]int    // method and path
	created []map[string]any  // bodies of requests for tokens
	space   string            // namespace that is asked for
}

type issued struct {
	policies []string
	uses     int // left; 0 is without bound
}

// serve starts a fake and returns the option vault for it.
func serve(t *testing.T, auth *data.Map) (*fake, *data.Map) {
	t.Helper()
	f := &fake{t: t, asked: map[string]int{},
		tokens: map[string]*issued{"s.root": {policies: []string{"root"}},
			"s.wrap": {policies: []string{"wrap"}, uses: 1}},
		secrets: map[string]string{
			"v1/common":            `{"data": {"b": "1", "a": {"x": 1}, "l": [1]}}`,
			"v1/minions/web1":      `{"data": {"mine": "hunter2"}}`,
			"v1/minions/db1":       `{"data": {"other": "hunter3"}}`,
			"v2/data/common":       `{"data": {"data": {"b": "2", "l": [2]}, "metadata": {"version": 3}}}`,
			"v2/data/r/web":        `{"data": {"data": {"role": "web", "a": {"y": 2}}}}`,
			"v2/data/r/cache host": `{"data": {"data": {"role": "cache"}}}`,
			"v2/data/gone":         "",
		}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return f, data.NewMap("url", s.URL+"/", "auth", auth)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	f.asked[r.Method+" "+path]++
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	if path == "auth/approle/login" {
		if body["role_id"] != "role" || body["secret_id"] != "secret" {
			f.answer(w, 400, `{"errors": ["invalid role or secret ID"]}`)
			return
		}
		f.tokens["s.login"] = &issued{policies: []string{"root"}}
		f.answer(w, 200, `{"auth": {"client_token": "s.login", "lease_duration": 3600, "renewable": true}}`)
		return
	}
	token, ok := f.use(r.Header.Get("X-Vault-Token"))
	switch {
	case !ok || f.space != r.Header.Get("X-Vault-Namespace"):
		f.answer(w, 403, `{"errors": ["permission denied"]}`)
	case path == "sys/wrapping/unwrap":
		f.answer(w, 200, `{"auth": {"client_token": "s.root"}}`)
	case strings.HasPrefix(path, "auth/token/create"):
		f.create(w, token, body)
	case strings.HasPrefix(path, "sys/internal/ui/mounts/"):
		f.mount(w, strings.TrimPrefix(path, "sys/internal/ui/mounts/"))
	default:
		f.secret(w, token, path)
	}
}

func (f *fake) answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func (f *fake) use(name string) (*issued, bool) {
	t, ok := f.tokens[name]
	if ok && t.uses > 0 {
		if t.uses--; t.uses == 0 {
			delete(f.tokens, name)
		}
	}
	return t, ok
}

func (f *fake) create(w http.ResponseWriter, by *issued, body map[string]any) {
	if !slices.Contains(by.policies, "root") {
		f.answer(w, 403, `{"errors": ["permission denied"]}`)
		return
	}
	f.created = append(f.created, body)
	t := &issued{uses: int(body["num_uses"].(float64))}
	for _, p := range body["policies"].([]any) {
		t.policies = append(t.policies, p.(string))
	}
	name := fmt.Sprintf("s.minion%d", len(f.created))
	f.tokens[name] = t
	f.answer(w, 200, fmt.Sprintf(`{"auth": {"client_token": %q, "lease_duration": 60, "renewable": true}}`, name))
}

func (f *fake) mount(w http.ResponseWriter, path string) {
	switch {
	case strings.HasPrefix(path, "v1/"):
		f.answer(w, 200, `{"data": {"path": "v1/", "type": "kv", "options": null}}`)
	case strings.HasPrefix(path, "v2/"):
		f.answer(w, 200, `{"data": {"path": "v2/", "type": "kv", "options": {"version": "2"}}}`)
	default:
		f.answer(w, 403, `{"errors": ["permission denied"]}`)
	}
}

// secret returns secrets under minions only to tokens with the policy of that minion.
func (f *fake) secret(w http.ResponseWriter, by *issued, path string) {
	id, own := strings.CutPrefix(path, "v1/minions/")
	if own && !slices.Contains(by.policies, "root") && !slices.Contains(by.policies, "saltstack/minion/"+id) {
		f.answer(w, 403, `{"errors": ["permission denied"]}`)
		return
	}
	switch body, ok := f.secrets[path]; {
	case ok && body != "":
		f.answer(w, 200, body)
	case strings.HasSuffix(path, "/fails"):
		f.answer(w, 500, `{"errors": ["hunter2"]}`)
	default:
		f.answer(w, 404, `{"errors": []}`)
	}
}

func (f *fake) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[what]
}

// asker calls one source for the pillar of web1.
type asker struct {
	source *Source
	opts   *data.Map
}

func onMaster(vault *data.Map) asker {
	return asker{New(), data.NewMap("vault", vault, "__role", "master")}
}

func (a asker) ask(t *testing.T, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	q := pillar.Query{ID: "web1", Argument: argument, Opts: a.opts, Log: log,
		Grains: data.NewMap("roles", []any{"Web", "cache"}),
		Pillar: data.NewMap("roles", []any{"web", "cache host"}, "n", int64(1),
			"deep", data.NewMap("l", []any{"common"}))}
	got, err := a.source.Pillar(t.Context(), q)
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

func (a asker) want(t *testing.T, argument any, want string) {
	t.Helper()
	got, err, log := a.ask(t, argument)
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s\ngot  %s, %v, log %s\nwant %s", data.Repr(argument), data.Repr(got), err, log, want)
	}
}

func TestPathsOfBothVersions(t *testing.T) {
	_, option := serve(t, data.NewMap("method", "token", "token", "s.root"))
	a := onMaster(option)
	for range 2 {
		a.want(t, "path=v1/common", "{'b': '1', 'a': {'x': 1}, 'l': [1]}")
		a.want(t, "other path=v2/common path=v1/common", "{'b': '2', 'l': [2]}")
		a.want(t, "path=v2/data/common", "{'b': '2', 'l': [2]}")
		a.want(t, "path=v2/metadata/common", "{'b': '2', 'l': [2]}")
		a.want(t, data.NewMap("conf", "path=v1/common", "nesting_key", "n"),
			"{'n': {'b': '1', 'a': {'x': 1}, 'l': [1]}}")
		a.want(t, "path=v1/minions/{minion}", "{'mine': 'hunter2'}")
		a.want(t, "path=v2/r/{pillar[roles]}", "{'role': 'cache', 'a': {'y': 2}}")
		a.want(t, "path=v2/{pillar[deep][l][0]}", "{'b': '2', 'l': [2]}")
		a.want(t, "path=v2/gone", "{}")
		a.want(t, data.NewMap("conf", "path=v2/none", "nesting_key", "n"), "{'n': {}}")
		a.want(t, "path=v1/{pillar[nothing]}", "{}")
		a.want(t, "v1/common", "{}")
	}
}

func TestMergingOfSeveralPaths(t *testing.T) {
	f, option := serve(t, data.NewMap("method", "token", "token", "s.root"))
	f.secrets["v2/data/r/web"] = `{"data": {"data": {"l": [1], "m": {"a": 1}}}}`
	f.secrets["v2/data/r/cache host"] = `{"data": {"data": {"l": [2], "m": {"b": 1}}}}`
	a := onMaster(option)
	conf := "path=v2/r/{pillar[roles]}"
	a.want(t, conf, "{'l': [2], 'm': {'a': 1, 'b': 1}}")
	a.want(t, data.NewMap("conf", conf, "merge_lists", true), "{'l': [1, 2], 'm': {'a': 1, 'b': 1}}")
	a.want(t, data.NewMap("conf", conf, "merge_strategy", "overwrite"), "{'l': [2], 'm': {'b': 1}}")
	a.opts.Set("pillar_merge_lists", true)
	a.want(t, conf, "{'l': [1, 2], 'm': {'a': 1, 'b': 1}}")
}

func TestAMinionsTokenHasItsPoliciesAndNoMore(t *testing.T) {
	f, option := serve(t, data.NewMap("method", "token", "token", "s.root", "ttl", "60s"))
	option.Set("policies", []any{"saltstack/minion/{minion}", "saltstack/by-role/{grains[roles]}",
		"x/{grains[nothing]}", "{{y}}"})
	option.Set("role_name", "salt")
	a := onMaster(option)
	a.want(t, "path=v1/minions/web1", "{'mine': 'hunter2'}")
	got, err, log := a.ask(t, "path=v1/minions/db1")
	if err != nil || got.Len() != 0 ||
		!strings.Contains(log, "Could not resolve policy pattern x/{grains[nothing]} for minion web1") ||
		!strings.Contains(log, "Error from vault: HTTP 403 for v1/minions/db1") {
		t.Errorf("another's secret: %s, %v, log %s", data.Repr(got), err, log)
	}
	first := f.created[0]
	if fmt.Sprint(first["policies"]) != "[saltstack/minion/web1 saltstack/by-role/web saltstack/by-role/cache {y}]" || first["explicit_max_ttl"] != "60s" ||
		first["num_uses"] != 1.0 || first["meta"].(map[string]any)["saltstack-minion"] != "web1" {
		t.Errorf("%v", first)
	}
	if n := f.count("POST auth/token/create/salt"); n < 3 {
		t.Errorf("%d tokens of one use for 3 requests or more", n)
	}
}

func TestATokenOfSeveralUsesIsUsedSoOften(t *testing.T) {
	f, option := serve(t, data.NewMap("method", "token", "token", "s.root", "uses", int64(4)))
	a := onMaster(option)
	for range 4 { // with the one that asks for the mount, 5 requests
		a.want(t, "path=v1/common", "{'b': '1', 'a': {'x': 1}, 'l': [1]}")
	}
	if n := f.count("POST auth/token/create"); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
	if n := f.count("GET sys/internal/ui/mounts/v1/common"); n != 1 {
		t.Errorf("the mount was asked for %d times", n)
	}
}

func TestLogins(t *testing.T) {
	f, option := serve(t, data.NewMap("method", "approle", "role_id", "role", "secret_id", "secret",
		"uses", int64(0)))
	a := onMaster(option)
	for range 2 {
		a.want(t, "path=v1/common", "{'b': '1', 'a': {'x': 1}, 'l': [1]}")
	}
	if n := f.count("POST auth/approle/login"); n != 1 {
		t.Errorf("%d logins", n)
	}
	f.mu.Lock()
	clear(f.tokens) // all have ended
	f.mu.Unlock()
	a.want(t, "path=v1/common", "{'b': '1', 'a': {'x': 1}, 'l': [1]}")
	if n := f.count("POST auth/approle/login"); n != 2 {
		t.Errorf("%d logins", n)
	}

	f, option = serve(t, data.NewMap("method", "wrapped_token", "token", "s.wrap"))
	option.Set("config_location", "local")
	option.Set("namespace", "ops")
	f.space = "ops"
	a = asker{New(), data.NewMap("vault", option, "__role", "master")}
	for range 2 {
		a.want(t, "path=v1/minions/db1", "{'other': 'hunter3'}")
	}
	if len(f.created) != 0 || f.count("POST sys/wrapping/unwrap") != 1 {
		t.Errorf("%d tokens were made, %d unwrapped", len(f.created), f.count("POST sys/wrapping/unwrap"))
	}
	a = asker{New(), data.NewMap("vault", data.NewMap("url", option.Value("url"), "namespace",
		"ops", "auth", data.NewMap("method", "token", "token", "s.root")), "__role", "minion")}
	a.want(t, "path=v1/minions/db1", "{'other': 'hunter3'}")
}

func TestErrorsShowNoSecrets(t *testing.T) {
	_, option := serve(t, data.NewMap("method", "approle", "role_id", "role", "secret_id", "hunter2"))
	for name, change := range map[string]func(){
		"refused": func() {},
		"away":    func() { option.Set("url", "http://127.0.0.1:1") },
		"no policies": func() {
			option.Set("policies", []any{"{grains[nothing]}"})
		},
	} {
		change()
		got, err, log := onMaster(option).ask(t, "path=v1/common")
		if got.Len() != 0 || err == nil ||
			err.Error() != "no answer of Vault; please see the master's log" ||
			strings.Contains(log, "hunter2") || !strings.Contains(log, "ext_pillar vault for web1: ") {
			t.Errorf("%s: %s, %v, log %s", name, data.Repr(got), err, log)
		}
	}
	_, option = serve(t, data.NewMap("method", "token", "token", "s.root"))
	got, err, log := onMaster(option).ask(t, "path=v1/fails")
	if got.Len() != 0 || err != nil ||
		!strings.Contains(log, "Error from vault: HTTP 500 for v1/fails") ||
		strings.Contains(log, "hunter2") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
}

func TestVaultRecursionInPolicies(t *testing.T) {
	f, option := serve(t, data.NewMap("method", "token", "token", "s.root"))
	q := pillar.Query{ID: "web1", Argument: "path=v1/common", Opts: data.NewMap("vault", option),
		ExtraMinionData: data.NewMap("_vault_runner_is_compiling_pillar_templates", true)}
	if got, err := New().Pillar(t.Context(), q); got.Len() != 0 || err != nil || len(f.asked) != 0 {
		t.Errorf("%s, %v, %v", data.Repr(got), err, f.asked)
	}
}

func TestEntriesAreChecked(t *testing.T) {
	good := data.NewMap("url", "https://v:8200", "auth", data.NewMap("method", "token", "token", "x"))
	for _, c := range []struct {
		argument any
		vault    any
		want     string
	}{
		{"path=secret/{minion}", good, ""},
		{data.NewMap("conf", "path=secret/{pillar[a][b]}", "nesting_key", "x"), good, ""},
		{"secret/{minion}", good, "conf: expected path=PATH"},
		{data.NewMap("path", "x"), good, "unexpected keyword argument 'path'"},
		{"path=secret/{id}", good, "{id} of secret/{id} is not {minion}"},
		{"path=secret/{minion", good, "a bracket of secret/{minion has no other"},
		{"path=x", nil, "vault: expected a dictionary with url and auth"},
	} {
		err := New().Check(c.argument, data.NewMap("vault", c.vault))
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", data.Repr(c.argument), err, c.want)
		}
	}
}
