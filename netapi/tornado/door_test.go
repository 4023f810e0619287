package tornado_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/netapitest"
)

const noMinions = "No minions matched the target. No command was sent, no jid was assigned."

// post sends a JSON body.
func post(t *testing.T, s *netapitest.Site, path, body string, headers ...string) *netapitest.Reply {
	t.Helper()
	return s.Do(t, "POST", path, body, append(headers, "Content-Type", "application/json")...)
}

// wantReturn checks that an answer is 200 with a value of return, written as JSON.
func wantReturn(t *testing.T, got *netapitest.Reply, want string) {
	t.Helper()
	var v, w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Body, &v); err != nil || got.Status != http.StatusOK {
		t.Fatalf("%d %s, want %s", got.Status, got.Body, want)
	}
	if m, _ := v.(map[string]any); !reflect.DeepEqual(m["return"], w) {
		t.Errorf("%s, want the return %s", got.Body, want)
	}
}

func wantError(t *testing.T, got *netapitest.Reply, status int, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(string(got.Body), text) {
		t.Errorf("%d %s, want %d %s", got.Status, got.Body, status, text)
	}
}

func TestDoor(t *testing.T) {
	s := start(t)
	t.Run("login", func(t *testing.T) { testLogin(t, s) })
	t.Run("orders", func(t *testing.T) { testOrders(t, s) })
	t.Run("run", func(t *testing.T) { testRun(t, s) })
	t.Run("jobs", func(t *testing.T) { testJobs(t, s) })
	t.Run("hook", func(t *testing.T) { testHook(t, s) })
	t.Run("better", func(t *testing.T) { testBetter(t, s) })
	t.Run("origins", func(t *testing.T) { testOrigins(t, s) })
	t.Run("expired", func(t *testing.T) { testExpired(t, s) })
	t.Run("websocket", func(t *testing.T) { testWebSocket(t, s) })
	t.Run("formatted websocket", func(t *testing.T) { testFormatted(t, s) })
	t.Run("silent minion", func(t *testing.T) {
		if err := s.Minions["m2"].Stop(); err != nil {
			t.Fatal(err)
		}
		got := post(t, s, "/", `[{"client": "local", "tgt": "*", "fun": "test.ping", "missing": true}]`,
			"X-Auth-Token", s.LogIn(t, "saltdev"))
		wantReturn(t, got, `[{"m1": true}]`)
		missing := got.JSON(t).(map[string]any)["missing"].([]any)[0].(map[string]any)
		if len(missing) != 1 || missing["m2"] == nil {
			t.Errorf("missing: %v, want the reason of m2", missing)
		}
	})
}

func testLogin(t *testing.T, s *netapitest.Site) {
	got := s.Do(t, "GET", "/login", "")
	if want := `{"status": "401 Unauthorized", "return": "Please log in"}`; got.Status != 401 || string(got.Body) != want ||
		got.Header.Get("Www-Authenticate") != "Session" {
		t.Errorf("GET /login: %d %s", got.Status, got.Body)
	}
	got = post(t, s, "/login", `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`)
	answer := got.JSON(t).(map[string]any)["return"].([]any)[0].(map[string]any)
	token, _ := answer["token"].(string)
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(token) || answer["user"] != "saltdev" || answer["eauth"] != "file" {
		t.Errorf("login: %s", got.Body)
	}
	cookie := got.Header.Get("Set-Cookie")
	for _, part := range []string{"session_id=" + token, "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %q lacks %s", cookie, part)
		}
	}
	order := `{"client": "local", "tgt": "m1", "fun": "test.ping"}`
	wantReturn(t, post(t, s, "/", order, "Cookie", "session_id="+token), `[{"m1": true}]`)
	for _, lacking := range []string{`{"password": "saltdev", "eauth": "file"}`, `{"username": "saltdev", "eauth": "file"}`,
		`{"username": "saltdev", "password": "saltdev"}`, `[{"username": "saltdev", "password": "saltdev", "eauth": "file"}]`, ``} {
		wantError(t, post(t, s, "/login", lacking), 400, "400: Bad Request")
	}
	wantError(t, s.Do(t, "GET", "/logout", ""), 404, "404: Not Found")
}

