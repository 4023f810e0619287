package cherrypy_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/netapitest"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/netapi"
)

const asJSON = "application/json"

// order sends a chunk with a session.
func order(t *testing.T, s *netapitest.Site, session, chunk string) *netapitest.Reply {
	t.Helper()
	return s.Do(t, "POST", "/", chunk, "Content-Type", asJSON, "Accept", asJSON, "X-Auth-Token", session)
}

// TestAttacks tries what salt-api has been attacked with, on one site.
func TestAttacks(t *testing.T) {
	s := netapitest.Start(t, door(), "main", "m1")
	for name, attack := range map[string]func(*testing.T, *netapitest.Site){
		"CVE-2020-25592 and CVE-2021-25281: clients without rights": clientsWithoutRights,
		"CVE-2021-3144: expired tokens":                             expiredTokens,
		"CVE-2020-16846 and CVE-2021-3197: options of ssh":          sshOptions,
		"CVE-2021-25282: paths outside of the roots":                outsidePaths,
		"pages of other origins":                                    otherOrigins,
		"hooks carry no credentials":                                hookCredentials,
		"hooks with a secret":                                       hookSecrets,
		"anonymous requests make no sessions":                       anonymousSessions,
		"answers tell nothing of the server":                        talkativeAnswers,
		"other people's sessions":                                   foreignSessions,
		"origin of a publication":                                   forgedOrigin,
		"bodies cost little memory":                                 largeBodies,
		"a stranger sends no large bodies":                          strangersBodies,
	} {
		t.Run(name, func(t *testing.T) { attack(t, s) })
	}
}

func clientsWithoutRights(t *testing.T, s *netapitest.Site) {
	limited := s.LogIn(t, "limited")
	for _, chunk := range []string{
		`{"client": "wheel", "fun": "key.list_all"}`,
		`{"client": "wheel_async", "fun": "key.gen_accept", "id_": "evil"}`,
		`{"client": "wheel_async", "fun": "key.gen_accept", "id_": "evil", "user": "root", "key": "x"}`,
		`{"client": "runner", "fun": "manage.up"}`,
		`{"client": "runner_async", "fun": "manage.up"}`,
		`{"client": "local", "tgt": "*", "fun": "file.remove", "arg": ["/nothere"]}`,
		`{"client": "local_async", "tgt": "*", "fun": "file.remove", "arg": ["/nothere"]}`,
		`{"client": "local_subset", "tgt": "*", "fun": "file.remove", "arg": ["/nothere"]}`,
		`{"client": "local_batch", "tgt": "*", "fun": "file.remove", "arg": ["/nothere"]}`,
	} {
		order(t, s, limited, chunk).Want(t, chunk, 401, "")
		order(t, s, "", chunk).Want(t, "without a session: "+chunk, 401, "No permission")
		run := func(credentials string) *netapitest.Reply {
			return s.Do(t, "POST", "/run", strings.Replace(chunk, "{", "{"+credentials, 1), "Content-Type", asJSON)
		}
		run("").Want(t, "/run without credentials: "+chunk, 401, "No authentication credentials given")
		run(`"token": "`+strings.Repeat("ab", 32)+`", `).Want(t, "/run with a made-up token: "+chunk, 401, "")
	}
	if _, err := os.Stat(filepath.Join(s.Master.Config.PKIDir, "minions", "evil")); err == nil {
		t.Error("a key was made without rights")
	}
}

