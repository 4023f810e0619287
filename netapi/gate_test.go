package netapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// A fakeMaster takes orders, and logins with the password "right".
type fakeMaster struct {
	orders []*data.Map
	logins int
	tokens map[string]*data.Map
	life   time.Duration
	answer *Answer
	err    error
}

func (m *fakeMaster) LogIn(_ context.Context, login *data.Map) (*data.Map, error) {
	if login.Value("password") != "right" {
		return nil, &Fault{Status: http.StatusUnauthorized, Text: textBadLogin}
	}
	m.logins++
	token := fmt.Sprintf("%s%04x", strings.Repeat("ab", 30), m.logins)
	now := float64(time.Now().UnixNano()) / 1e9
	t := data.NewMap("token", token, "name", login.Value("username"), "eauth", login.Value("eauth"), "start", now,
		"expire", now+m.life.Seconds())
	m.tokens[token] = t
	return t, nil
}

func (m *fakeMaster) Order(_ context.Context, low *data.Map) (*Answer, error) {
	m.orders = append(m.orders, low)
	return m.answer, m.err
}

func (m *fakeMaster) Get(token string) (*data.Map, error) {
	if t, ok := m.tokens[token]; ok {
		return t, nil
	}
	return nil, errors.New("no such token")
}

func (m *fakeMaster) Add(t *data.Map) error {
	m.logins++
	t.Set("token", fmt.Sprintf("%s%04x", strings.Repeat("cd", 30), m.logins))
	m.tokens[t.Text("token")] = t
	return nil
}

func (m *fakeMaster) Delete(token string) error {
	delete(m.tokens, token)
	return nil
}

var here = netip.MustParseAddr("127.0.0.1")

// newGate returns a gate whose audit lines go to the buffer.
func newGate(door *Door) (*Gate, *fakeMaster, *bytes.Buffer) {
	m := &fakeMaster{tokens: map[string]*data.Map{}, life: time.Hour, answer: &Answer{Items: []any{data.NewMap("m1", true)}}}
	var b bytes.Buffer
	log := logrus.New()
	log.SetOutput(&b)
	g := NewGate(Options{Settings: &Settings{Clients: []string{"local", "runner"}}, Door: door, Master: m, Tokens: m,
		External: data.NewMap(), Audit: &Audit{Log: log}, Log: log})
	return g, m, &b
}

func login(user, password string) *data.Map {
	return data.NewMap("username", user, "password", password, "eauth", "file", "cmd", "wheel")
}

func wantFault(t *testing.T, what string, err error, status int, text string) {
	t.Helper()
	if f := FaultOf(err); err == nil || f.Status != status || f.Text != text {
		t.Errorf("%s: %v, want %d %s", what, err, status, text)
	}
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, _ := newGate(&Door{})
		g.TokenExpire = time.Hour
		first, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		again, err := g.LogIn(t.Context(), login("ann", "right"), here, first.ID)
		if err != nil || again.ID == first.ID || again.Token.Value == first.Token.Value {
			t.Errorf("a second login has the session %v, %v", again, err)
		}
		ended := func(what string, s *Session) {
			t.Helper()
			_, err := g.Session(s.ID, here)
			wantFault(t, what, err, 401, textNoSession)
			if m.tokens[s.Token.Value] != nil || g.Valid(s.Token.Value) {
				t.Error(what + ": its token is valid")
			}
		}
		ended("the session before a second login", first)
		bob, err := g.LogIn(t.Context(), login("bob", "right"), here, again.ID)
		if err != nil || bob.ID == again.ID {
			t.Errorf("a login has the session of another user: %v", err)
		}
		ended("the session of another user before a login", again)
		if _, err := g.LogIn(t.Context(), login("eve", "wrong"), here, bob.ID); err == nil || !g.Valid(bob.Token.Value) {
			t.Errorf("a login that is refused ends a session: %v", err)
		}
		if again, err = g.Enter(Proven{User: "ann", Old: bob.ID}, here); err != nil {
			t.Fatal(err)
		}
		ended("the session before a login at a provider", bob)
		if other, err := g.LogIn(t.Context(), login("ann", "right"), here, strings.Repeat("a", 40)); err != nil ||
			other.ID == strings.Repeat("a", 40) {
			t.Errorf("the id of a client's choice became a session: %v", err)
		}
		if !g.Valid(again.Token.Value) {
			t.Error("the token of a session is not valid")
		}
		if err := g.LogOut(again); err != nil || g.Valid(again.Token.Value) || m.tokens[again.Token.Value] != nil {
			t.Errorf("the token lives on after the logout: %v", err)
		}
		_, err = g.Session(again.ID, here)
		wantFault(t, "session after the logout", err, 401, textNoSession)

		m.life = 20 * time.Hour
		s, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(9 * time.Hour)
			if _, err := g.Session(s.ID, here); err != nil {
				t.Fatal("a session in use ends: ", err)
			}
		}
		time.Sleep(2 * time.Hour)
		_, err = g.Session(s.ID, here)
		wantFault(t, "session whose token has expired", err, 401, textNoSession)
		if g.Valid(s.Token.Value) || !g.Until(s.Token.Value).Equal(time.Now()) {
			t.Error("a token is valid after its end")
		}
		s, err = g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Hour)
		_, err = g.Session(s.ID, here)
		wantFault(t, "session that was idle", err, 401, textNoSession)
	})
}