func testOrders(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	do := func(user, body string) *netapitest.Reply {
		t.Helper()
		return post(t, s, "/", body, "X-Auth-Token", s.LogIn(t, user))
	}
	wantReturn(t, do("saltdev", `{"client": "local", "tgt": "nobody*", "fun": "test.ping"}`), `["`+noMinions+`"]`)
	wantReturn(t, do("saltdev", `{"client": "local", "tgt": ["nobody"], "tgt_type": "list", "fun": "test.ping"}`),
		`["`+noMinions+`"]`)
	wantReturn(t, s.Do(t, "GET", "/minions/nobody", "", "X-Auth-Token", token), `["`+noMinions+`"]`)
	wantReturn(t, do("saltdev", `{"client": "local_async", "tgt": "nobody*", "fun": "test.ping"}`), `[{}]`)
	wantReturn(t, do("saltdev", `{"client": "local", "tgt": "*", "fun": "test.echo", "arg": "hi", "full_return": true}`),
		`[{"m1": "hi", "m2": "hi"}]`)
	got := do("saltdev", `{"client": "runner", "fun": "test.arg", "arg": ["a"], "full_return": true}`)
	full, _ := got.JSON(t).(map[string]any)["return"].([]any)[0].(map[string]any)
	if tag, _ := full["tag"].(string); !strings.HasPrefix(tag, "salt/run/") || full["data"] == nil {
		t.Errorf("full return of a runner: %s", got.Body)
	}
	got = do("saltdev", `[{"client": "local", "tgt": "m1", "fun": "test.ping", "tgt_type": "bogus"},
		{"client": "local", "tgt": "m1", "fun": "test.ping"}]`)
	wantReturn(t, got, `["Unexpected exception while handling request: There is no kind of target 'bogus'", {"m1": true}]`)
	wantReturn(t, do("limited", `[{"client": "local", "tgt": "m1", "fun": "test.ping"},
		{"client": "local", "tgt": "m2", "fun": "cmd.run", "arg": "id"}, {"client": "local", "tgt": "m1", "fun": "test.ping"}]`),
		`[{"m1": true}, "Failed to authenticate"]`)
	wantReturn(t, do("limited", `{"client": "runner", "fun": "test.arg"}`), `["Failed to authenticate"]`)
	wantError(t, post(t, s, "/minions", `{"client": "local", "tgt": "*", "fun": "test.ping"}`, "X-Auth-Token", token), 400,
		"We don't serve your kind here")
	got = post(t, s, "/minions", `{"tgt": "m1", "fun": "test.ping"}`, "X-Auth-Token", token)
	if sent, _ := got.JSON(t).(map[string]any)["return"].([]any)[0].(map[string]any); got.Status != 200 || sent["jid"] == nil {
		t.Errorf("POST /minions: %d %s", got.Status, got.Body)
	}
}

func testRun(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	order := func(more string) string { return `[{"client": "local", "tgt": "m1", "fun": "test.ping"` + more + `}]` }
	login := `, "username": "saltdev", "password": "saltdev", "eauth": "file"`
	wantReturn(t, post(t, s, "/run", order(login)), `[{"m1": true}]`)
	wantReturn(t, post(t, s, "/run", order(`, "token": "`+token+`"`)), `[{"m1": true}]`)
	wantReturn(t, post(t, s, "/run", order(""), "X-Auth-Token", token), `[{"m1": true}]`)
	wantReturn(t, post(t, s, "/run", order("")), `["Failed to authenticate"]`)
	wantReturn(t, post(t, s, "/run", order(strings.Replace(login, `: "saltdev", "eauth"`, `: "wrong", "eauth"`, 1))),
		`["Failed to authenticate"]`)
	wantReturn(t, post(t, s, "/run", order(`, "token": "`+strings.Repeat("ab", 32)+`"`)), `["Failed to authenticate"]`)
}

