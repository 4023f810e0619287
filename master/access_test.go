package master

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// testLogin knows one system, auto, that lets everybody in whose password is not wrong.
func testLogin(name string, _ *data.Map) (auth.System, error) {
	switch name {
	case "auto":
		return autoLogin{}, nil
	case "ruled":
		return ruledLogin{}, nil
	}
	return nil, errors.New("no such system")
}

// A ruledLogin gives rights itself, to who has the password.
type ruledLogin struct{ autoLogin }

func (ruledLogin) Rules(context.Context, auth.Login) (list []any, ok bool, err error) {
	return []any{"test.*"}, true, nil
}

type autoLogin struct{}

func (autoLogin) Login(_ context.Context, l auth.Login) (bool, error) {
	return l.Password != "wrong", nil
}

// ownToken puts the token of this master in the place of a captured one.
func ownToken(m *data.Map, tokens map[string]string) {
	if ours, ok := tokens[m.Text("token")]; ok {
		m.Set("token", ours)
	}
}

// sameToken puts the token that this master gave, and its times, in the place of the captured ones.
func sameToken(t *testing.T, got, want any, tokens map[string]string) {
	t.Helper()
	given, _ := got.(*data.Map)
	captured, _ := want.(*data.Map)
	if !captured.Has("token") {
		return
	}
	start, _ := given.Value("start").(float64)
	expire, _ := given.Value("expire").(float64)
	if life := expire - start; life < 43199.9 || life > 43200.1 {
		t.Errorf("the token holds %v s, want 43200", life)
	}
	if len(given.Text("token")) != len(captured.Text("token")) {
		t.Errorf("token %q, want one as long as %q", given.Text("token"), captured.Text("token"))
	}
	if _, known := tokens[captured.Text("token")]; !known {
		tokens[captured.Text("token")] = given.Text("token")
	}
	captured.Set("token", given.Text("token"))
	captured.Set("start", start)
	captured.Set("expire", expire)
}

// aclBench is a master with somebody of each kind: daemon of publisher_acl, and fred and limited at
// the system auto.
func aclBench(t testing.TB, change func(*config.Master)) *bench {
	return newBench(t, func(c *config.Master) {
		c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{"test.*"},
			"limited", []any{data.NewMap("web*", []any{"test.ping"})}))
		c.PublisherACL = data.NewMap("daemon", []any{"test.ping", data.NewMap("db*", []any{"test.echo"})})
		if change != nil {
			change(c)
		}
	}, "web1", "db1")
}

// with returns a publish load with credentials of external_auth or a token in place of the key of
// root.
func (b *bench) with(tgt any, fun string, kwargs *data.Map) *data.Map {
	load := b.load(tgt, "glob", fun, []any{})
	load.Delete("key")
	load.Set("kwargs", kwargs)
	return load
}

func loginAs(name, password string) *data.Map {
	return data.NewMap("eauth", "auto", "username", name, "password", password)
}

func errorName(reply any) string {
	m, _ := reply.(*data.Map)
	e, _ := m.Value("error").(*data.Map)
	return e.Text("name")
}

func TestUsersOfPublisherACL(t *testing.T) {
	b := aclBench(t, func(c *config.Master) { c.PublisherACLBlacklist = data.NewMap("modules", []any{"test.ret.*"}) })
	key, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".daemon_key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		user, key, tgt, fun string
		want                string // name of the error
	}{
		{"daemon", string(key), "*", "test.ping", ""},
		{"daemon", string(key), "db1", "test.echo", ""},
		{"daemon", string(key), "*", "test.echo", "AuthorizationError"},
		{"daemon", string(key), "nobody", "test.echo", "AuthorizationError"},
		{"daemon", string(key), "*", "test.pinger", "AuthorizationError"},
		{"daemon", b.key[1:], "*", "test.ping", "AuthenticationError"},
		{"bin", string(key), "*", "test.ping", "AuthenticationError"},
		{"root", string(key), "*", "test.ping", "AuthenticationError"},
		{"sudo_root", string(key), "*", "test.ping", "AuthenticationError"},
		{"root", b.key, "*", "test.retcode", "AuthorizationError"},
		{"root", b.key, "*", "test.echo", ""},
	} {
		load := b.load(tt.tgt, "glob", tt.fun, []any{})
		load.Set("user", tt.user)
		load.Set("key", tt.key)
		before := len(b.wire.messages())
		reply := b.clear(t, load)
		if sent := len(b.wire.messages()) > before; errorName(reply) != tt.want || sent != (tt.want == "") {
			t.Errorf("%s: %s of %s: %s, sent = %v", tt.user, tt.fun, tt.tgt, data.Repr(reply), sent)
		}
	}
}

