package master

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/master/mine"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// load returns a publish load with the key of root.
func (b *bench) load(tgt any, kind string, fun any, arg any) *data.Map {
	return data.NewMap("cmd", "publish", "tgt", tgt, "fun", fun, "arg", arg, "tgt_type", kind,
		"ret", "", "jid", "", "key", b.key, "user", "root")
}

// clear sends a clear command and returns its reply.
func (b *bench) clear(t testing.TB, load *data.Map) any {
	t.Helper()
	body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestCVE2013_4435 publishes functions in every shape: what goes out is what was asked, or nothing
// at all.
func TestCVE2013_4435(t *testing.T) {
	for _, tt := range []struct {
		name string
		fun  any
		arg  any
		sent bool
	}{
		{"one function", "test.ping", []any{}, true},
		{"a list", []any{"test.ping", "test.echo"}, []any{[]any{}, []any{"a"}}, true},
		{"a comma text is one name", "test.ping,cmd.run", []any{}, true},
		{"nested lists", []any{"test.ping", []any{"cmd.run"}}, []any{[]any{}, []any{"id"}}, false},
		{"a map", data.NewMap("test.ping", "cmd.run"), []any{}, false},
		{"a number", int64(7), []any{}, false},
		{"nothing", nil, []any{}, false},
		{"arguments that are no list", "test.ping", data.NewMap("a", "b"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, "web1")
			b.listen(t)
			reply := b.clear(t, b.load("*", "glob", tt.fun, tt.arg))
			if sent := len(b.wire.messages()) == 1; sent != tt.sent || len(b.jobs.all()) == 1 != tt.sent {
				t.Errorf("sent = %v, jobs %v, want %v; reply %s", sent, b.jobs.all(), tt.sent,
					data.Repr(reply))
			}
			for _, id := range b.jobs.all() {
				j, _ := b.jobs.Job(t.Context(), id)
				load, err := payload.UnmarshalText(j.Load, payload.WireLimits())
				if m, ok := load.(*data.Map); err != nil || !ok || !data.Equal(m.Value("fun"), tt.fun) {
					t.Errorf("kept %s, %v", data.Repr(load), err)
				}
			}
		})
	}
}

// TestCVE2022_22941 publishes to a target that names nobody: no job comes of it.
func TestCVE2022_22941(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	for _, tt := range []struct{ tgt, kind string }{
		{"nobody*", "glob"}, {"nobody", "list"}, {"(", "pcre"}, {"", "glob"}, {"", "list"}, {"G@",
			"compound"}, {"not *", "compound"}, {"*", "nosuch"}, {"x", "nodegroup"},
	} {
		b.clear(t, b.load(tt.tgt, tt.kind, "test.ping", []any{}))
		if len(b.jobs.all()) > 0 || len(b.wire.messages()) > 0 {
			t.Fatalf("%s %q: jobs %v, %d publications", tt.kind, tt.tgt, b.jobs.all(), len(b.wire.messages()))
		}
	}
}

// badIDs are ids of minions that would be paths.
var badIDs = []string{"", ".", "..", "../../etc/x", "a/b", `a\b`, "a\x00b", "a\nb",
	".hidden", strings.Repeat("x", 300)}

