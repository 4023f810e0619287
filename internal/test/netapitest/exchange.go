package netapitest

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// An Exchange is a request with the answer that Salt's salt-api gave.
type Exchange struct {
	Name, Conf string
	Request    struct {
		Method, Path string
		Headers      [][2]string
		Body         any // a text, or the value of a JSON body
	}
	Response struct {
		Status  int
		Headers [][2]string
		JSON    any
		Body    string
	}
	Volatile []string
	Sent     []string
}

func (e *Exchange) header(name string) string {
	for _, h := range e.Response.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// body returns the body of the request.
func (e *Exchange) body() string {
	switch b := e.Request.Body.(type) {
	case string:
		return b
	case map[string]any: // bytes that are no text
		raw, err := base64.StdEncoding.DecodeString(b["base64"].(string))
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	return ""
}

// Exchanges reads a group of the vectors.
func Exchanges(t *testing.T, group string) []*Exchange {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(vectorDir(t), group+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Exchanges []*Exchange }
	d := json.NewDecoder(strings.NewReader(string(src)))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f.Exchanges
}

// send sends the request of an exchange.
func (s *Site) send(t *testing.T, e *Exchange) *Reply {
	t.Helper()
	var headers []string
	body := s.fill(t, e.body())
	for _, h := range e.Request.Headers {
		if h[0] == "Transfer-Encoding" {
			_, body, _ = strings.Cut(body, "\r\n")
			body, _, _ = strings.Cut(body, "\r\n")
			continue
		}
		headers = append(headers, h[0], s.fill(t, h[1]))
	}
	got := s.Do(t, e.Request.Method, s.fill(t, e.Request.Path), body, headers...)
	s.renew(headers, got)
	return got
}

// renew notes the session of a login in place of the one that its request has: a login ends that.
func (s *Site) renew(headers []string, got *Reply) {
	made := got.Header.Get("X-Auth-Token")
	for user, id := range s.Tokens {
		if made != "" && slices.Contains(headers, id) {
			s.Tokens[user] = made
		}
	}
}

var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// fill puts sessions, tokens and job ids in place of their names.
func (s *Site) fill(t *testing.T, text string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		kind, user, _ := strings.Cut(strings.Trim(name, "${}"), ":")
		switch {
		case kind == "jid":
			return s.job(t, user)
		case kind == "run":
			return s.saltToken(t)
		case kind == "tok" && user == "form":
			return s.loggedOut(t)
		case kind == "tok" && strings.HasPrefix(user, "shorty"):
			return s.ShortSession(t, user)
		case kind == "tok" && (user == "v1" || user == "t"), kind == "t": // users of a run with other options
			return s.LogIn(t, "saltdev")
		case kind == "tok":
			return s.LogIn(t, user)
		}
		return s.LogIn(t, kind)
	})
}

// saltToken returns a token of the master.
func (s *Site) saltToken(t *testing.T) string {
	t.Helper()
	got := s.Do(t, "POST", "/token", `{"username": "saltdev", "password": "saltdev", "eauth": "file"}`,
		"Content-Type", "application/json")
	return got.JSON(t).([]any)[0].(map[string]any)["token"].(string)
}

func (s *Site) loggedOut(t *testing.T) string {
	t.Helper()
	delete(s.Tokens, "saltdev")
	id := s.LogIn(t, "saltdev")
	delete(s.Tokens, "saltdev")
	if got := s.Do(t, "POST", "/logout", "{}", "Content-Type", "application/json", "X-Auth-Token", id); got.Status != 200 {
		t.Fatalf("logout: %d %s", got.Status, got.Body)
	}
	return id
}

// ShortSession returns a session whose token has run out; that of shorty2 is about to.
func (s *Site) ShortSession(t *testing.T, name string) string {
	t.Helper()
	if s.Tokens[name] != "" {
		return s.Tokens[name]
	}
	got := s.Do(t, "POST", "/login", `{"username": "shorty", "password": "shorty", "eauth": "file", "token_expire": 1}`,
		"Content-Type", "application/json")
	id := got.Header.Get("X-Auth-Token")
	for name == "shorty" {
		if _, err := s.Gate.Session(id, netip.MustParseAddr("127.0.0.1")); err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond) // the master's token has its own clock
	}
	s.Tokens[name] = id
	return id
}

// job returns the id of a job: m and 1 of minions, r of a runner.
func (s *Site) job(t *testing.T, name string) string {
	t.Helper()
	if jid := s.Tokens["jid "+name]; jid != "" {
		return jid
	}
	order := `{"client": "local_async", "tgt": "*", "fun": "test.ping"}`
	if name == "r" {
		order = `{"client": "runner_async", "fun": "test.arg", "foo": "bar"}`
	}
	bus := s.Master.Listen(t)
	got := s.Do(t, "POST", "/", order, "Content-Type", "application/json", "X-Auth-Token", s.LogIn(t, "saltdev"))
	jid := got.JSON(t).(map[string]any)["return"].([]any)[0].(map[string]any)["jid"].(string)
	s.Tokens["jid "+name] = jid
	for left := 2; left > 0; { // both minions have returned, or the runner has ended
		e, err := bus.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Tag == "salt/run/"+jid+"/ret":
			left = 0
		case strings.HasPrefix(e.Tag, "salt/job/"+jid+"/ret/"):
			left--
		}
	}
	return jid
}