// TestSessionsAreLimited logs in again and again. The store must have the tokens of the sessions that there
// are, and no others, however the others have ended.
func TestSessionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, _ := newGate(&Door{})
		m.life = 20 * time.Hour
		logIn := func(user string) *Session {
			t.Helper()
			time.Sleep(time.Millisecond)
			s, err := g.LogIn(t.Context(), login(user, "right"), here, "")
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		held := func(what string, want int) {
			t.Helper()
			if len(m.tokens) != want || len(g.sessions.byID) != want {
				t.Errorf("%s: %d tokens of %d sessions, want %d", what, len(m.tokens), len(g.sessions.byID), want)
			}
		}
		first, bob := logIn("ann"), logIn("bob")
		for range mostSessionsPerUser - 1 {
			logIn("ann")
		}
		held("as many as a user may have", mostSessionsPerUser+1)
		last := logIn("ann")
		held("one more", mostSessionsPerUser+1)
		_, err := g.Session(first.ID, here)
		wantFault(t, "the oldest session", err, 401, textNoSession)
		if _, err := g.Session(bob.ID, here); err != nil || !g.Valid(last.Token.Value) || g.Valid(first.Token.Value) {
			t.Errorf("the session of another user: %v", err)
		}
		time.Sleep(9 * time.Hour)
		if _, err := g.Session(bob.ID, here); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := g.Session(bob.ID, here); err != nil {
			t.Fatal(err)
		}
		held("after those of a user were idle", 1)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		held("after the end", 0)
	})
}

func TestPasswordsCannotBeGuessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, _ := newGate(&Door{})
		began := time.Now()
		for range freeMistakes + 1 {
			_, err := g.LogIn(t.Context(), login("ann", "wrong"), here, "")
			wantFault(t, "wrong password", err, 401, textBadLogin)
		}
		if took := time.Since(began); took != time.Duration(freeMistakes+1)*mistakePause {
			t.Errorf("%d mistakes take %v", freeMistakes+1, took)
		}
		_, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		wantPause(t, "right password within the pause", err)
		if _, err := g.LogIn(t.Context(), login("ann", "right"), netip.MustParseAddr("10.0.0.1"), ""); err != nil {
			t.Error("from another address: ", err)
		}
		time.Sleep(longestPause)
		if _, err := g.LogIn(t.Context(), login("ann", "right"), here, ""); err != nil {
			t.Error("after the pause: ", err)
		}
	})
}

// TestOnlyARightPasswordClearsMistakes checks that orders which fail before the password is looked at
// do not let somebody guess on, and that guesses in orders count, whatever the master calls them.
func TestOnlyARightPasswordClearsMistakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, _ := newGate(&Door{})
		order := func(text string, status int) error {
			m.err = &Fault{Status: status, Text: text}
			low := login("ann", "wrong")
			low.Update(data.NewMap("client", "local", "tgt", "*", "fun", "test.ping"))
			_, err := g.Order(t.Context(), Caller{From: here}, low)
			return err
		}
		const refused = `Authentication failure of type "eauth" occurred for user ann.`
		for range freeMistakes + 1 {
			wantFault(t, "a guess", order(refused, 401), 401, refused)
			_ = order("The field tgt must be a target", 400)
			_ = order(textNoMaster, 503)
		}
		wantPause(t, "within the pause", order(refused, 401))
	})
}