// TestCVE2024_22231 sends ids that are paths with every command: nothing is made of them.
func TestCVE2024_22231(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	b.send(t, "_master_opts", "web1", data.NewMap()) // makes its session key
	before := tree(t, filepath.Dir(b.cfg.CacheDir))
	for _, id := range badIDs {
		for name := range b.requests.encrypted {
			load := data.NewMap("cmd", name, "id", id, "jid", "req", "return", true, "fun",
				"test.ping", "grains", data.NewMap(), "tag", "x", "data", data.NewMap())
			raw, _ := payload.Marshal(load)
			fields, err := payload.ParseFields(raw, payload.WireLimits())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = b.requests.Encrypted(t.Context(),
				&channel.Command{Name: name, Load: fields, Version: 2, Caller: channel.Caller{ID: id}})
			if reply := b.sealed(t, "web1", load); !strings.HasPrefix(data.Str(reply), "bad load") {
				t.Errorf("%s for %q: reply %s", name, id, data.Repr(reply))
			}
		}
	}
	if after := tree(t, filepath.Dir(b.cfg.CacheDir)); after != before || len(b.jobs.all()) > 0 {
		t.Errorf("files were\n%s\nand are\n%s\njobs %v", before, after, b.jobs.all())
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	deeper, err2 := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return strings.Join(append(files, deeper...), "\n")
}

// TestCVE2025_22242 gives job ids that are paths, in returns and as a publisher.
func TestCVE2025_22242(t *testing.T) {
	b := newBench(t, nil, "web1")
	b.listen(t)
	for _, id := range []string{"../../../proc/kmsg", "..", "/dev/zero",
		"20230102030405060709/../x", "2023010203040506070", "20230102030405060709_", "a b", "a\nb",
		strings.Repeat("1", 200)} {
		if reply := b.send(t, "_return", "web1", returnOf("web1", job.ID(id), true)); reply != nil {
			t.Errorf("return for %q: reply %v", id, reply)
		}
		load := b.load("*", "glob", "test.ping", []any{})
		load.Set("jid", id)
		if jid := jidOf(b.clear(t, load)); jid != nil && strings.ContainsAny(id, "/ \n.") {
			t.Errorf("publish with jid %q: job %v", id, jid)
		}
		if _, err := b.jobs.Job(t.Context(), job.ID(id)); err == nil && strings.ContainsAny(id, "/ \n.") {
			t.Errorf("there is a job %q", id)
		}
	}
}

// TestStatesNameNoTags returns failed states whose names make tags of the master's own.
func TestStatesNameNoTags(t *testing.T) {
	b := newBench(t, nil, "web1")
	jid := job.NewID(time.Now().UTC())
	b.publish(t, "web1", "glob", jid)
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer s.Close()
	chunk := func() *data.Map { return data.NewMap("result", false, "comment", "x") }
	load := returnOf("web1", jid, data.NewMap("file_|-a_|-b_|-managed", chunk(),
		"salt/auth", chunk(), "salt/key_|-x", chunk(), "a b_|-c", chunk()))
	load.Set("fun", "state.sls")
	load.Set("retcode", int64(2))
	b.send(t, "_return", "web1", load)
	want := []string{"salt/job/" + string(jid) + "/ret/web1", "file.managed", "salt/job/" +
		string(jid) + "/sub/web1/error/state.sls"}
	var seen []string
	for _, tag := range returnTags(t, b, s) {
		if len(seen) < len(want) {
			seen = append(seen, tag)
		} else if !strings.HasPrefix(tag, "salt/job/"+string(jid)+"/sub/web1/") {
			t.Errorf("event %q", tag)
		}
	}
	if strings.Join(seen, " ") != strings.Join(want, " ") {
		t.Errorf("events %v, want %v", seen, want)
	}
}

// TestCredentialsAreNotKept publishes with credentials of all kinds: none is in the job cache or on
// the bus.
func TestCredentialsAreNotKept(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.ExternalAuth = data.NewMap("auto", data.NewMap("fred", []any{".*"})) }, "web1")
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer s.Close()
	token, _ := b.clear(t, data.NewMap("cmd", "mk_token", "eauth", "auto", "username", "fred",
		"password", "MARKER-1")).(*data.Map)
	secrets := []string{"MARKER", b.key, token.Text("token")}
	for _, kwargs := range []*data.Map{
		data.NewMap("eauth", "auto", "username", "fred", "password", "MARKER-2", "show_jid", true),
		data.NewMap("token", token.Text("token"), "password", "MARKER-3", "show_jid", true),
		data.NewMap("show_jid", true),
	} {
		load := b.load("*", "glob", "test.ping", []any{})
		load.Set("kwargs", kwargs)
		id, _ := jidOf(b.clear(t, load)).(string)
		j, err := b.jobs.Job(t.Context(), job.ID(id))
		if err != nil {
			t.Fatalf("%s: %v", data.Repr(kwargs), err)
		}
		for _, secret := range secrets {
			if strings.Contains(string(j.Load), secret) || !strings.Contains(string(j.Load), "show_jid") {
				t.Errorf("kept %q", j.Load)
			}
		}
	}
	if err := b.bus.Fire("end", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	for e := range s.All(t.Context()) {
		for _, secret := range secrets {
			if strings.Contains(string(e.Data), secret) {
				t.Errorf("event %s has credentials", e.Tag)
			}
		}
		if e.Tag == "end" {
			break
		}
	}
}

