package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
)

// plain returns a reply as the minion reads it.
func plain(t *testing.T, v any) any {
	t.Helper()
	raw, err := payload.Marshal(v)
	must(t, err)
	v, err = payload.Unmarshal(raw, payload.WireLimits())
	must(t, err)
	return v
}

// TestVectorMineAndPeers sends the captured requests about the mine and of peers, and expects the
// captured replies.
func TestVectorMineAndPeers(t *testing.T) {
	f := vectors.Load(t, "05-request.json")
	b := newBench(t, func(c *config.Master) {
		c.Peer, c.PeerRun = data.NewMap("web.*", []any{`test\..*`}), data.NewMap("web.*", []any{`test\..*`})
	}, "web1", "web2", "db1")
	must(t, b.parts.data.save("web2", data.NewMap("roles", []any{"web"}), data.NewMap()))
	for _, id := range []string{"web1", "web2", "db1"} {
		b.send(t, "_mine", id, data.NewMap("cmd", "_mine", "id", id,
			"data", data.NewMap("test.ping", true, "net", "hello")))
	}
	seen := 0
	for _, c := range f.Section("requests") {
		for _, e := range c.Sub("exchanges") {
			load, _ := e.Map.Value("request_load").(*data.Map)
			cmd := load.Text("cmd")
			if strings.HasPrefix(cmd, "_mine") || cmd == "minion_pub" || cmd == "minion_runner" ||
				cmd == "pub_ret" || cmd == "_master_tops" {
				if _, refused := e.Map.Value("reply").(string); refused && cmd != "pub_ret" &&
					load.Value("clear") != true || load.Text("tok") == "" && !load.Has("tok") ||
					load.Text("fun") == "x" && load.Text("tok") == "" && load.Value("tok") == "" {
					continue // refused by the channel
				}
				seen++
				b.compare(t, c.Name, cmd, load, e.Map.Value("reply"))
				if load.Value("clear") == true { // what Salt does not do is undone
					b.send(t, "_mine", "web1", data.NewMap("cmd", "_mine", "id", "web1",
						"data", data.NewMap("net", "hello")))
				}
			}
		}
	}
	if seen < 14 {
		t.Errorf("found %d requests", seen)
	}
}

func (b *bench) compare(t *testing.T, name, cmd string, load *data.Map, want any) {
	t.Helper()
	got := plain(t, b.send(t, cmd, load.Text("id"), load))
	if load.Value("clear") == true {
		want = true // where Salt fails
	}
	if m, ok := got.(*data.Map); ok && cmd == "minion_pub" && m.Has("jid") {
		want := want.(*data.Map)
		if _, err := job.ParseID(m.Text("jid")); err != nil ||
			!data.Equal(m.Value("minions"), want.Value("minions")) {
			t.Errorf("%s: reply %s, want as %s", name, data.Repr(got), data.Repr(want))
		}
		return
	}
	if !data.Equal(got, want) {
		t.Errorf("%s: %s\nreply %s, want %s", name, data.Repr(load), data.Repr(got), data.Repr(want))
	}
}

// pub returns a request of a minion for other minions.
func pub(tgt any, kind, fun string, arg ...any) *data.Map {
	return data.NewMap("cmd", "minion_pub", "fun", fun, "arg", append([]any{}, arg...), "tgt", tgt,
		"tgt_type", kind, "ret", "", "tmo", int64(0), "form", "clean")
}