// TestRefuseAlikeOnTheWire gets the same bytes for every login that is refused, and for every
// token.
func TestRefuseAlikeOnTheWire(t *testing.T) {
	b := aclBench(t, nil)
	var want []byte
	for _, kwargs := range []*data.Map{
		loginAs("fred", "wrong"), loginAs("nobody", "wrong"), loginAs("", "wrong"),
		data.NewMap("eauth", "nosuch", "username", "fred", "password", "x"),
		data.NewMap("eauth", nil), data.NewMap("token", "x"), data.NewMap("token", nil),
		data.NewMap("token", strings.Repeat("0", 64)), data.NewMap("token", "../../../etc/passwd"),
	} {
		body, err := payload.Marshal(data.NewMap("enc", "clear",
			"load", b.with("*", "test.ping", kwargs), "version", int64(3)))
		if err != nil {
			t.Fatal(err)
		}
		reply := b.ask(body)
		if want == nil {
			want = reply
		}
		if !bytes.Equal(reply, want) {
			t.Errorf("%s: reply %q, want %q", data.Repr(kwargs), reply, want)
		}
	}
	for _, kwargs := range []*data.Map{loginAs("limited", "x"), loginAs("norights", "x")} {
		for _, tgt := range []string{"db1", "nosuch", "*"} {
			if reply := b.clear(t, b.with(tgt, "test.ping", kwargs)); !data.Equal(reply,
				refusal("AuthorizationError", "Authorization error occurred.")) {
				t.Errorf("%s on %s: %s", data.Repr(kwargs), tgt, data.Repr(reply))
			}
		}
	}
}