func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	b := newBench(t, nil, "web1")
	log, hook := logtest.NewNullLogger()
	now := time.Now()
	gate := &gatekeeper{b.parts.gate.Gate, &loglimit.Limiter{Now: func() time.Time { return now }}, log}
	p := &publishing{gate: gate, base: base{log: log}}
	b.key = "wrong"
	refuse := func() {
		raw, _ := payload.Marshal(b.load("*", "glob", "test.ping", []any{}))
		fields, _ := payload.ParseFields(raw, payload.WireLimits())
		if _, err := p.publish(t.Context(),
			&channel.Command{Load: fields,
				Caller: channel.Caller{Remote: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		refuse()
	}
	now = now.Add(time.Minute)
	refuse()
	if entries := hook.AllEntries(); len(entries) != 2 || !strings.Contains(entries[1].Message, "99 more") {
		t.Errorf("%d lines, the last %q", len(entries), hook.LastEntry().Message)
	}
}

// TestGrainsNeedProof sends grains in the name of web1, with and without proof, from where it
// proved itself and from elsewhere.
func TestGrainsNeedProof(t *testing.T) {
	home, away := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2)}
	type request struct {
		from   net.Addr
		proved bool
	}
	for _, tt := range []struct {
		name     string
		stranger bool // web1 has not proved itself before
		requests []request
		kept     int64 // which of the requests is trusted last; 0: none
	}{
		{"with proof from anywhere", false, []request{{away, true}}, 1},
		{"without proof from home", false, []request{{home, false}}, 1},
		{"without proof from elsewhere", false, []request{{home, false}, {away, false}}, 1},
		{"nothing but forged", false, []request{{away, false}}, 0},
		{"without proof after proof", false, []request{{home, true}, {home, false}}, 1},
		{"proof after forged", false, []request{{home, false}, {away, false}, {home, true}}, 3},
		{"without proof before the first proof", true, []request{{away, false}, {home, false}}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, "web1")
			if !tt.stranger {
				b.maint.presence.note("web1", home)
			}
			for i, r := range tt.requests {
				raw, _ := payload.Marshal(data.NewMap("cmd", "_pillar", "id", "web1",
					"grains", data.NewMap("number", int64(i+1), "id", "other")))
				fields, _ := payload.ParseFields(raw, payload.WireLimits())
				reply, err := b.requests.Encrypted(t.Context(),
					&channel.Command{Name: "_pillar", Load: fields, Version: 2,
						Caller: channel.Caller{ID: "web1", Proved: r.proved, Remote: r.from}})
				if _, ok := reply.(channel.Private); !ok || err != nil {
					t.Errorf("request %d: reply %v, %v", i+1, reply, err)
				}
			}
			grains, _, _ := b.maint.data.Minion("web1")
			number, _ := grains.Value("number").(int64)
			if number != tt.kept || number > 0 && grains.Text("id") != "web1" {
				t.Errorf("kept %s, want those of request %d", data.Repr(grains), tt.kept)
			}
		})
	}
}

func TestRefusedEventsDoNotFillTheLog(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	now := time.Now()
	e := &minionEvents{quiet: &loglimit.Limiter{Now: func() time.Time { return now }}, log: log}
	for minute := range 2 {
		for range 20 {
			if e.allowed("web1", "salt/auth") {
				t.Fatal("a minion may fire salt/auth")
			}
		}
		if n := len(hook.AllEntries()); n != minute+1 {
			t.Errorf("minute %d: %d lines", minute, n)
		}
		now = now.Add(time.Minute)
	}
}

// TestReturnsNeedProof sends returns in the name of web1, with and without proof, from where it
// proved itself and from elsewhere.
func TestReturnsNeedProof(t *testing.T) {
	home, away := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2)}
	for _, tt := range []struct {
		name     string
		stranger bool // web1 has not proved itself before
		version  int
		proved   bool
		from     net.Addr
		kept     bool
	}{
		{"with proof from anywhere", false, 2, true, away, true},
		{"version 3", false, 3, true, away, true},
		{"without proof from home", false, 2, false, home, true},
		{"forged", false, 2, false, away, false},
		{"forged under version 1", false, 1, false, away, false},
		{"without proof before the first proof", true, 2, false, away, true},
		{"version 3 without proof", true, 3, false, home, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, "web1")
			if !tt.stranger {
				b.maint.presence.note("web1", home)
			}
			jid := job.NewID(time.Now().UTC())
			b.publish(t, "web1", "glob", jid)
			raw, _ := payload.Marshal(returnOf("web1", jid, true))
			fields, _ := payload.ParseFields(raw, payload.WireLimits())
			reply, err := b.requests.Encrypted(t.Context(),
				&channel.Command{Name: "_return", Load: fields, Version: tt.version,
					Caller: channel.Caller{ID: "web1", Proved: tt.proved, Remote: tt.from}})
			if reply != nil || err != nil {
				t.Errorf("reply %v, %v", reply, err)
			}
			kept, err := b.jobs.Returns(t.Context(), jid)
			if err != nil || (len(kept) == 1) != tt.kept {
				t.Errorf("%d returns are kept, %v", len(kept), err)
			}
		})
	}
}