func expiredTokens(t *testing.T, s *netapitest.Site) {
	session := s.ShortSession(t, "shorty") // it has run out
	for _, path := range []string{"/", "/minions", "/hook/x", "/logout"} {
		s.Do(t, "POST", path, "{}", "Content-Type", asJSON, "X-Auth-Token", session).Want(t, "POST "+path, 401, "")
	}
	for _, path := range []string{"/minions", "/jobs", "/keys", "/stats", "/events", "/ws"} {
		s.Do(t, "GET", path, "", "X-Auth-Token", session, "Accept", "*/*").Want(t, "GET "+path, 401, "")
	}
	session = s.LogIn(t, "saltdev")
	held, err := s.Gate.Session(session, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	delete(s.Tokens, "saltdev")
	s.Do(t, "POST", "/logout", "{}", "Content-Type", asJSON, "X-Auth-Token", session).Want(t, "logout", 200, "cleared")
	token := `{"client": "local", "tgt": "m1", "fun": "test.ping", "token": "` + held.Token.Value + `"}`
	s.Do(t, "POST", "/run", token, "Content-Type", asJSON).Want(t, "the token after the logout", 401, "")

	// a token that is deleted, by whomever, ends its session and its streams
	session = s.LogIn(t, "saltdev")
	delete(s.Tokens, "saltdev")
	stream, body := openStream(t, s, session)
	defer stream()
	held, err = s.Gate.Session(session, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Gate.Tokens.Delete(held.Token.Value); err != nil {
		t.Fatal(err)
	}
	s.Do(t, "GET", "/stats", "", "X-Auth-Token", session, "Accept", asJSON).Want(t, "/stats", 401, "")
	deleted := time.Now()
	for {
		if err := fire(t, s, "after/deletion"); err != nil {
			t.Fatal(err)
		}
		if _, err := body.ReadString('\n'); err != nil {
			break
		}
		if time.Since(deleted) > 15*time.Second {
			t.Fatal("events reach a stream whose token was deleted")
		}
	}

	// after a logout nothing arrives
	session = s.LogIn(t, "saltdev")
	delete(s.Tokens, "saltdev")
	stream, body = openStream(t, s, session)
	defer stream()
	s.Do(t, "POST", "/logout", "{}", "Content-Type", asJSON, "X-Auth-Token", session).Want(t, "logout", 200, "cleared")
	if err := fire(t, s, "after/logout"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := body.ReadString('\n')
		if strings.Contains(line, "after/logout") {
			t.Error("an event reaches a stream whose session has ended")
		}
		if err != nil {
			return
		}
	}
}

// openStream opens the events; end closes the connection.
func openStream(t *testing.T, s *netapitest.Site, session string) (end func(), body *bufio.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", s.Server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", session)
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(err, answer)
	}
	return func() { cancel(); answer.Body.Close() }, bufio.NewReader(answer.Body)
}

func fire(t *testing.T, s *netapitest.Site, tag string) error {
	t.Helper()
	return s.Master.Listen(t).Fire(t.Context(), tag, nil)
}

// sshOptions checks that no order of the client ssh is carried out, whatever its options. When there is a
// salt-ssh, this test must try what they do.
func sshOptions(t *testing.T, s *netapitest.Site) {
	session := s.LogIn(t, "saltdev")
	for _, option := range []string{`"ssh_options": ["ProxyCommand=touch x"]`, `"ssh_priv": "x; touch x"`,
		`"roster_file": "/etc/passwd"`, `"ssh_port": "22; touch x"`} {
		order(t, s, session, `{"client": "ssh", "tgt": "*", "fun": "test.ping", `+option+`}`).Want(t, option, 501, "")
	}
	order(t, s, session, `{"client": "ssh", "tgt": "*", "fun": "test.ping", "raw_shell": true}`).
		Want(t, "raw_shell", 401, "Raw shell option not allowed.")
}