func TestPeerRules(t *testing.T) {
	b := newBench(t, func(c *config.Master) {
		c.Peer = data.NewMap("web1", []any{`test\.ping`, "test.arg",
			"grains", data.NewMap("db*", []any{"cmd.run"}),
			data.NewMap("web2", []any{data.NewMap("service.restart",
				[]any{data.NewMap("args", []any{"nginx"})})})}, "all.*", []any{".*"}, "(", []any{".*"})
		c.PublisherACLBlacklist = data.NewMap("modules", []any{"cmd.exec_code"})
		c.Nodegroups = data.NewMap("dbs", "db* and not db9", "both", "N@dbs or web1")
	}, "web1", "web10", "web2", "db1", "all1")
	must(t, b.parts.data.save("web1", data.NewMap("os", "Debian"), data.NewMap("secret", "one")))
	must(t, b.parts.data.save("web2", data.NewMap("os", "Debian"), data.NewMap("secret", "two")))
	for _, id := range []string{"web10", "db1", "all1"} {
		must(t, b.parts.data.save(id, data.NewMap("os", "Other"), data.NewMap()))
	}
	for _, tt := range []struct {
		name, minion string
		load         *data.Map
		want         string // the minions, or {} for refused
	}{
		{"what a rule names", "web1", pub("*", "glob", "test.ping"),
			"['all1', 'db1', 'web1', 'web10', 'web2']"},
		{"what only begins so", "web1", pub("*", "glob", "test.pinger"), "{}"},
		{"a module whose name is a rule", "web1", pub("*", "glob", "grains.get", "os"), "{}"},
		{"a minion whose id only begins so", "web10", pub("*", "glob", "test.ping"), "{}"},
		{"a minion without rules", "db1", pub("*", "glob", "test.ping"), "{}"},
		{"two functions that are allowed",
			"web1", pub("db1", "glob", "test.ping,test.arg", "", "a b"), "['db1']"},
		{"two functions, one of them not", "web1", pub("db1", "glob", "test.ping,cmd.script", "", "a"), "{}"},
		{"a function for some", "web1", pub("db1", "glob", "cmd.run", "id"), "['db1']"},
		{"a function for some, to others", "web1", pub("*", "glob", "cmd.run", "id"), "{}"},
		{"an argument that is allowed", "web1", pub("web2", "glob", "service.restart", "nginx"), "['web2']"},
		{"an argument that is not", "web1", pub("web2", "glob", "service.restart", "nginx;reboot"), "{}"},
		{"everything, by one that may", "all1", pub("db1", "list", "cmd.run", "id"), "['db1']"},
		{"a publication", "all1", pub("db1", "glob", "publish.publish", "*", "cmd.run"), "{}"},
		{"a publication behind another", "all1", pub("db1", "glob", "test.ping,publish.publish"), "{}"},
		{"a publication behind a space", "all1", pub("db1", "glob", " publish.publish"), "{}"},
		{"what the blacklist forbids", "all1", pub("db1", "glob", "cmd.exec_code", "x"), "{}"},
		{"a node group", "all1", pub("dbs", "nodegroup", "test.ping"), "['db1']"},
		{"a node group with one inside", "all1", pub("both", "nodegroup", "test.ping"), "['db1', 'web1']"},
		{"an unknown node group", "all1", pub("nosuch", "nodegroup", "test.ping"), "{}"},
		{"pillar by its value", "all1", pub("secret:one", "pillar", "test.ping"), "['web1']"},
		{"pillar by a pattern", "all1", pub("secret:o*", "pillar", "test.ping"), "{}"},
		{"pillar by a regular expression", "all1", pub("secret:(one|two)", "pillar_pcre", "test.ping"), "{}"},
		{"pillar by a pattern in a compound",
			"all1", pub("I@secret:* and G@os:Debian", "compound", "test.ping"), "{}"},
		{"a compound without pillar", "all1",
			pub("G@os:Debian and web1", "compound", "test.ping"), "['web1']"},
		{"find_job without a rule", "web1", pub("*", "glob", "saltutil.find_job", "1"), "{}"},
		{"nobody", "web1", pub("nobody", "glob", "test.ping"), "[]"},
		{"a number for a function", "all1",
			data.NewMap("fun", int64(1), "arg", []any{}, "tgt", "*", "ret", ""), "{}"},
		{"a list of functions", "all1",
			data.NewMap("fun", []any{"test.ping"}, "arg", []any{}, "tgt", "*", "ret", ""), "{}"},
		{"arguments that are no list",
			"all1", data.NewMap("fun", "test.ping", "arg", "a", "tgt", "*", "ret", ""), "{}"},
		{"a map for a target", "all1", data.NewMap("fun", "test.ping", "arg", []any{},
			"tgt", data.NewMap(), "ret", ""), "{}"},
		{"no target", "all1", data.NewMap("fun", "test.ping", "arg", []any{}, "ret", ""), "{}"},
		{"no returner", "all1", data.NewMap("fun", "test.ping", "arg", []any{}, "tgt", "*"), "{}"},
		{"a number for the kind", "all1", data.NewMap("fun", "test.ping", "arg", []any{}, "tgt",
			"*", "tgt_type", int64(1), "ret", ""), "{}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(b.wire.messages())
			reply, _ := b.send(t, "minion_pub", tt.minion, tt.load).(*data.Map)
			got := "{}"
			if reply.Has("minions") {
				got = data.Repr(reply.Value("minions"))
			}
			sent := len(b.wire.messages()) - before
			if got != tt.want || (sent == 1) != (tt.want != "{}" && tt.want != "[]") {
				t.Errorf("reply %s, %d publications, want %s", data.Repr(reply), sent, tt.want)
			}
		})
	}
}