// TestThreatUnprovedAfterRestart sends a pillar request and a return without proof in the name of
// web1, to a master that was started anew since web1 proved itself, and to one that knows nothing
// of it. Who deletes the key and accepts it again lets an older minion in.
func TestThreatUnprovedAfterRestart(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.MinimumAuthVersion = 2 }, "web1", "db1")
	b.listen(t)
	b.sealed(t, "web1", data.NewMap("cmd", "_master_opts", "id", "web1"))
	must(t, b.close())
	cfg := b.cfg
	start := func() *bench {
		b := newBench(t, func(c *config.Master) {
			c.PKIDir, c.CacheDir, c.SockDir, c.MinimumAuthVersion = cfg.PKIDir, cfg.CacheDir, cfg.SockDir, 2
		})
		b.listen(t)
		return b
	}
	b = start()
	trusted := func(id string) bool {
		jid := job.NewID(time.Now().UTC())
		b.publish(t, id, "glob", jid)
		for _, load := range []*data.Map{data.NewMap("cmd", "_pillar", "id", id,
			"grains", data.NewMap("forged", true)), returnOf(id, jid, true)} {
			load.Set("nonce", fmt.Sprintf("%032x", time.Now().UnixNano()))
			plain, err := payload.Marshal(load)
			must(t, err)
			body, err := payload.Marshal(data.NewMap("enc", "aes",
				"load", b.parts.secrets.Shared().Seal(plain, ""), "version", int64(2)))
			must(t, err)
			b.socket.do(body)
		}
		_, _, grains := b.maint.data.Minion(id)
		returns, err := b.jobs.Returns(t.Context(), jid)
		must(t, err)
		if grains != (len(returns) == 1) {
			t.Errorf("%s: grains are kept %v, and %d returns", id, grains, len(returns))
		}
		return grains
	}
	if trusted("web1") {
		t.Error("a minion that proved itself by version 3 before the start is trusted without proof")
	}
	if !trusted("db1") {
		t.Error("a minion that never proved itself is not trusted")
	}
	must(t, b.keys.Delete(pki.Accepted, "web1"))
	must(t, b.maint.drop.Request())
	must(t, b.maint.checkKeys(t.Context()))
	must(t, b.keys.Put(pki.Accepted, "web1", vectorKey(t, "web1").Public().PEM()))
	if !trusted("web1") {
		t.Error("a minion whose key was deleted and accepted again is not trusted")
	}
}

// TestCVE2016_9639 deletes a key as salt-key does: within one look of the master all that it kept
// of the minion is gone.
func TestCVE2016_9639(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PingOnRotate = true }, "web1", "db1")
	for _, id := range []string{"web1", "db1"} {
		if err := b.maint.data.save(id, data.NewMap("a", "b"), data.NewMap()); err != nil {
			t.Fatal(err)
		}
		if err := b.maint.data.bank.Store(mine.Bank(id), "mine", []byte{0x80}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.maint.secrets.Session(id); err != nil {
			t.Fatal(err)
		}
		b.maint.presence.note(id, &net.TCPAddr{})
	}
	shared := b.maint.secrets.Shared()
	b.listen(t)
	session, err := b.parts.secrets.Session("web1")
	must(t, err)
	stolen := func() []byte {
		body, _ := b.socket.seal(session, "web1", data.NewMap("cmd", "_file_envs", "id", "web1"))
		return b.socket.do(body)
	}
	if bytes.Contains(stolen(), []byte("bad load")) {
		t.Error("web1 is refused while its key is accepted")
	}
	s := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
		Prefixes: []string{"key", "end", "salt/job"}})
	defer s.Close()
	if err := b.keys.Delete(pki.Accepted, "web1"); err != nil {
		t.Fatal(err)
	}
	if reply := stolen(); !bytes.Contains(reply, []byte("bad load")) {
		t.Errorf("with the session key of a deleted minion: reply %q", reply)
	}
	if err := b.maint.drop.Request(); err != nil {
		t.Fatal(err)
	}
	if err := b.maint.checkKeys(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, ok := b.maint.data.Minion("web1"); ok {
		t.Error("grains of web1 are kept")
	}
	if files, _ := filepath.Glob(filepath.Join(b.cfg.CacheDir, "minions", "web1*")); len(files) > 0 {
		t.Errorf("files of web1 are kept: %v", files)
	}
	if _, err := b.maint.secrets.Existing("web1"); err == nil {
		t.Error("the session key of web1 is kept")
	}
	if b.maint.presence.proved("web1") || b.maint.secrets.Shared() == shared {
		t.Error("presence of web1 is kept, or the shared key")
	}
	if _, err := b.maint.secrets.Existing("db1"); err != nil ||
		!b.maint.presence.proved("db1") {
		t.Errorf("db1 lost what is its own: %v", err)
	}
	if _, _, ok := b.maint.data.Minion("db1"); !ok {
		t.Error("grains of db1 are gone")
	}
	if tags := returnTags(t, b, s); len(tags) < 1 || tags[0] != "key" {
		t.Errorf("events %v", tags)
	}
}
