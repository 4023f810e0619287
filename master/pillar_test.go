package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/tops"
)

// pillarFiles lays out files of pillar and returns a change of a configuration that has them.
func pillarFiles(t testing.TB, files ...string) (string, func(*config.Master)) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		must(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
	}
	return dir, func(c *config.Master) { c.PillarRoots = data.NewMap("base", []any{dir}) }
}

// wantPillar asks for a pillar as a minion does and returns it, or the error.
func (b *bench) wantPillar(
	ctx context.Context, id string, load *data.Map, proved bool, from net.Addr,
) (*data.Map, error) {
	load = load.Clone()
	load.Set("cmd", "_pillar")
	load.Set("id", id)
	raw, err := payload.Marshal(load)
	if err != nil {
		return nil, err
	}
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		return nil, err
	}
	reply, err := b.requests.Encrypted(ctx,
		&channel.Command{Name: "_pillar", Load: fields, Version: 2,
			Caller: channel.Caller{ID: id, Proved: proved, Remote: from}})
	if err != nil {
		return nil, err
	}
	private, ok := reply.(channel.Private)
	if !ok {
		return nil, fmt.Errorf("the reply is not private: %v", reply)
	}
	return private.Value.(*data.Map), nil
}

var homeAddr = &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}

// TestVectorPillars asks as the captured minions did, and expects what they got.
func TestVectorPillars(t *testing.T) {
	_, change := pillarFiles(t, "top.sls", "base:\n  '*': [common]\n  'web*': [web]\n",
		"common.sls", "company: acme\nenv: prod\nnum: 42\nnested: {k: [1, 2, {x: y}]}\n",
		"web.sls", "role: web\nvhosts:\n{% for i in [1, 2] %}  site{{ i }}: {port: {{ 80 if i == 1 else 8080 }}}\n{% endfor %}")
	b := newBench(t, change, "web1")
	b.maint.presence.note("web1", homeAddr)
	n := 0
	for _, c := range vectors.Load(t, "05-request.json").Section("requests") {
		for _, e := range c.Sub("exchanges") {
			load, _ := e.Map.Value("request_load").(*data.Map)
			reply, _ := e.Map.Value("reply").(*data.Map)
			if load.Text("cmd") != "_pillar" || !reply.Has("pillar") {
				continue
			}
			n++
			t.Run(c.Name, func(t *testing.T) {
				got, err := b.wantPillar(t.Context(), "web1", load, false, homeAddr)
				want := reply.Value("pillar").(*data.Map)
				if err != nil || !data.Equal(got, want) {
					t.Errorf("got %s, %v, want %s", data.Repr(got), err, data.Repr(want))
				}
				if e.Map.Value("reply_kind") != "private: key sealed to the minion, body sealed with that key" {
					t.Errorf("the reply of Salt is %v", e.Map.Value("reply_kind"))
				}
			})
		}
	}
	if n < 5 {
		t.Errorf("only %d requests", n)
	}
}

// TestPillarIsOfTheProvedMinion has a minion say in its grains that it is another: the id that was
// proved decides. Grains other than the id are what the minion says, and files that target by them
// (G@, and I@ of the pillar that they led to) give it what it asks for: they must hold no secrets
// of others, as docs/pillar.md says.
func TestPillarIsOfTheProvedMinion(t *testing.T) {
	_, change := pillarFiles(t, "top.sls",
		"base:\n  db1: [secret]\n  'id:db1': [{match: grain}, secret]\n  'G@id:db1': [secret]\n  'E@db.': [secret]\n  'L@db1': [secret]\n  'G@role:db': [shared]\n",
		"secret.sls", "secret: "+marker, "shared.sls", "shared: yes")
	b := newBench(t, change, "web1", "db1")
	spoofed := data.NewMap("grains", data.NewMap("id", "db1", "role", "db", "nodename", "db1",
		"host", "db1"), "saltenv", "base", "minion_id", "db1")
	got, err := b.wantPillar(t.Context(), "web1", spoofed, true, homeAddr)
	if err != nil || data.Repr(got) != "{'shared': True}" {
		t.Errorf("web1, which says that it is db1, gets %s, %v", data.Repr(got), err)
	}
	if got, err := b.wantPillar(t.Context(), "db1", spoofed, true, homeAddr); err != nil ||
		got.Text("secret") != marker {
		t.Errorf("db1 gets %s, %v", data.Repr(got), err)
	}
	if _, kept, _ := b.parts.data.Minion("web1"); kept.Has("secret") {
		t.Error("the secret is kept as that of web1")
	}
}