// TestRefusalsFireNothing sends refused requests with a job id and fields of the caller's choice:
// nothing of it is on the bus (Salt announces salt/job/JID/error with the whole load).
func TestRefusalsFireNothing(t *testing.T) {
	b := aclBench(t, nil)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer s.Close()
	for _, kwargs := range []*data.Map{nil, loginAs("fred", "wrong"), data.NewMap("token", "x"),
		loginAs("limited", "x")} {
		load := b.with("*", "cmd.run", kwargs)
		load.Set("jid", "salt/auth/x")
		load.Set("key", "MARKER")
		if reply := b.clear(t, load); errorName(reply) == "" {
			t.Errorf("not refused: %s", data.Repr(reply))
		}
	}
	for _, load := range []*data.Map{data.NewMap("cmd", "mk_token", "eauth", "auto", "username",
		"MARKER", "password", "wrong"), data.NewMap("cmd", "get_token", "token", "MARKER")} {
		b.clear(t, load)
	}
	if err := b.bus.Fire("end", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Next(t.Context()); err != nil || e.Tag != "end" {
		t.Errorf("event %s %s, %v", e.Tag, e.Data, err)
	}
}

// countingKeys counts how often the master looks which minions there are.
type countingKeys struct {
	pki.Store
	n int
}

func (c *countingKeys) List(s pki.State) ([]string, error) { c.n++; return c.Store.List(s) }

// TestNoWorkBeforeAuthentication checks that no target is resolved for an unauthenticated sender.
func TestNoWorkBeforeAuthentication(t *testing.T) {
	b := aclBench(t, nil)
	p := newPublishing(b.parts)
	keys := &countingKeys{Store: b.keys}
	p.fleet.keys = keys
	publish := func(load *data.Map) {
		t.Helper()
		raw, err := payload.Marshal(load)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := payload.ParseFields(raw, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.publish(t.Context(), &channel.Command{Load: fields}); err != nil {
			t.Fatal(err)
		}
	}
	wrong := b.load("E@(a|b)+ and G@os:*", "compound", "test.ping", []any{})
	wrong.Set("key", "x")
	publish(wrong)
	publish(b.with("*", "test.ping", loginAs("fred", "wrong")))
	publish(b.with("*", "test.ping", data.NewMap("token", strings.Repeat("0", 64))))
	if keys.n > 0 {
		t.Errorf("keys were listed %d times for strangers", keys.n)
	}
	publish(b.with("*", "test.ping", loginAs("fred", "x")))
	if keys.n == 0 {
		t.Error("keys are not listed here at all")
	}
}

// TestCVE2022_22941OfMasters has a master of masters, which publishes to targets that name none of
// its own minions: a user with rights for some minions alone may not.
func TestCVE2022_22941OfMasters(t *testing.T) {
	b := aclBench(t, func(c *config.Master) { c.OrderMasters = true })
	for _, tgt := range []string{"nosuch", "not-here*", "web9"} {
		if reply := b.clear(t, b.with(tgt,
			"test.ping", loginAs("limited", "x"))); errorName(reply) != "AuthorizationError" ||
			len(b.wire.messages()) > 0 {
			t.Errorf("%s: %s", tgt, data.Repr(reply))
		}
	}
	if reply := b.clear(t, b.with("nosuch", "test.ping",
		loginAs("fred", "x"))); errorName(reply) != "" || len(b.wire.messages()) != 1 {
		t.Errorf("a user with rights on all minions: %s", data.Repr(reply))
	}
}

// hung is a system that does not answer until it is let go, and then says no.
type hung struct{ free chan struct{} }

func (h hung) Login(ctx context.Context, _ auth.Login) (bool, error) {
	select {
	case <-h.free:
	case <-ctx.Done():
	}
	return false, nil
}

// TestRefusedLoginHoldsNoWorker has a request port of two workers, and eight logins at a system
// that does not answer: others are served meanwhile.
func TestRefusedLoginHoldsNoWorker(t *testing.T) {
	b := aclBench(t, nil)
	system := hung{make(chan struct{})}
	o := b.parts.access(b.cfg)
	o.System = func(string) (auth.System, error) { return system, nil }
	if err := b.parts.gate.SetOptions(o); err != nil {
		t.Fatal(err)
	}
	replier, err := zeromq.ListenReply(t.Context(), "tcp://127.0.0.1:0", transport.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- replier.Serve(ctx, b.server.Handle) }()
	dialer := transport.Dialer{Addr: "tcp://" + replier.Addr().String()}
	body, err := payload.Marshal(data.NewMap("enc", "clear",
		"load", b.with("*", "test.ping", loginAs("fred", "x")), "version", int64(3)))
	if err != nil {
		t.Fatal(err)
	}
	const logins = 8
	refused := make(chan error, logins)
	for range logins {
		q := zeromq.NewRequester(dialer)
		defer q.Close()
		go func() { _, err := q.Do(ctx, body); refused <- err }()
	}
	q := zeromq.NewRequester(dialer)
	defer q.Close()
	ping, _ := payload.Marshal(data.NewMap("enc", "clear", "load", data.NewMap("cmd", "ping"),
		"version", int64(3)))
	// the last pings come after all logins
	for n := 0; n < 100 || replier.Stats().Received < logins+100; n++ {
		if _, err := q.Do(ctx, ping); err != nil {
			t.Fatal(err)
		}
	}
	if len(refused) > 0 {
		t.Errorf("%d logins have ended", len(refused))
	}
	close(system.free)
	for range logins {
		if err := <-refused; err != nil {
			t.Error(err)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestRightsFollowTheConfiguration(t *testing.T) {
	b := aclBench(t, nil)
	may := func(fun string) bool {
		t.Helper()
		return errorName(b.clear(t, b.with("*", fun, loginAs("fred", "x")))) == ""
	}
	if !may("test.ping") || may("state.apply") {
		t.Fatal("rights are not those of the start")
	}
	next := *b.cfg
	opts := b.cfg.Map()
	opts.Set("external_auth", data.NewMap("auto", data.NewMap("fred", []any{"state.*"})))
	next.ExternalAuth = opts.Value("external_auth").(*data.Map)
	b.Renew(&next)
	if may("test.ping") || !may("state.apply") {
		t.Error("rights are not those of the reload")
	}
}

func TestOldTokensAreDropped(t *testing.T) {
	b := aclBench(t, nil)
	store := b.parts.gate.Tokens()
	old, young := data.NewMap("name", "fred", "eauth", "auto", "expire", 1.0), data.NewMap("name",
		"fred", "eauth", "auto", "expire", 1e10)
	if err := errors.Join(store.Add(old), store.Add(young)); err != nil {
		t.Fatal(err)
	}
	for _, task := range b.maint.tasks() {
		if task.Name == "__tokens" {
			if err := task.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all, err := store.List(); err != nil || len(all) != 1 || all[0] != young.Text("token") {
		t.Errorf("tokens %v, %v", all, err)
	}
}

// TestMarkersForOtherUsers checks what another user's command line can read of a job: not its
// arguments.
func TestMarkersForOtherUsers(t *testing.T) {
	b := aclBench(t, nil)
	load := b.with("*", "test.echo", loginAs("fred", "x"))
	load.Set("arg", []any{"MARKER"})
	shared, _ := jidOf(b.clear(t, load)).(string)
	private, _ := jidOf(b.clear(t, b.load("*", "glob", "test.echo", []any{"MARKER"}))).(string)
	for id, mode := range map[string]os.FileMode{shared: 0o644, private: 0o600} {
		name, err := job.ID(id).Dir("sha256")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(b.cfg.CacheDir, "jobs", name, ".load.p")
		info, err := os.Stat(file)
		raw, readErr := os.ReadFile(file)
		if err != nil || readErr != nil || info.Mode().Perm() != mode ||
			bytes.Contains(raw, []byte("MARKER")) != (mode == 0o600) {
			t.Errorf("%v, %v: mode %v, %q", err, readErr, info.Mode(), raw)
		}
	}
}

// TestTargetsAreThoseThatWereJudged publishes jobs for which the sender's rights depend on the
// minions, and others, and checks the target that minions get: a minion that claims to match a
// target does not thereby get the job.
func TestTargetsAreThoseThatWereJudged(t *testing.T) {
	b := aclBench(t, func(c *config.Master) {
		c.Peer = data.NewMap("web1", []any{"test.ping", data.NewMap("db*", []any{"test.echo"})})
	})
	b.listen(t)
	key, err := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".daemon_key"))
	must(t, err)
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Match: func(tag string) bool { return strings.HasSuffix(tag, "/publish") }})
	defer events.Close()
	order := func(user, key string, fun string) func() {
		load := b.load("db*", "glob", fun, []any{})
		load.Update(data.NewMap("user", user, "key", key))
		return func() { b.clear(t, load) }
	}
	peer := func(fun string) func() {
		load := pub("db*", "glob", fun)
		load.Set("id", "web1")
		return func() { b.sealed(t, "web1", load) }
	}
	for _, tt := range []struct {
		name string
		send func()
		tgt  any
		kind string
	}{
		{"the master's user", order("root", b.key, "test.echo"), "db*", "glob"},
		{"a user, on minions of a rule", order("daemon", string(key), "test.echo"), []any{"db1"}, "list"},
		{"a user, on all minions", order("daemon", string(key), "test.ping"), "db*", "glob"},
		{"a login, on minions of a rule",
			func() { b.clear(t, b.with("web*", "test.ping", loginAs("limited", "x"))) },
			[]any{"web1"}, "list"},
		{"a minion, on minions of a rule", peer("test.echo"), []any{"db1"}, "list"},
		{"a minion, on all minions", peer("test.ping"), "db*", "glob"},
	} {
		tt.send()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		e, err := events.Next(ctx)
		cancel()
		if err != nil {
			t.Fatalf("%s: no publication: %v", tt.name, err)
		}
		body, err := e.Map()
		must(t, err)
		if !data.Equal(body.Value("tgt"), tt.tgt) || body.Text("tgt_type") != tt.kind {
			t.Errorf("%s: the target is %s %s, want %s %s", tt.name, body.Text("tgt_type"),
				data.Repr(body.Value("tgt")), tt.kind, data.Repr(tt.tgt))
		}
	}
}