func outsidePaths(t *testing.T, s *netapitest.Site) {
	session := s.LogIn(t, "saltdev")
	c := s.Master.Config
	roots := map[string]*data.Map{"file_roots.write": c.FileRoots, "pillar_roots.write": c.PillarRoots}
	for fun, of := range roots {
		folders := data.TextsOf(of.Value("base"))
		if len(folders) == 0 {
			t.Fatalf("there are no roots for %s", fun)
		}
		write := func(path string) string {
			got := order(t, s, session, fmt.Sprintf(`{"client": "wheel", "fun": %q, "data": "x", "path": %q}`, fun, path))
			var answer struct {
				Return []struct {
					Data struct {
						Return  string
						Success bool
					}
				}
			}
			if err := json.Unmarshal(got.Body, &answer); err != nil || got.Status != 200 || len(answer.Return) != 1 {
				t.Fatalf("%s of %s: %d %s", fun, path, got.Status, got.Body)
			}
			return answer.Return[0].Data.Return
		}
		if got := write("within.sls"); !strings.HasPrefix(got, "Wrote data to file") {
			t.Errorf("%s of a good path: %q", fun, got)
		}
		for _, path := range []string{"../../evil.sls", "../evil.sls", "/evil.sls", "a/../../../evil.sls", "..",
			s.Dir() + "/evil.sls"} {
			if got := write(path); strings.HasPrefix(got, "Wrote") || got == "" {
				t.Errorf("%s of %s: %q", fun, path, got)
			}
			for _, root := range folders {
				for _, at := range []string{path, root + "/" + path} {
					if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
						t.Errorf("%s was written", at)
						_ = os.Remove(at)
					}
				}
			}
		}
	}
	for _, id := range []string{"../../evil", "a/b", "", ".", "..", "x\u0000y", "a\"b"} {
		body := fmt.Sprintf(`{"mid": %q, "username": "saltdev", "password": "saltdev", "eauth": "file"}`, id)
		got := s.Do(t, "POST", "/keys", body, "Content-Type", asJSON)
		if got.Status != 400 {
			t.Errorf("key of %q: %d %s", id, got.Status, got.Body)
		}
	}
	for _, path := range []string{"/static/../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fetc%2fpasswd",
		"/static//etc/passwd", "/app/../../etc/passwd"} {
		if got := s.Do(t, "GET", path, "", "Accept", "*/*"); strings.Contains(string(got.Body), "root:") {
			t.Errorf("%s gives /etc/passwd", path)
		}
	}
	err := filepath.WalkDir(s.Dir(), func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), "evil") {
			t.Errorf("%s was written", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func otherOrigins(t *testing.T, s *netapitest.Site) {
	login := `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`
	got := s.Do(t, "POST", "/login", login, "Content-Type", asJSON, "Origin", "http://evil.example")
	if got.Header.Get("Set-Cookie") != "" {
		t.Error("a page of another origin logs its visitor in")
	}
	got = s.Do(t, "POST", "/login", login, "Content-Type", asJSON)
	cookie := got.Header.Get("Set-Cookie")
	for _, flag := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, flag) {
			t.Errorf("the cookie %q lacks %s", cookie, flag)
		}
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	ping := `{"client": "local", "tgt": "m1", "fun": "test.ping"}`
	for _, headers := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"},
		{"Origin", "null"}} {
		got := s.Do(t, "POST", "/", ping, append(headers, "Content-Type", "text/plain", "Cookie", cookie)...)
		got.Want(t, strings.Join(headers, " "), 403, "")
		if got.Header.Get("Access-Control-Allow-Origin") != "" || got.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s may read the answer", headers)
		}
	}
	for _, path := range []string{"/minions", "/keys", "/jobs", "/events", "/ws"} {
		s.Do(t, "GET", path, "", "Cookie", cookie, "Accept", "*/*", "Origin", "http://evil.example").Want(t, "GET "+path, 403, "")
		s.Do(t, "GET", path, "", "Cookie", cookie, "Accept", "*/*", "Sec-Fetch-Site", "same-site").Want(t, "GET "+path, 403, "")
	}
	s.Do(t, "GET", "/keys", "", "Accept", asJSON, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").Want(t, "keys for the own page", 200, "")
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "Cookie", cookie).Want(t, "a program with the cookie", 200, "true")
	s.Do(t, "POST", "/", ping, "Content-Type", asJSON, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").
		Want(t, "the own page", 200, "true")
}