// TestUnrecordedJobIsAnError orders jobs that cannot be recorded: the minion that ordered one and
// the parts of the master get an error, and nothing is sent.
func TestUnrecordedJobIsAnError(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.Peer = data.NewMap("web.*", []any{".*"}) }, "web1",
		"db1")
	b.parts.jobs = unsavedJobs{b.parts.jobs}
	publishing := newPublishing(b.parts)
	requests := newRequests(b.parts, publishing)
	for _, name := range []string{"minion_pub", "minion_publish"} {
		reply, err := requests.Encrypted(t.Context(),
			commandOf(t, name, "web1", pub("db1", "glob", "test.ping")))
		if !errors.Is(err, errUnrecorded) || !errors.Is(err, errLocked) {
			t.Errorf("%s: reply %v, error %v", name, reply, err)
		}
	}
	if err := publishing.ask(t.Context(), "20260101000000000001", []string{"db1"}); !errors.Is(err,
		errUnrecorded) {
		t.Errorf("ask: %v", err)
	}
	if n := len(b.wire.messages()); n != 0 {
		t.Errorf("%d jobs were sent", n)
	}
}

// TestPeerJob checks how a minion's job is stored, and who may read its returns.
func TestPeerJob(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.Peer = data.NewMap("web.*", []any{".*"}) }, "web1",
		"web2", "db1")
	reply, _ := b.send(t, "minion_pub",
		"web1", pub("db1", "glob", "test.arg", "a",
			"k=v", data.NewMap("__kwarg__", true, "n", int64(1)))).(*data.Map)
	jid := job.ID(reply.Text("jid"))
	j, err := b.jobs.Job(t.Context(), jid)
	must(t, err)
	v, err := payload.UnmarshalText(j.Load, payload.WireLimits())
	must(t, err)
	load := v.(*data.Map)
	if got := data.Repr(load.Value("arg")); got != "['a', {'k': 'v', 'n': 1, '__kwarg__': True}]" &&
		got != "['a', {'__kwarg__': True, 'k': 'v', 'n': 1}]" {
		t.Errorf("arguments %s", got)
	}
	if load.Text("user") != "root" || load.Value("kwargs").(*data.Map).Text("id") != "web1" {
		t.Errorf("kept %s", data.Repr(load))
	}
	ask := func(id string, jid any) any {
		return plain(t, b.send(t, "pub_ret", id, data.NewMap("cmd", "pub_ret", "jid", jid)))
	}
	if got := ask("web1", string(jid)); !data.Equal(got, data.NewMap()) {
		t.Errorf("before the return: %s", data.Repr(got))
	}
	load = returnOf("db1", jid, data.NewMap("a", "b"))
	load.Set("out", "nested")
	b.send(t, "_return", "db1", load)
	if got := ask("web1", string(jid)); !data.Equal(got,
		data.NewMap("db1", data.NewMap("ret", data.NewMap("a", "b"), "out", "nested"))) {
		t.Errorf("the return: %s", data.Repr(got))
	}
	if got := ask("web2", string(jid)); !data.Equal(got, data.NewMap()) {
		t.Errorf("another minion reads %s", data.Repr(got))
	}
	if file, err := os.ReadFile(filepath.Join(b.cfg.CacheDir,
		"publish_auth", string(jid))); err != nil || string(file) != "web1" {
		t.Errorf("the owner's file: %q, %v", file, err)
	}
	must(t, newOwners(b.cfg.CacheDir).clean(time.Now().Add(time.Hour)))
	if got := ask("web1", string(jid)); got != "" {
		t.Errorf("after it was forgotten: %s", data.Repr(got))
	}
}