// TestMinionDataIsBounded sends pillar requests with more data than allowed, by bytes and by
// values, in each field that can have any: the minion gets the reason, nothing is compiled or
// stored, and what was stored before stays.
func TestMinionDataIsBounded(t *testing.T) {
	_, change := pillarFiles(t, "top.sls", "base: {'*': [a]}", "a.sls",
		"{% if grains.get('large') %}long: {{ 'x' * 1048576 }}\nmany: {{ range(60000) | list }}\n{% else %}a: 1\n{% endif %}")
	b := newBench(t, change, "web1")
	small := data.NewMap("os", "Debian")
	ask := func(grains *data.Map, more ...any) *data.Map {
		t.Helper()
		load := data.NewMap("grains", grains, "saltenv", "base")
		for i := 0; i < len(more); i += 2 {
			load.Set(more[i], more[i+1])
		}
		got, err := b.wantPillar(t.Context(), "web1", load, true, homeAddr)
		must(t, err)
		return got
	}
	kept := func(wantGrain, wantPillar string) {
		t.Helper()
		grains, pillar, ok := b.parts.data.Minion("web1")
		if !ok || grains.Text("os") != wantGrain || data.Repr(pillar) != wantPillar {
			t.Errorf("kept grains %.100s, pillar %.100s", data.Repr(grains), data.Repr(pillar))
		}
	}
	if got := ask(small); data.Repr(got) != "{'a': 1}" {
		t.Fatalf("got %s", data.Repr(got))
	}
	numbers := make([]any, 50_000)
	for i := range numbers {
		numbers[i] = int64(1)
	}
	for name, excess := range map[string]*data.Map{
		"bytes":  data.NewMap("os", "Other", "text", strings.Repeat("x", 1<<20)),
		"values": data.NewMap("os", "Other", "list", numbers),
	} {
		for _, field := range []string{"grains", "pillar_override", "extra_minion_data", "ext"} {
			var got *data.Map
			if field == "grains" {
				got = ask(excess)
			} else {
				got = ask(small, field, excess)
			}
			if errs := data.Repr(got.Value("_errors")); !strings.Contains(errs, field) ||
				!strings.Contains(errs, "1 MiB or 50,000 values") || got.Has("a") {
				t.Errorf("%s in %s: got %.200s", name, field, data.Repr(got))
			}
			kept("Debian", "{'a': 1}")
		}
	}
	if got := ask(data.NewMap("os", "Debian", "large", true)); len(got.Text("long")) != 1<<20 {
		t.Errorf("got a pillar of %d bytes", len(got.Text("long")))
	}
	kept("Debian", "{}")
	if got := ask(data.NewMap("os", "Debian", "list", numbers[:40_000],
		"text", strings.Repeat("x", 900<<10))); got.Has("_errors") {
		t.Errorf("within the bound: got %.200s", data.Repr(got))
	}
	kept("Debian", "{'a': 1}")
}

// TestOptionsForTopsAreBounded asks master_tops with options that are too large: no system is
// asked.
func TestOptionsForTopsAreBounded(t *testing.T) {
	b := newBench(t, nil, "web1")
	asked := 0
	found, err := tops.New(tops.Options{Config: data.NewMap("count", true), Log: silent(t),
		Sources: []tops.Source{
			countingTop{&asked},
		}})
	must(t, err)
	b.parts.tops.current.Store(found)
	for size, want := range map[int]int{1 << 20: 1, 3 << 20: 0} {
		asked = 0
		reply := b.send(t, "_master_tops",
			"web1", data.NewMap("opts", data.NewMap("grains",
				data.NewMap("text", strings.Repeat("x", size)))))
		if _, ok := reply.(*data.Map); !ok || asked != want {
			t.Errorf("options of %d bytes: asked %d times, want %d; reply %s", size, asked, want,
				data.Repr(reply))
		}
	}
}