func testJobs(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	post(t, s, "/", `{"client": "local", "tgt": "m1", "fun": "test.echo", "arg": ["one"]}`, "X-Auth-Token", token)
	got := s.Do(t, "GET", "/jobs?limit=1&function=test.echo", "", "X-Auth-Token", token)
	list, _ := got.JSON(t).(map[string]any)["return"].([]any)[0].(map[string]any)
	if len(list) != 1 {
		t.Fatalf("GET /jobs?limit=1: %s", got.Body)
	}
	for jid := range list {
		got = s.Do(t, "GET", "/jobs/"+jid, "", "X-Auth-Token", token)
		answer := got.JSON(t).(map[string]any)
		job, _ := answer["return"].([]any)[0].(map[string]any)
		if job["Function"] != "test.echo" || job["Result"] == nil || answer["info"] != nil {
			t.Errorf("GET /jobs/%s: %s", jid, got.Body)
		}
	}
	wantError(t, s.Do(t, "GET", "/jobs?limit=some", "", "X-Auth-Token", token), 400, "limit must be a number")
}

func testHook(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	if got := post(t, s, "/hook/a", `{}`); got.Status != 302 || got.Header.Get("Location") != "/login" {
		t.Errorf("hook without a login: %d %s", got.Status, got.Body)
	}
	bus := s.Master.Listen(t, "salt/netapi/hook")
	got := post(t, s, "/hook/a/b%2Fc?x=1&y=2&y=3", `{"k": [1]}`, "X-Auth-Token", token, "Authorization", "Basic abc",
		"Cookie", "session_id="+token, "X-Own", "v")
	if string(got.Body) != `{"success": true}` {
		t.Fatalf("hook: %d %s", got.Status, got.Body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e, err := bus.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Map()
	if err != nil {
		t.Fatal(err)
	}
	m.Delete("_stamp")
	headers, _ := m.Value("headers").(*data.Map)
	if e.Tag != "salt/netapi/hook/a/b/c" || headers.Value("X-Own") != "v" || data.Repr(m.Value("post")) != "{'k': [1]}" {
		t.Errorf("the event %s %s", e.Tag, data.Repr(m))
	}
	get, _ := m.Value("get").(*data.Map)
	if get.Value("x") != "1" || data.Repr(get.Value("y")) != "['2', '3']" || m.Len() != 3 {
		t.Errorf("the event has %s", data.Repr(m))
	}
	if text := data.Repr(m); strings.Contains(text, token) || strings.Contains(text, "Basic abc") {
		t.Errorf("the event has credentials: %s", text)
	}
}

// testBetter shows where the door does better than Salt's, and why.
func testBetter(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	big := `{"client": "local", "tgt": "m1", "fun": "test.ping", "arg": ["` + strings.Repeat("x", 2000) + `"]}`
	for _, c := range []struct {
		why, method, path, body string
		headers                 []string
		status                  int
		text                    string
	}{
		{"no body is the client's mistake; Salt fails", "POST", "/", "",
			[]string{"X-Auth-Token", token}, 400, "Lowstates must be a list"},
		{"so is a chunk that is no object", "POST", "/", `["x"]`, []string{"X-Auth-Token", token}, 400, "item 1 is none"},
		{"so is a missing target", "POST", "/", `{"client": "local", "fun": "test.ping"}`,
			[]string{"X-Auth-Token", token}, 400, "lacks the field tgt"},
		{"so is a missing function", "POST", "/", `{"client": "runner"}`, []string{"X-Auth-Token", token}, 400, "lacks the field fun"},
		{"so is a kind of target that is none", "POST", "/", `{"client": "local", "tgt": "m1", "fun": "test.ping", "tgt_type": "x"}`,
			[]string{"X-Auth-Token", token}, 400, "There is no kind of target"},
		{"the login is checked before a body is read", "POST", "/", `{`, nil, 302, ""},
		{"the size of a body is limited", "POST", "/", big, []string{"X-Auth-Token", token}, 413, "larger than 2000 bytes"},
		{"also before a login", "POST", "/login", big, nil, 413, "larger than 2000 bytes"},
		{"a job is no address for orders; Salt fails", "POST", "/jobs/1", `{}`, []string{"X-Auth-Token", token}, 405, "Method Not Allowed"},
		{"GET of a hook does nothing; Salt fails", "GET", "/hook/x", "", []string{"X-Auth-Token", token}, 405, "Method Not Allowed"},
		{"an order to the event stream is a mistake; Salt carries it out", "POST", "/events", `{}`, []string{"X-Auth-Token", token}, 405, ""},
		{"an unknown token for a websocket is 401, whatever its length", "GET", "/all_events/ab", "", nil, 401, "401: Unauthorized"},
		{"HEAD is that of GET; Salt has none", "HEAD", "/", "", nil, 200, ""},
		{"so it is for events", "HEAD", "/events", "", []string{"X-Auth-Token", token}, 200, ""},
		{"the text of a client cannot be HTML", "GET", "/", "", []string{"Accept", "<b>"}, 406, "&lt;b&gt;"},
	} {
		headers := append(slices.Clone(c.headers), "Content-Type", "application/json")
		got := s.Do(t, c.method, c.path, c.body, headers...)
		if got.Status != c.status || !strings.Contains(string(got.Body), c.text) {
			t.Errorf("%s: %s %s: %d %s, want %d %s", c.why, c.method, c.path, got.Status, got.Body, c.status, c.text)
		}
	}
	// nothing runs of a request that cannot be answered, or that has a wrong chunk: Salt runs what is before it
	bus := s.Master.Listen(t, "salt/job/", "salt/netapi/hook")
	good := `{"client": "local_async", "tgt": "m1", "fun": "test.ping"}`
	wantError(t, post(t, s, "/", "["+good+`, {"client": "ssh"}]`, "X-Auth-Token", token), 400, "400 Invalid Client")
	wantError(t, post(t, s, "/", good, "X-Auth-Token", token, "Accept", "text/html"), 406, "406: Not Acceptable")
	post(t, s, "/hook/end", `{}`, "X-Auth-Token", token)
	for {
		e, err := bus.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Tag == "salt/netapi/hook/end" {
			break
		}
		if strings.HasSuffix(e.Tag, "/new") {
			t.Errorf("an order was carried out: %s", e.Tag)
		}
	}
}

func testOrigins(t *testing.T, s *netapitest.Site) {
	cookie := "session_id=" + s.LogIn(t, "saltdev")
	order := `{"client": "runner", "fun": "test.arg"}`
	const login = `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`
	for origin, sets := range map[string]bool{"https://bad.example.com": false, "null": false, console: true} {
		got := post(t, s, "/login", login, "Origin", origin, "Sec-Fetch-Site", "cross-site")
		if cookie := got.Header.Get("Set-Cookie"); got.Status != 200 || (cookie != "") != sets {
			t.Errorf("a login of a page of %s: %d, cookie %q", origin, got.Status, cookie)
		}
	}
	foreign := []string{"Cookie", cookie, "Origin", "https://bad.example.com", "Sec-Fetch-Site", "cross-site"}
	for _, path := range []string{"/", "/run", "/minions", "/hook/x"} {
		wantError(t, post(t, s, path, order, foreign...), 403, "The page of another origin")
	}
	for _, path := range []string{"/minions", "/jobs", "/events"} { // these have effects too
		wantError(t, s.Do(t, "GET", path, "", foreign...), 403, "The page of another origin")
	}
	own := post(t, s, "/", order, "Cookie", cookie, "Origin", console, "Sec-Fetch-Site", "cross-site")
	if own.Status != 200 || own.Header.Get("Access-Control-Allow-Origin") != console {
		t.Errorf("order of a page of cors_origin: %d %v", own.Status, own.Header)
	}
	for origin, want := range map[string]string{console: console, "https://bad.example.com": ""} {
		got := s.Do(t, "OPTIONS", "/minions", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "X-Auth-Token")
		headers := got.Header.Get("Access-Control-Allow-Headers")
		allowed := strings.Contains(headers, "X-Auth-Token") && strings.Contains(headers, "Authorization")
		if got.Status != 204 || got.Header.Get("Access-Control-Allow-Origin") != want || allowed != (want != "") {
			t.Errorf("preflight of %s: %d %v", origin, got.Status, got.Header)
		}
	}
}

func testExpired(t *testing.T, s *netapitest.Site) {
	got := post(t, s, "/login", `{"username": "shorty", "password": "shorty", "eauth": "file", "token_expire": 1}`)
	token := got.Header.Get("X-Auth-Token")
	if got.Status != 200 || token == "" {
		t.Fatalf("login: %d %s", got.Status, got.Body)
	}
	for s.Gate.Valid(token) {
		time.Sleep(50 * time.Millisecond) // the master's token has its own clock
	}
	order := `{"client": "local", "tgt": "m1", "fun": "test.ping"}`
	for _, path := range []string{"/", "/minions", "/jobs", "/hook/x"} {
		if got := post(t, s, path, order, "X-Auth-Token", token); got.Status != 302 || got.Header.Get("Location") != "/login" {
			t.Errorf("POST %s with an expired token: %d %s", path, got.Status, got.Body)
		}
	}
	if got := s.Do(t, "GET", "/events", "", "Cookie", "session_id="+token); got.Status != 302 {
		t.Errorf("GET /events with an expired token: %d %s", got.Status, got.Body)
	}
	wantReturn(t, post(t, s, "/run", order, "X-Auth-Token", token), `["Failed to authenticate"]`)
	wantError(t, s.Do(t, "GET", "/all_events/"+token, ""), 401, "401: Unauthorized")
}

// dial opens a websocket and says that the client is ready.
func dial(t *testing.T, s *netapitest.Site, path, origin string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), s.Server.URL+path,
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
	if err != nil {
		return nil, answer, err
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 24)
	return conn, answer, conn.Write(t.Context(), websocket.MessageText, []byte("websocket client ready"))
}

// read reads messages until done.
func read(ctx context.Context, conn *websocket.Conn, done func(m map[string]any) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			return fmt.Errorf("%w in %s", err, text)
		}
		if done(m) {
			return nil
		}
	}
}