// TestMinionPublish has the master wait for the returns of a minion's job.
func TestMinionPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *config.Master) { c.Peer = data.NewMap("web1", []any{".*"}) },
			"web1", "db1", "db2")
		for _, tt := range []struct {
			name    string
			form    string
			returns []string
			want    string
			took    time.Duration
		}{
			{"all return", "clean", []string{"db1", "db2"}, "{'db1': 'of db1', 'db2': 'of db2'}",
				time.Second},
			{"one does not", "clean", []string{"db1"}, "{'db1': 'of db1'}", 7 * time.Second},
			{"nobody does", "clean", nil, "{}", 7 * time.Second},
			{"the full form", "full", []string{"db1"}, "", 7 * time.Second},
		} {
			load := pub("db*", "glob", "test.arg")
			load.Set("tmo", "7")
			load.Set("form", tt.form)
			var all sync.WaitGroup
			all.Go(func() {
				time.Sleep(time.Second)
				ids := b.jobs.all()
				for _, id := range tt.returns {
					b.send(t, "_return", id, returnOf(id, ids[len(ids)-1], "of "+id))
				}
			})
			began := time.Now()
			reply, _ := b.send(t, "minion_publish", "web1", load).(*data.Map)
			if took := time.Since(began); took != tt.took {
				t.Errorf("%s: took %v, want %v", tt.name, took, tt.took)
			}
			switch {
			case tt.form == "full":
				one, _ := reply.Value("db1").(*data.Map)
				if one.Text("ret") != "of db1" || one.Has("return") || !job.Looks(reply.Text("__jid__")) {
					t.Errorf("%s: reply %s", tt.name, data.Repr(reply))
				}
			case data.Repr(reply) != tt.want:
				t.Errorf("%s: reply %s, want %s", tt.name, data.Repr(reply), tt.want)
			}
			all.Wait()
		}
		for _, tmo := range []any{"soon", nil, []any{}} {
			load := pub("db*", "glob", "test.arg")
			load.Set("tmo", tmo)
			if got := b.send(t, "minion_publish", "web1", load); !data.Equal(got, data.NewMap()) {
				t.Errorf("tmo %v: reply %s", tmo, data.Repr(got))
			}
		}
	})
}