type countingTop struct{ asked *int }

func (countingTop) Name() string { return "count" }

func (countingTop) Check(any) error { return nil }

func (c countingTop) Top(context.Context, tops.Query) (*data.Map, error) {
	*c.asked++
	return data.NewMap(), nil
}

// An environment that a minion asks for stands in the path of directories: it leads nowhere else.
func TestPillarEnvironmentIsNoPath(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"envs/dev/top.sls", "other/top.sls"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, file),
			[]byte("'{{ saltenv }}': {'*': [{{ 'a' }}]}\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, filepath.Dir(file), "a.sls"),
			[]byte("a: "+filepath.Dir(file)), 0o600))
	}
	b := newBench(t, func(c *config.Master) {
		c.PillarRoots = data.NewMap("base", []any{}, "__env__", []any{filepath.Join(dir, "envs/__env__")})
	}, "web1")
	for env, want := range map[string]string{"dev": "{'a': 'envs/dev'}", "../other": "{}",
		"..": "{}", "dev/../../other": "{}", "*": "{}", "d*": "{}", "": "{}"} {
		got, err := b.wantPillar(t.Context(),
			"web1", data.NewMap("grains", data.NewMap(), "pillarenv", env), true, homeAddr)
		if err != nil || data.Repr(got) != want {
			t.Errorf("%q gives %s, %v, want %s", env, data.Repr(got), err, want)
		}
	}
}

// TestPillarCache serves a compiled pillar until the cache is cleared, and checks that no minion
// can change the cache of another.
func TestPillarCache(t *testing.T) {
	for _, backend := range []string{"disk", "memory"} {
		t.Run(backend, func(t *testing.T) {
			dir, change := pillarFiles(t, "top.sls", "base: {'*': [a]}", "a.sls", "a: {{ grains.n }}")
			b := newBench(t, change, "web1")
			b.maint.presence.note("web1", homeAddr)
			opts := b.parts.settings.saltOptions().Clone()
			opts.Set("pillar_cache", true)
			opts.Set("pillar_cache_backend", backend)
			opts.Set("cachedir", b.cfg.CacheDir)
			b.parts.settings.p.Store(&snapshot{b.cfg, opts})
			must(t, b.parts.compiler.renew())
			ask := func(what string, n int64, proved bool, from net.Addr, want string, more ...any) {
				t.Helper()
				load := data.NewMap(append([]any{"grains", data.NewMap("n", n), "saltenv", "base"},
					more...)...)
				if got, err := b.wantPillar(t.Context(), "web1", load, proved, from); err != nil ||
					data.Repr(got) != want {
					t.Errorf("%s: got %s, %v, want %s", what, data.Repr(got), err, want)
				}
			}
			ask("forged", 1, false, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9)}, "{'a': 1}")
			ask("first", 2, true, homeAddr, "{'a': 2}")
			ask("from the cache", 3, true, homeAddr, "{'a': 2}")
			must(t, os.WriteFile(filepath.Join(dir, "a.sls"), []byte("a: new {{ grains.n }}"), 0o600))
			ask("after a change", 4, true, homeAddr, "{'a': 2}")
			ask("with pillar=", 5, true, homeAddr, "{'x': 1, 'a': 'new 5'}",
				"pillar_override", data.NewMap("x", int64(1)))
			ask("for an environment", 6, true, homeAddr, "{'a': 'new 6'}", "pillarenv", "base")
			ask("clear, forged", 7, false, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9)}, "{'a': 2}",
				"clean_cache", true)
			ask("clear", 8, true, homeAddr, "{'a': 'new 8'}", "clean_cache", true)
			if backend == "disk" {
				file := filepath.Join(b.cfg.CacheDir, "pillar_cache", "web1")
				st, err := os.Stat(file)
				if err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", st, err)
				}
				must(t, b.maint.forgetData())
				if _, err := os.Stat(file); err != nil {
					t.Error("the file of a minion that has a key is gone")
				}
				must(t, b.keys.Delete(pki.Accepted, "web1"))
				must(t, b.maint.forgetData())
				if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the file of a minion without a key is there: %v", err)
				}
			}
		})
	}
}