// TestACLCountsOnEveryWayIn checks api_acl, which Salt checks at POST /login alone.
func TestACLCountsOnEveryWayIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{}
		d := &Door{}
		readACL(r, d, nil, data.NewMap("users", data.NewMap("ann", []any{"127.0.0.0/8"}, "bob", []any{"10.0.0.1"}, "*", []any{"10.0.0.2"})))
		g, m, _ := newGate(d)
		if _, err := g.LogIn(t.Context(), login("ann", "right"), here, ""); err != nil {
			t.Error(err)
		}
		session, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := netip.MustParseAddr("10.0.0.9")
		_, err = g.Session(session.ID, elsewhere)
		wantFault(t, "a session from another address", err, 401, textNoSession)
		_, err = g.Caller(session.ID, elsewhere)
		wantFault(t, "its stream from another address", err, 401, textNoSession)
		for _, name := range []string{"bob", "eve"} {
			_, err := g.LogIn(t.Context(), login(name, "right"), here, "")
			wantFault(t, name, err, 401, textNoSession)
			low := login(name, "right")
			low.Update(data.NewMap("client", "local", "tgt", "*", "fun", "test.ping"))
			_, err = g.Order(t.Context(), Caller{From: here}, low)
			wantFault(t, name+" with a password in the chunk", err, 401, textNoSession)
			token, _ := m.LogIn(t.Context(), login(name, "right"))
			low = data.NewMap("client", "local", "tgt", "*", "fun", "test.ping", "token", token.Value("token"))
			_, err = g.Order(t.Context(), Caller{From: here}, low)
			wantFault(t, name+" with a token in the chunk", err, 401, textNoSession)
			_, err = g.Caller(token.Text("token"), here)
			wantFault(t, name+" with a token for a stream", err, 401, textNoSession)
		}
		for _, name := range []string{"BOB", " bob", "bob ", "ｂｏｂ", "bo\u00adb"} { // LDAP takes them for bob
			low := login(name, "right")
			low.Update(data.NewMap("client", "local", "tgt", "*", "fun", "test.ping"))
			_, err := g.Order(t.Context(), Caller{From: netip.MustParseAddr("10.0.0.2")}, low)
			wantFault(t, "bob as "+name, err, 401, textNoSession)
		}
		if len(m.orders) != 0 {
			t.Errorf("the master got %v", m.orders)
		}
	})
}

func TestNamesOfTheACLInTwoSpellings(t *testing.T) {
	d := &Door{}
	readACL(&reader{}, d, nil, data.NewMap("users", data.NewMap("Ann", []any{"10.0.0.0/8"}, "ann", []any{"10.0.0.1"})))
	for from, want := range map[string]bool{"10.0.0.1": true, "10.0.0.2": false, "127.0.0.1": false} {
		if got := d.ACL.Allows("ann", netip.MustParseAddr(from)); got != want {
			t.Errorf("ann from %s: %v", from, got)
		}
	}
}

func TestOrdersAreChecked(t *testing.T) {
	g, m, _ := newGate(&Door{})
	for _, c := range []struct {
		low    *data.Map
		status int
		text   string
	}{
		{data.NewMap(), 400, "Invalid client specified: 'None'"},
		{data.NewMap("client", "bogus"), 400, "Invalid client specified: 'bogus'"},
		{data.NewMap("client", []any{"local"}), 400, "Invalid client specified: '['local']'"},
		{data.NewMap("client", "wheel"), 400,
			"Client disabled: 'wheel'. Add to 'netapi_enable_clients' master config option to enable."},
		{data.NewMap("client", "local"), 401, textNoLogin},
		{data.NewMap("client", "local", "token", "zz"), 401, textBadToken},
		{data.NewMap("client", "local", "token", int64(7)), 401, textBadToken},
		{data.NewMap("client", "local", "token", "abcd"), 401, "Authentication error occurred."},
		{data.NewMap("client", "local", "eauth", "file", "raw_shell", true), 401, "Raw shell option not allowed."},
	} {
		_, err := g.Order(t.Context(), Caller{From: here}, c.low)
		wantFault(t, data.Repr(c.low), err, c.status, c.text)
	}
	if len(m.orders) != 0 {
		t.Errorf("the master got %v", m.orders)
	}
	low := data.NewMap("client", "local", "tgt", "*", "fun", "test.ping", "token", "other")
	if _, err := g.Order(t.Context(), Caller{Token: "cafe", User: "ann", From: here}, low); err != nil {
		t.Fatal(err)
	}
	if m.orders[0].Value("token") != "cafe" || low.Value("token") != "other" {
		t.Errorf("the order has the token %v", m.orders[0].Value("token"))
	}
}

func TestAuditHasNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, log := newGate(&Door{})
		if _, err := g.LogIn(t.Context(), login("ann", "wrong"), here, ""); err == nil {
			t.Error("a wrong password is right")
		}
		low := login("ann\nlevel=info", "right")
		low.Update(data.NewMap("client", "local", "tgt", "web*", "fun", "cmd.run", "arg", []any{"echo MARKER"}))
		if _, err := g.Order(t.Context(), Caller{From: here}, low); err != nil {
			t.Error(err)
		}
		low = data.NewMap("client", "runner", "fun", "jobs.list_jobs")
		if _, err := g.Order(t.Context(), Caller{Token: "cafe", From: here}, low); err != nil {
			t.Error(err)
		}
		text := log.String()
		if strings.Count(text, "minions=") != 1 {
			t.Errorf("the audit counts the minions of a runner:\n%s", text)
		}
		for _, secret := range []string{"wrong", "right", "MARKER"} {
			if strings.Contains(text, secret) {
				t.Errorf("the audit has %s:\n%s", secret, text)
			}
		}
		for _, want := range []string{"user=ann", "from=127.0.0.1", "fun=cmd.run", `target="web*"`, "minions=1", `ann\nlevel=info`} {
			if !strings.Contains(text, want) {
				t.Errorf("the audit lacks %s:\n%s", want, text)
			}
		}
	})
}

func TestPerms(t *testing.T) {
	g, _, _ := newGate(&Door{})
	g.External = data.NewMap("file", data.NewMap("ann", []any{"test.*", "@runner", data.NewMap("m1", []any{"cmd.run"})},
		"*", []any{"test.*"}, "ops%", []any{"@wheel"}, "^filename", "/x"))
	for range 2 { // Salt's list grows with each login
		got := data.Repr(g.Perms(Token{User: "ann", Eauth: "file", Groups: []string{"ops"}}))
		if got != "['@runner', '@wheel', 'test.*', {'m1': ['cmd.run']}]" {
			t.Error(got)
		}
	}
	if got := data.Repr(g.Perms(Token{User: "eve", Eauth: "pam"})); got != "{}" {
		t.Error(got)
	}
	own := []any{"@wheel", "a.b", "@wheel"}
	for system, want := range map[string]string{"rest": "['@wheel', 'a.b', '@wheel']", "file": "['test.*']"} {
		if got := data.Repr(g.Perms(Token{User: "eve", Eauth: system, Rights: own})); got != want {
			t.Errorf("%s: %s, want %s", system, got, want)
		}
	}
}

func TestNewTokenNeedsNoClient(t *testing.T) {
	g, m, log := newGate(&Door{})
	g.Settings.Clients = nil
	_, err := g.MakeToken(t.Context(), login("ann", "right"), here)
	wantFault(t, "MakeToken without the client runner", err, 400,
		"Client disabled: 'runner'. Add to 'netapi_enable_clients' master config option to enable.")
	token, err := g.NewToken(t.Context(), login("ann", "right"), here)
	if err != nil || token.User != "ann" || m.tokens[token.Value] == nil || !g.Valid(token.Value) {
		t.Errorf("NewToken: %v, %v", token, err)
	}
	if !strings.Contains(log.String(), "user=ann") {
		t.Errorf("no line of the audit about the login: %s", log)
	}
}

func TestRunnerWords(t *testing.T) {
	for _, c := range []struct {
		name      string
		low, want *data.Map
	}{
		{"keywords alone", data.NewMap("kwarg", data.NewMap("x", 1, "y", 2), "y", 3),
			data.NewMap("arg", []any{}, "kwarg", data.NewMap("x", 1, "y", 3))},
		{"keywords with arguments", data.NewMap("kwarg", data.NewMap("x", 1), "arg", []any{2}),
			data.NewMap("arg", []any{2}, "kwarg", data.NewMap("x", 1))},
		{"without keywords", data.NewMap("client", "runner", "fun", "f", "jid", "1"),
			data.NewMap("arg", []any{}, "kwarg", data.NewMap("jid", "1"))},
		{"arguments as on a command line", data.NewMap("arg", []any{"1", "k=[v]"}, "k", "x"),
			data.NewMap("arg", []any{int64(1)}, "kwarg", data.NewMap("k", "x"))},
		{"a result that is not stored", data.NewMap("nocache", true, "k", "x"),
			data.NewMap("arg", []any{}, "kwarg", data.NewMap("k", "x"), "nocache", true)},
	} {
		if got := (&order{low: c.low}).runnerWords(); data.Repr(got) != data.Repr(c.want) {
			t.Errorf("%s: %s, want %s", c.name, data.Repr(got), data.Repr(c.want))
		}
	}
}