func TestMinionRunner(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PeerRun = data.NewMap("web1", []any{`test\.arg`}) },
		"web1", "web10")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	for _, tt := range []struct{ minion, fun, want string }{
		{"web1", "test.arg", "{'args': ['a'], 'kwargs': {'k': 'v'}}"},
		{"web1", "test.arguments", "{}"},
		{"web1", "jobs.list_jobs", "{}"},
		{"web10", "test.arg", "{}"},
	} {
		load := data.NewMap("cmd", "minion_runner", "fun", tt.fun, "arg", []any{"a", "k=v"}, "tmo", int64(5))
		if got := data.Repr(b.send(t, "minion_runner", tt.minion, load)); got != tt.want {
			t.Errorf("%s runs %s: %s, want %s", tt.minion, tt.fun, got, tt.want)
		}
	}
	for _, load := range []*data.Map{data.NewMap(), data.NewMap("fun", "test.arg"),
		data.NewMap("fun", int64(1), "arg", []any{}), data.NewMap("fun", "test.arg", "arg", "a")} {
		if got := b.send(t, "minion_runner", "web1", load); !data.Equal(got, data.NewMap()) {
			t.Errorf("%s: reply %s", data.Repr(load), data.Repr(got))
		}
	}
	if tags := returnTags(t, b, events); len(tags) != 2 || !strings.HasSuffix(tags[0], "/new") ||
		!strings.HasSuffix(tags[1], "/ret") {
		t.Errorf("events %v", tags)
	}
}

// TestAMinionMakesNoKeys checks that a minion that may call every runner cannot give itself any right.
func TestAMinionMakesNoKeys(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PeerRun = data.NewMap("web1", []any{".*", "auth.*", `auth\.mk_key`}) }, "web1")
	load := data.NewMap("cmd", "minion_runner", "fun", "auth.mk_key", "arg", []any{"name=own", `rights=[".*"]`})
	if got := data.Repr(b.send(t, "minion_runner", "web1", load)); got != "{}" {
		t.Errorf("the minion gets %s", got)
	}
	if keys, err := b.parts.gate.Tokens().Keys(); err != nil || len(keys) > 0 {
		t.Errorf("there are keys: %v, %v", keys, err)
	}
}

func TestMineOptions(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.MinionDataCache = false }, "web1", "db1")
	mine := func(values *data.Map, clear bool) any {
		return b.send(t, "_mine", "web1", data.NewMap("cmd", "_mine", "data", values, "clear", clear))
	}
	get := func(fun string) string {
		return data.Repr(plain(t, b.send(t, "_mine_get",
			"db1", data.NewMap("cmd", "_mine_get", "tgt", "*", "fun", fun))))
	}
	if got := mine(data.NewMap("a", int64(1)), false); got != true || get("a") != "{}" {
		t.Errorf("without a cache: reply %v, kept %s", got, get("a"))
	}
	cfg := *b.cfg
	cfg.EnforceMineCache = true
	b.parts.settings.set(&cfg)
	if got := mine(data.NewMap("a", int64(1), "ab", int64(2)), false); got != true ||
		get("a") != "{'web1': 1}" {
		t.Errorf("with enforce_mine_cache: reply %v, kept %s", got, get("a"))
	}
	if got := mine(data.NewMap("b", int64(3)), true); got != true || get("a") != "{}" ||
		get("b") != "{'web1': 3}" {
		t.Errorf("with clear: reply %v, kept %s and %s", got, get("a"), get("b"))
	}
	if got := b.send(t, "_mine", "web1", data.NewMap("cmd", "_mine", "data", []any{1})); got != false {
		t.Errorf("a list: reply %v", got)
	}
	for cmd, fields := range map[string]*data.Map{"_mine": data.NewMap(),
		"_mine_get": data.NewMap("fun", "b"), "_mine_delete": data.NewMap()} {
		if got := b.send(t, cmd, "web1", fields); !data.Equal(got, data.NewMap()) {
			t.Errorf("%s without its fields: reply %s", cmd, data.Repr(got))
		}
	}
}