// A slow source keeps its place, and the others go on; who waits for it gets an error with the end
// of its request.
func TestHangingPillarsDelayNoOthers(t *testing.T) {
	hang := make(chan struct{})
	k := newTestPillarCompiler(t, 3, func(ctx context.Context, q pillar.Query) (*data.Map, error) {
		if strings.HasPrefix(q.ID, "slow") {
			<-hang // and does not look at ctx
		}
		return data.NewMap("a", q.ID), nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			if p, err := k.serve(ctx, pillar.Request{ID: fmt.Sprint("slow", i)},
				fmt.Sprint("slow", i), true); !errors.Is(err, context.Canceled) {
				t.Errorf("slow: %v, %v", data.Repr(p), err)
			}
		})
	}
	for i := range 50 {
		id := fmt.Sprint("m", i)
		if p, err := k.serve(t.Context(), pillar.Request{ID: id}, id, true); err != nil || p.Text("a") != id {
			t.Errorf("%s: %v, %v", id, data.Repr(p), err)
		}
	}
	cancel()
	all.Wait()
	close(hang)
}

// TestOneMinionTakesOnePlace asks for one minion's pillar more often than there are places, and
// than may wait.
func TestOneMinionTakesOnePlace(t *testing.T) {
	hang := make(chan struct{})
	k := newTestPillarCompiler(t, 2, func(_ context.Context, q pillar.Query) (*data.Map, error) {
		if q.ID == "greedy" {
			<-hang
		}
		return data.NewMap("a", q.ID), nil
	})
	refused := make(chan error, 2*maxPerSource)
	var all sync.WaitGroup
	for range 2 * maxPerSource {
		all.Go(func() {
			_, err := k.serve(t.Context(), pillar.Request{ID: "greedy"}, "greedy", true)
			refused <- err
		})
	}
	for range maxPerSource {
		if err := <-refused; !errors.Is(err, errOwnPillarQueue) {
			t.Errorf("%v", err)
		}
	}
	if p, err := k.serve(t.Context(), pillar.Request{ID: "web1"}, "web1", true); err != nil ||
		p.Text("a") != "web1" {
		t.Errorf("another minion gets %v, %v", data.Repr(p), err)
	}
	close(hang)
	all.Wait()
	for range maxPerSource {
		if err := <-refused; err != nil {
			t.Error(err)
		}
	}
}

// TestTurnsForgetSources gives up one turn while another waits.
func TestTurnsForgetSources(t *testing.T) {
	turns := newTurns()
	give, err := turns.take(t.Context(), "web1")
	must(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.take(gone, "web1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a turn that another has: %v", err)
	}
	give()
	if len(turns.of) != 0 {
		t.Errorf("%d sources are kept in mind", len(turns.of))
	}
}

// TestPillarThatCannotBeKeptIsServed has a cache whose directory is gone.
func TestPillarThatCannotBeKeptIsServed(t *testing.T) {
	k := newTestPillarCompiler(t, 1,
		func(context.Context, pillar.Query) (*data.Map, error) { return data.NewMap("a", "1"), nil })
	opts, dir := k.settings.saltOptions().Clone(), t.TempDir()
	opts.Update(data.NewMap("pillar_cache", true, "pillar_cache_backend", "disk",
		"pillar_cache_ttl", int64(60), "cachedir", dir))
	k.settings.p.Store(&snapshot{nil, opts})
	must(t, k.renew())
	must(t, os.Remove(filepath.Join(dir, "pillar_cache")))
	if p, err := k.serve(t.Context(), pillar.Request{ID: "web1"}, "web1", true); err != nil ||
		p.Text("a") != "1" {
		t.Errorf("%s, %v", data.Repr(p), err)
	}
}