func hookCredentials(t *testing.T, s *netapitest.Site) {
	bus := s.Master.Listen(t, "salt/netapi/hook/")
	got := s.Do(t, "POST", "/hook/a%2Fb/c", `{"x": 1}`, "Content-Type", asJSON, "X-Auth-Token", s.LogIn(t, "saltdev"),
		"Authorization", "Bearer secret", "Cookie", "session_id=secret", "X-Own", "kept")
	got.Want(t, "hook", 200, "true")
	e := testsalt.AwaitEvent(t, bus, "salt/netapi/hook/a/b/c")
	m, err := e.Map()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(string(e.Data))
	if strings.Contains(text, "secret") || strings.Contains(text, s.LogIn(t, "saltdev")) || !strings.Contains(text, "kept") {
		t.Errorf("the event is %v", m)
	}
	for _, path := range []string{"/hook/a%0Atag", "/hook/a%0D%0Ab", "/hook/%ff"} {
		s.Do(t, "POST", path, "{}", "Content-Type", asJSON, "X-Auth-Token", s.LogIn(t, "saltdev")).Want(t, path, 400, "")
	}
}

func anonymousSessions(t *testing.T, s *netapitest.Site) {
	for _, path := range []string{"/", "/login", "/minions", "/keys", "/nope", "/run"} {
		if got := s.Do(t, "GET", path, ""); got.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s sets %s", path, got.Header.Get("Set-Cookie"))
		}
	}
}

func talkativeAnswers(t *testing.T, s *netapitest.Site) {
	session := s.LogIn(t, "saltdev")
	for _, got := range []*netapitest.Reply{
		s.Do(t, "GET", "/", "", "Accept", asJSON), s.Do(t, "GET", "/nope", "", "Accept", asJSON),
		order(t, s, session, `{"client": "local", "tgt": {"a": 1}, "fun": "test.ping"}`),
		order(t, s, session, `[1, 2]`), order(t, s, session, `{`),
	} {
		if got.Header.Get("Server") != "" || strings.Contains(string(got.Body), "Traceback") || strings.Contains(string(got.Body), ".go:") {
			t.Errorf("%v %s", got.Header, got.Body)
		}
	}
}

func foreignSessions(t *testing.T, s *netapitest.Site) {
	mine := strings.Repeat("a", 40)
	got := s.Do(t, "POST", "/login", `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`, "Content-Type", asJSON,
		"Cookie", "session_id="+mine)
	if got.Header.Get("X-Auth-Token") == mine {
		t.Error("an attacker can choose the session of a victim")
	}
	for _, id := range []string{mine, "", "../../etc/passwd", strings.Repeat("f", 1<<16)} {
		order(t, s, id, `{"client": "local", "tgt": "m1", "fun": "test.ping"}`).Want(t, "session "+id[:min(len(id), 10)], 401, "")
	}
}