func TestMineGetOption(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "master")
	must(t, os.WriteFile(conf, []byte("mine_get:\n  web1:\n    - net\\..*\n    - test.ping\n"), 0o600))
	loaded, _, err := config.LoadMaster(filepath.Dir(conf), func(string) string { return "" })
	must(t, err)
	b := newBench(t, nil, "web1", "web10", "db1")
	b.parts.settings.set(loaded)
	b.send(t, "_mine", "db1", data.NewMap("data",
		data.NewMap("net.ips", int64(1), "test.ping", true, "test.pinger", int64(2), "secret", int64(3))))
	for _, tt := range []struct{ minion, fun, want string }{
		{"web1", "net.ips", "{'db1': 1}"},
		{"web1", "test.pinger", "{}"},
		{"web1", "secret", "{}"},
		{"web1", "secret,net.ips", "{'net.ips': {'db1': 1}}"},
		{"web10", "net.ips", "{}"},
		{"db1", "net.ips", "{}"},
	} {
		if got := data.Repr(plain(t, b.send(t, "_mine_get", tt.minion,
			data.NewMap("tgt", "db1", "fun", tt.fun)))); got != tt.want {
			t.Errorf("%s asks for %s: %s, want %s", tt.minion, tt.fun, got, tt.want)
		}
	}
}

func TestRevoke(t *testing.T) {
	for _, tt := range []struct {
		name     string
		preserve bool
		rotate   bool
		kept     bool
	}{
		{"as usual", false, true, false},
		{"with its data kept", true, true, true},
		{"without new session keys", false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(c *config.Master) { c.RotateAESKey = tt.rotate }, "web1", "db1")
			must(t, b.keys.Put(pki.Denied, "web1", vectorKey(t, "web2").Public().PEM()))
			must(t, b.parts.data.save("web1", data.NewMap("a", "b"), data.NewMap()))
			b.parts.presence.note("web1", &net.TCPAddr{})
			shared := b.parts.secrets.Shared()
			events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test",
				Prefixes: []string{"salt/key", "key", "end"}})
			defer events.Close()
			load := data.NewMap("cmd", "revoke_auth", "id", "web1", "preserve_minion_cache", tt.preserve)
			if got := b.send(t, "revoke_auth", "web1", load); got != true {
				t.Errorf("reply %v", got)
			}
			if state, _, err := b.keys.Find("web1"); err != nil || state != pki.Unknown {
				t.Errorf("the key is %v, %v", state, err)
			}
			if state, _, _ := b.keys.Find("db1"); state != pki.Accepted {
				t.Errorf("the key of another minion is %v", state)
			}
			must(t, b.maint.checkKeys(t.Context()))
			if (b.parts.secrets.Shared() != shared) != tt.rotate {
				t.Errorf("session keys are new: %v, want %v", !tt.rotate, tt.rotate)
			}
			if _, _, ok := b.parts.data.Minion("web1"); ok != tt.kept {
				t.Errorf("its data is kept: %v, want %v", ok, tt.kept)
			}
			if tags := returnTags(t, b, events); tags[0] != "salt/key" ||
				len(tags) != map[bool]int{true: 2, false: 1}[tt.rotate] {
				t.Errorf("events %v", tags)
			}
		})
	}
}

func TestRevokeIsNotAllowed(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.AllowMinionKeyRevoke = false }, "web1")
	load := data.NewMap("cmd", "revoke_auth", "id", "web1")
	if got := plain(t, b.send(t, "revoke_auth", "web1", load)); !data.Equal(got, load) {
		t.Errorf("reply %s", data.Repr(got))
	}
	if state, _, _ := b.keys.Find("web1"); state != pki.Accepted {
		t.Errorf("the key is %v", state)
	}
}

// TestCVE2024_22231OfSyndics returns for other minions, under ids that are paths: the key of a
// minion is no syndic's.
func TestCVE2024_22231OfSyndics(t *testing.T) {
	b := newBench(t, nil, "web1", "db1")
	b.listen(t)
	jid := job.NewID(time.Now().UTC())
	b.publish(t, "db1", "glob", jid)
	b.send(t, "_master_opts", "web1", data.NewMap()) // makes its session key
	before := tree(t, filepath.Dir(b.cfg.CacheDir))
	for _, id := range append([]string{"web1", "db1"}, badIDs...) {
		b.send(t, "_syndic_return", "web1",
			data.NewMap("load", []any{data.NewMap("id", id, "jid", string(jid), "fun", "test.ping",
				"return", data.NewMap("db1", data.NewMap("return", true)), "load", data.NewMap("tgt", "*"))}))
	}
	if found, _ := b.jobs.Returns(t.Context(), jid); len(found) > 0 ||
		tree(t, filepath.Dir(b.cfg.CacheDir)) != before {
		t.Errorf("%d returns are kept", len(found))
	}
}