func testWebSocket(t *testing.T, s *netapitest.Site) {
	token := s.LogIn(t, "saltdev")
	if _, answer, err := dial(t, s, "/all_events/"+token, "https://bad.example.com"); err == nil || answer.StatusCode != 403 {
		t.Errorf("websocket of a page of another origin: %v", err)
	}
	conn, _, err := dial(t, s, "/all_events/"+token, console)
	if err != nil {
		t.Fatal(err)
	}
	// the events begin some time after the client is ready: fire until one comes
	seen := make(chan error, 1)
	go func() {
		seen <- read(t.Context(), conn, func(m map[string]any) bool {
			body, _ := m["data"].(map[string]any)
			return m["tag"] == "salt/netapi/hook/ws" && reflect.DeepEqual(body["post"], map[string]any{"n": 1.0}) &&
				body["_stamp"] != nil
		})
	}()
	for {
		post(t, s, "/hook/ws", `{"n": 1}`, "X-Auth-Token", token)
		select {
		case err := <-seen:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// testFormatted checks that the state of minions has the grains that the stream itself asks for.
func testFormatted(t *testing.T, s *netapitest.Site) {
	conn, _, err := dial(t, s, "/formatted_events/"+s.LogIn(t, "saltdev"), console)
	if err != nil {
		t.Fatal(err)
	}
	err = read(t.Context(), conn, func(m map[string]any) bool {
		list, _ := m["minions"].([]any)
		found := 0
		for _, one := range list {
			minion, _ := one.(map[string]any)
			grains, _ := minion["grains"].(map[string]any)
			if id, _ := minion["id"].(string); grains["role"] == "web-"+id {
				found++
			}
		}
		return found == 2
	})
	if err != nil {
		t.Fatal(err)
	}
}