// forgedOrigin tries to make a job look as if somebody else had sent it.
func forgedOrigin(t *testing.T, s *netapitest.Site) {
	got := order(t, s, s.LogIn(t, "limited"), `{"client": "local", "tgt": "m1", "fun": "test.arg", "kwarg": {"__pub_user": "root"}}`)
	if strings.Contains(string(got.Body), `"__pub_user": "root"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = order(t, s, s.LogIn(t, "limited"), `{"client": "local", "tgt": "m1", "fun": "test.arg", "user": "root", "key": "x"}`)
	if strings.Contains(string(got.Body), `"__pub_user": "root"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// largeBodies measures what a body makes the program allocate, whether or not it is freed at once.
func largeBodies(t *testing.T, s *netapitest.Site) {
	session := s.LogIn(t, "saltdev")
	const most = 8 << 20
	for name, body := range map[string]string{
		"deep":           strings.Repeat("[", 1<<20),
		"many values":    "[" + strings.Repeat("{},", 300_000) + "{}]",
		"many chunks":    "[" + strings.Repeat(`{"client":"x"},`, 60_000) + "{}]",
		"number":         strings.Repeat("9", 1<<20),
		"colliding keys": "{" + strings.Repeat(`"a":1,`, 150_000) + `"a":1}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := order(t, s, session, body)
		runtime.ReadMemStats(&after)
		if got.Status < 400 || got.Status >= 500 {
			t.Errorf("%s: %d %.200s", name, got.Status, got.Body)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("%s: a body of %d bytes takes %d bytes of memory", name, len(body), n)
		}
	}
}

// strangersBodies checks that who is not logged in sends at most 64 KiB, but for hooks, which have secrets.
func strangersBodies(t *testing.T, s *netapitest.Site) {
	const most = 64 << 10
	space := func(n int) string { return `{"x": 1` + strings.Repeat(" ", n-len(`{"x": 1}`)) + "}" }
	for _, path := range []string{"/run", "/login", "/token", "/keys"} {
		s.Do(t, "POST", path, space(most+1), "Content-Type", asJSON).Want(t, path, 413, "")
		if got := s.Do(t, "POST", path, space(most), "Content-Type", asJSON); got.Status == 413 {
			t.Errorf("%s refuses %d bytes", path, most)
		}
	}
	s.Do(t, "POST", "/hook/x", space(most+1), "Content-Type", asJSON, "X-Auth-Token", s.LogIn(t, "saltdev")).
		Want(t, "hook", 200, "true")
	if got := order(t, s, s.LogIn(t, "saltdev"), space(most+1)); got.Status == 413 {
		t.Error("who is logged in may send no more")
	}
}

func hookSecrets(t *testing.T, s *netapitest.Site) {
	const secret = "0123456789abcdef"
	s.Gate.Door.HookSecrets = []netapi.HookSecret{{Path: "github", Secret: secret}}
	defer func() { s.Gate.Door.HookSecrets = nil }()
	sign := func(body string) string {
		sum := hmac.New(sha256.New, []byte(secret))
		sum.Write([]byte(body))
		return "sha256=" + hex.EncodeToString(sum.Sum(nil))
	}
	const body, second, third = `{"ref": "main"}`, `{"ref": "second"}`, `{"ref": "third"}`
	right := sign(body)
	for _, c := range []struct {
		path, body, header, value string
		status                    int
	}{
		{"/hook/github/push", body, "X-Hub-Signature-256", right, 200},
		{"/hook/github/push", body, "X-Hub-Signature-256", right, 409}, // it was read on its way, and is sent again
		{"/hook/github/other", body, "X-Hub-Signature-256", right, 409},
		{"/hook/github", second, "X-Hub-Signature-256", sign(second), 200},
		{"/hook/github/push", body, "X-Gitlab-Token", secret, 200},
		{"/hook/github/push", body + " ", "X-Hub-Signature-256", right, 401},
		{"/hook/github/push", body, "X-Hub-Signature-256", "sha256=", 401},
		{"/hook/github/push", body, "X-Hub-Signature-256", "x", 401},
		{"/hook/github/push", body, "X-Gitlab-Token", "0123456789abcdee", 401},
		{"/hook/github/push", body, "X-Auth-Token", s.LogIn(t, "saltdev"), 401},
		{"/hook/githubber", body, "X-Hub-Signature-256", right, 401},
		{"/hook/github%2Fpush", third, "X-Hub-Signature-256", sign(third), 200},
		{"/hook/%67ithub/push", body, "X-Other", "", 401},
		{"/hook//github/push", body, "X-Auth-Token", s.LogIn(t, "saltdev"), 404},
	} {
		s.Do(t, "POST", c.path, c.body, "Content-Type", asJSON, c.header, c.value).Want(t, c.path+" "+c.value, c.status, "")
	}
}