// commandOf is a request as the channel hands it over.
func commandOf(t *testing.T, name, id string, load *data.Map) *channel.Command {
	t.Helper()
	raw, err := payload.Marshal(load)
	must(t, err)
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	must(t, err)
	return &channel.Command{Name: name, Load: fields, Version: 3,
		Caller: channel.Caller{ID: id, Proved: true}}
}

// TestWaitingPeersAreBounded fills the places of those who wait: further requests are refused at
// once.
func TestWaitingPeersAreBounded(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.Peer = data.NewMap("web1", []any{".*"}); c.PeerRun = c.Peer }, "web1")
	p := newPeers(b.parts.base, newPublishing(b.parts), newOwners(b.cfg.CacheDir), b.parts.control.call)
	table := peerCommands(p)
	for n := range maxWaits {
		if !p.waits.enter(fmt.Sprint("other", n)) {
			t.Fatalf("there are %d places", n)
		}
	}
	for _, load := range []*data.Map{pub("web1", "glob", "test.ping"),
		data.NewMap("cmd", "minion_runner", "fun", "test.arg", "arg", []any{})} {
		for _, name := range []string{"minion_publish", "minion_runner"} {
			reply, err := table[name].do(context.Background(), commandOf(t, name, "web1", load))
			if err != nil || !data.Equal(reply, data.NewMap()) {
				t.Errorf("%s: %s, %v", name, data.Repr(reply), err)
			}
		}
	}
	if n := len(b.wire.messages()); n > 0 {
		t.Errorf("%d publications", n)
	}
}

// TestOneMinionCannotTakeAllPlaces has one minion wait as often as it may: another may wait all the
// same.
func TestOneMinionCannotTakeAllPlaces(t *testing.T) {
	p := &waitSlots{}
	for range 10 * maxWaits {
		p.enter("greedy")
	}
	if !p.enter("web1") {
		t.Error("there is no place for another minion")
	}
	for range maxOwnWaits {
		if p.enter("greedy") {
			t.Error("there was a place left")
		}
		p.leave("greedy")
		if !p.enter("greedy") {
			t.Error("a place is not given back")
		}
	}
	for range maxOwnWaits {
		p.leave("greedy")
	}
	p.leave("web1")
	if p.taken != 0 || len(p.of) > 0 {
		t.Errorf("%d places are taken, by %v", p.taken, p.of)
	}
}

// TestARunnerOfAMinionEnds has a minion call a runner that does not end by itself: its place is
// free again in time.
func TestARunnerOfAMinionEnds(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PeerRun = data.NewMap("web1", []any{".*"}) }, "web1")
	p := newPeers(b.parts.base, newPublishing(b.parts), newOwners(b.cfg.CacheDir), b.parts.control.call)
	if p.longest != maxPeerRun {
		t.Errorf("a runner may take %v", p.longest)
	}
	p.longest = time.Millisecond
	p.run = func(ctx context.Context, _ runners.Call) *data.Map {
		<-ctx.Done()
		return data.NewMap("return", ctx.Err().Error())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, err := p.runRunner(ctx,
		commandOf(t, "minion_runner", "web1", data.NewMap("fun", "test.sleep", "arg", []any{})))
	if err != nil || ctx.Err() != nil || reply != context.DeadlineExceeded.Error() {
		t.Errorf("reply %v, %v", reply, err)
	}
	if p.waits.taken != 0 {
		t.Error("the place is taken")
	}
}