// newTestPillarCompiler has so many places and one external source.
func newTestPillarCompiler(
	t *testing.T, places int, ask func(context.Context, pillar.Query) (*data.Map, error),
) *pillarCompiler {
	t.Helper()
	opts := data.NewMap("ext_pillar", []any{data.NewMap("test", nil)}, "pillar_roots", data.NewMap())
	s := &settings{}
	s.p.Store(&snapshot{nil, opts})
	k, err := newPillarCompiler(s, nil, func(opts *data.Map) (*pillar.Compiler, error) {
		return pillar.New(pillar.Options{Opts: opts, Engine: pillar.Engines(loader.Env{}, nil, nil),
			Sources: []pillar.Source{askSource(ask)}})
	}, silent(t))
	must(t, err)
	k.slots = make(chan struct{}, places)
	return k
}

type askSource func(context.Context, pillar.Query) (*data.Map, error)

func (askSource) Name() string { return "test" }

func (a askSource) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) { return a(ctx, q) }

// TestPillarOfAMinionGoesIntoNoEvent fires events about new grains, in which there is no pillar.
func TestPillarOfAMinionGoesIntoNoEvent(t *testing.T) {
	_, change := pillarFiles(t, "top.sls", "base: {'*': [a]}", "a.sls", "a: "+marker)
	b := newBench(t, func(c *config.Master) { change(c); c.MinionDataCacheEvents = true }, "web1")
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	got, err := b.wantPillar(t.Context(), "web1", data.NewMap("grains", data.NewMap()), true, homeAddr)
	if err != nil || got.Text("a") != marker {
		t.Fatalf("%s, %v", data.Repr(got), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for e := range events.All(ctx) {
		if strings.Contains(string(e.Data), marker) {
			t.Errorf("event %s shows the pillar", e.Tag)
		}
		if strings.HasPrefix(e.Tag, "minion/refresh/web1") {
			return
		}
	}
	t.Error("no event")
}

// TestPillarFollowsTheConfiguration reads a configuration anew in which all that makes a pillar
// differs.
func TestPillarFollowsTheConfiguration(t *testing.T) {
	_, before := pillarFiles(t, "top.sls", "base: {'*': [a]}", "a.sls", "from: before\nsecret: x\n")
	after, _ := pillarFiles(t, "top.sls", "base: {'*': [a]}", "a.sls", "from: after\nsecret: x\n")
	b := newBench(t, before, "web1")
	b.parts.tops.sources = tops.Sources()
	load := data.NewMap("grains", data.NewMap("id", "web1"))
	ask := func() string {
		t.Helper()
		got, err := b.wantPillar(t.Context(), "web1", load, true, homeAddr)
		must(t, err)
		return data.Repr(got)
	}
	if got, want := ask(), "{'from': 'before', 'secret': 'x'}"; got != want {
		t.Errorf("before: %s, want %s", got, want)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "master"),
		[]byte("pillar_roots: {base: ['"+after+"']}\next_pillar: [{nodegroups: {pillar_name: ext}}]\n"+
			"decrypt_pillar: [{secret: nacl}]\ndecrypt_pillar_renderers: [gpg]\nmaster_tops: {ext_nodes: 'echo \"classes: [web]\" #'}\n"), 0o600))
	next, _, err := config.LoadMaster(dir, func(string) string { return "" })
	must(t, err)
	renewed, change := b.cfg.Renew(next)
	if slices.Contains(change.Restart, "pillar_roots") {
		t.Error("pillar_roots count after a restart")
	}
	b.Renew(renewed)
	want := "{'from': 'after', 'secret': 'x', 'ext': [], '_errors': [\"Failed to decrypt pillar key 'secret': 'nacl' is not a valid decryption renderer. Valid choices are: gpg\"]}"
	if got := ask(); got != want {
		t.Errorf("after: %s, want %s", got, want)
	}
	if got := data.Repr(b.parts.tops.current.Load().Top(t.Context(),
		tops.Minion{ID: "web1"})); got != "{'base': ['web']}" {
		t.Errorf("master_tops: %s", got)
	}
}
